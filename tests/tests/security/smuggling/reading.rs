//! Two readings of the bytes of an HTTP/1 connection, as different as origins are: one by RFC 9112 to the letter, and one that takes
//! whatever looks like a request. In: bytes. Out: the requests in them, and whether anything is left. Where both read the same requests,
//! nothing was smuggled past the first reader to the second.

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Read {
    /// As sent.
    pub(super) method: String,
    /// Path and query; an absolute target is cut down to them.
    pub(super) target: String,
    /// Without its framing.
    pub(super) body: Vec<u8>,
}

/// What the rest of the bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing.
    Nothing,
    /// The beginning of a request: its line, as far as there is one, and what there is of its body.
    Cut(Option<Read>),
    /// No request, or one without one meaning; with its line, where that has one.
    Broken(&'static str, Option<Read>),
}

/// Reads one request, and how many bytes it took.
type Reading = fn(&[u8]) -> Result<(Read, usize), Rest>;

/// All requests in `bytes`, one after the other.
pub(super) fn all(mut bytes: &[u8], how: Reading) -> (Vec<Read>, Rest) {
    let mut found = Vec::new();
    loop {
        match how(bytes) {
            Ok((read, length)) => {
                found.push(read);
                bytes = &bytes[length..];
            }
            Err(rest) => return (found, rest),
        }
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn path_of(target: &[u8]) -> String {
    let target = text(target);
    match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => rest.find('/').map_or("/", |at| &rest[at..]).to_owned(),
        _ => target,
    }
}

/// By RFC 9112: CRLF ends a line, and what section 6.3 calls an error is one.
pub(super) fn strict(bytes: &[u8]) -> Result<(Read, usize), Rest> {
    let skipped = bytes.chunks(2).take_while(|pair| *pair == b"\r\n").count() * 2;
    let message = &bytes[skipped..];
    if message.is_empty() {
        return Err(Rest::Nothing);
    }
    let Some(end) = find(message, b"\r\n\r\n") else {
        return Err(Rest::Cut(None));
    };
    let head = &message[..end];
    let broken = |why| Rest::Broken(why, None);
    let mut lines = head
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let after_none = |at: usize| at == 0 || head[at - 1] != b'\r';
    if (0..head.len()).any(|at| head[at] == b'\n' && after_none(at)) {
        return Err(broken("a bare line feed"));
    }
    let line: Vec<&[u8]> = lines.next().unwrap_or_default().split(|byte| *byte == b' ').collect();
    let [method, target, version] = line[..] else {
        return Err(broken("a request line"));
    };
    let plain = |byte: &u8| (0x21..=0x7e).contains(byte);
    if method.is_empty() || !method.iter().copied().all(is_token) || target.is_empty() || !target.iter().all(plain) {
        return Err(broken("a request line"));
    }
    let one_zero = match version {
        b"HTTP/1.1" => false,
        b"HTTP/1.0" => true,
        _ => return Err(broken("a version")),
    };
    let (mut lengths, mut codings, mut hosts) = (Vec::new(), Vec::new(), 0);
    for field in lines {
        let (name, value) = field
            .iter()
            .position(|byte| *byte == b':')
            .map_or((field, None), |colon| (&field[..colon], Some(field[colon + 1..].trim_ascii())));
        let Some(value) = value.filter(|_| !name.is_empty() && name.iter().copied().all(is_token)) else {
            return Err(broken("a field name"));
        };
        if value.iter().any(|byte| matches!(byte, 0..=8 | 10..=31 | 127)) {
            return Err(broken("a field value"));
        }
        match name.to_ascii_lowercase().as_slice() {
            b"content-length" => lengths.push(value),
            b"transfer-encoding" => codings.push(value.to_ascii_lowercase()),
            b"host" => hosts += 1,
            _ => {}
        }
    }
    if hosts > 1 || (hosts == 0 && !one_zero) {
        return Err(broken("hosts"));
    }
    let mut read = Read {
        method: text(method),
        target: path_of(target),
        body: Vec::new(),
    };
    let body = &message[end + 4..];
    let start = skipped + end + 4;
    match (codings.as_slice(), lengths.as_slice()) {
        ([], []) => Ok((read, start)),
        ([], lengths) => {
            let digits = |length: &&[u8]| {
                length
                    .iter()
                    .all(u8::is_ascii_digit)
                    .then(|| text(length).parse::<usize>().ok())
                    .flatten()
            };
            let numbers: Option<Vec<usize>> = lengths.iter().map(digits).collect();
            let same = numbers.filter(|numbers| numbers.iter().all(|number| *number == numbers[0]));
            let Some(length) = same.map(|numbers| numbers[0]) else {
                return Err(Rest::Broken("a length", Some(read)));
            };
            read.body = body[..length.min(body.len())].to_vec();
            if body.len() < length {
                return Err(Rest::Cut(Some(read)));
            }
            Ok((read, start + length))
        }
        ([coding], []) if coding == b"chunked" && !one_zero => strict_chunks(body, start, read),
        _ => Err(Rest::Broken("a transfer coding", Some(read))),
    }
}

fn strict_chunks(body: &[u8], start: usize, mut read: Read) -> Result<(Read, usize), Rest> {
    let mut at = 0;
    let line = |at: usize| find(&body[at..], b"\r\n").map(|end| &body[at..at + end]);
    loop {
        let Some(size) = line(at) else { return Err(Rest::Cut(Some(read))) };
        at += size.len() + 2;
        let digits = size.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let extension = &size[digits..];
        let odd = |byte: &u8| matches!(byte, 0..=8 | 10..=31 | 127);
        if digits == 0 || digits > 15 || !(extension.is_empty() || extension[0] == b';') || extension.iter().any(odd) {
            return Err(Rest::Broken("a chunk size", Some(read)));
        }
        let length = usize::from_str_radix(&text(&size[..digits]), 16).unwrap_or(usize::MAX);
        if length == 0 {
            break;
        }
        let piece = &body[at..];
        read.body.extend_from_slice(&piece[..length.min(piece.len())]);
        match piece.get(length..).map(|rest| &rest[..rest.len().min(2)]) {
            Some(b"\r\n") => at += length + 2,
            None | Some(b"" | b"\r") => return Err(Rest::Cut(Some(read))),
            Some(_) => return Err(Rest::Broken("a chunk's end", Some(read))),
        }
    }
    loop {
        let Some(field) = line(at) else { return Err(Rest::Cut(Some(read))) };
        at += field.len() + 2;
        if field.is_empty() {
            return Ok((read, start + at));
        }
        let colon = field.iter().position(|byte| *byte == b':').unwrap_or(0);
        if colon == 0 || !field[..colon].iter().copied().all(is_token) || field.iter().any(|b| matches!(b, 0..=8 | 10..=31 | 127)) {
            return Err(Rest::Broken("a trailer", Some(read)));
        }
    }
}

/// Takes the next line as a careless server does: CR, LF or both end it.
fn loose_line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'))?;
    let both = bytes[end..].starts_with(b"\r\n");
    Some((&bytes[..end], end + 1 + usize::from(both)))
}

