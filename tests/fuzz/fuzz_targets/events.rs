//! Event streams: nothing is lost, added or moved, however the stream is cut; an event whose data is replaced has that data and no other.
//! The first byte says how it is cut.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::flow::decoders::{EventPart, events, with_data};

fn data(parts: &[EventPart]) -> Vec<&[u8]> {
    parts.iter().filter_map(|part| part.data.as_deref()).collect()
}

/// As the HTML standard has it: the data of each event, also of a last one that was not ended.
fn by_the_standard(text: &str) -> Vec<String> {
    let text = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    let (mut found, mut data) = (Vec::new(), None::<String>);
    for line in text.split('\n').chain([""]) {
        if line.is_empty() {
            found.extend(data.take());
        } else if let Some(value) = line.strip_prefix("data").filter(|rest| rest.is_empty() || rest.starts_with(':')) {
            let value = value.strip_prefix(':').unwrap_or(value);
            let value = value.strip_prefix(' ').unwrap_or(value);
            data = Some(data.map_or_else(|| value.to_owned(), |data| data + "\n" + value));
        }
    }
    found
}

fuzz_target!(|input: &[u8]| {
    let Some((step, bytes)) = input.split_first() else { return };
    let whole = events([bytes]);
    let cut = events(bytes.chunks(usize::from(*step).max(1)));
    for parts in [&whole, &cut] {
        let all: Vec<u8> = parts.iter().flat_map(|part| part.bytes.to_vec()).collect();
        assert_eq!(all, bytes, "nothing is lost, added or moved");
    }
    assert_eq!(data(&whole), data(&cut));
    if let Ok(text) = std::str::from_utf8(bytes) {
        let found = data(&whole);
        let mut judged = found.iter();
        for event in by_the_standard(text) {
            assert!(judged.any(|data| covers(data, &event)), "{event:?} was passed over");
        }
    }
    for part in whole.iter().filter(|part| part.data.is_some()) {
        let new = "{\"a\":\n 1}";
        assert_eq!(data(&events([&*with_data(&part.bytes, new)])), [new.as_bytes()]);
    }
});

/// Whether the data is the event's, in which a lenient client may have found more lines.
fn covers(data: &[u8], event: &str) -> bool {
    let mut lines = data.split(|byte| *byte == b'\n');
    event.split('\n').all(|wanted| lines.any(|line| line == wanted.as_bytes()))
}