/// As gullible as an origin gets: any line end, any blank, folded fields, the last length, lengths before chunks, `strtol` for numbers,
/// and a coding that only contains the word.
pub(super) fn lenient(bytes: &[u8]) -> Result<(Read, usize), Rest> {
    let mut at = bytes
        .iter()
        .take_while(|byte| matches!(byte, b'\r' | b'\n' | b' ' | b'\t' | 0))
        .count();
    if at == bytes.len() {
        return Err(Rest::Nothing);
    }
    let mut lines: Vec<Vec<u8>> = Vec::new();
    loop {
        let Some((line, length)) = loose_line(&bytes[at..]) else {
            return Err(Rest::Cut(None));
        };
        at += length;
        match lines.last_mut() {
            _ if line.is_empty() => break,
            Some(folded) if matches!(line[0], b' ' | b'\t') => folded.extend_from_slice(line),
            _ => lines.push(line.to_vec()),
        }
    }
    let first = text(&lines[0]);
    let mut words = first
        .split(|c: char| c.is_ascii_whitespace() || matches!(c, '\u{b}' | '\0'))
        .filter(|word| !word.is_empty());
    let mut read = Read {
        method: words.next().unwrap_or_default().to_owned(),
        target: path_of(words.next().unwrap_or_default().as_bytes()),
        body: Vec::new(),
    };
    let (mut length, mut chunked) = (None, false);
    for field in &lines[1..] {
        let field = text(field).to_ascii_lowercase();
        let Some((name, value)) = field.split_once(':') else { continue };
        match name.trim_matches(|c: char| !c.is_ascii_alphanumeric()) {
            "content-length" => length = Some(number(value, 10)),
            "transfer-encoding" => chunked |= value.contains("chunk"),
            _ => {}
        }
    }
    let body = &bytes[at..];
    match length {
        Some(length) => {
            read.body = body[..length.min(body.len())].to_vec();
            if body.len() < length {
                Err(Rest::Cut(Some(read)))
            } else {
                Ok((read, at + length))
            }
        }
        None if chunked => lenient_chunks(body, at, read),
        None => Ok((read, at)),
    }
}

fn number(text: &str, radix: u32) -> usize {
    let digits = text.trim_matches(|c: char| c.is_ascii_whitespace() || matches!(c, '\u{b}' | '\0' | '+' | '"'));
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    usize::from_str_radix(&digits[..end], radix).unwrap_or(0)
}

fn lenient_chunks(body: &[u8], start: usize, mut read: Read) -> Result<(Read, usize), Rest> {
    let mut at = 0;
    loop {
        let Some((size, length)) = loose_line(&body[at..]) else {
            return Err(Rest::Cut(Some(read)));
        };
        at += length;
        let size = number(&text(size), 16);
        if size == 0 {
            break;
        }
        let Some(piece) = body[at..].get(..size) else {
            read.body.extend_from_slice(&body[at..]);
            return Err(Rest::Cut(Some(read)));
        };
        read.body.extend_from_slice(piece);
        at += size;
        at += loose_line(&body[at..])
            .filter(|(rest, _)| rest.is_empty())
            .map_or(0, |(_, length)| length);
    }
    loop {
        let Some((field, length)) = loose_line(&body[at..]) else {
            return Err(Rest::Cut(Some(read)));
        };
        at += length;
        if field.is_empty() {
            return Ok((read, start + at));
        }
    }
}

/// A reader that finds nothing wrong with anything would be no witness.
#[test]
fn the_two_readings_differ_where_origins_do() {
    let host = "Host: a\r\n";
    for (message, same) in [
        (format!("POST / HTTP/1.1\r\n{host}Content-Length: 2\r\n\r\nhi"), true),
        (
            format!("POST / HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nhi\r\n0\r\nA: b\r\n\r\n"),
            true,
        ),
        (
            format!("POST / HTTP/1.1\r\n{host}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            false,
        ),
        (
            format!("POST / HTTP/1.1\r\n{host}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
            false,
        ),
        (format!("POST / HTTP/1.1\r\n{host}Content-Length: +2\r\n\r\nhi"), false),
        (format!("GET / HTTP/1.1\n{host}\r\n"), false),
        (format!("GET / HTTP/1.1\r\n{host}X: a\rContent-Length: 5\r\n\r\nhello"), false),
        (format!("GET / HTTP/1.1\r\n{host}X: a\r\n Content-Length: 5\r\n\r\n"), false),
        (
            format!("POST / HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\n0\r\n\r\n"),
            false,
        ),
    ] {
        let (by_letter, loosely) = (all(message.as_bytes(), strict), all(message.as_bytes(), lenient));
        assert_eq!(by_letter == loosely, same, "{message:?}: {by_letter:?} {loosely:?}");
    }
}
