//! What a body is declared to be.
//!
//! A body is judged as JSON in UTF-8. Where the server is told to read it as something else (a form, another charset), the same bytes may
//! ask for something else: `{"query":"{ok}","x":"&query=mutation{bad}&"}` is JSON to one reader and a form to the other.

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Media {
    /// JSON, or nothing that says otherwise.
    Json,
    /// `application/graphql`: the document itself.
    Graphql,
    /// A form, which is what `curl -d` calls everything: JSON, if it means nothing as a form.
    Form,
    /// Anything else.
    Unreadable,
}

impl Media {
    /// Of the Content-Type fields, each as sent.
    pub fn of<'v>(mut content_types: impl Iterator<Item = &'v [u8]>) -> Media {
        match (content_types.next(), content_types.next()) {
            (None, _) => Media::Json,
            (Some(value), None) => std::str::from_utf8(value).map_or(Media::Unreadable, one),
            (Some(_), Some(_)) => Media::Unreadable,
        }
    }
}

fn one(value: &str) -> Media {
    let mut parts = value.split(';');
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    if !parts.all(is_harmless) {
        return Media::Unreadable;
    }
    match essence.as_str() {
        "" | "application/json" | "text/json" | "text/plain" => Media::Json,
        "application/graphql" => Media::Graphql,
        "application/x-www-form-urlencoded" => Media::Form,
        other if other.starts_with("application/") && other.ends_with("+json") => Media::Json,
        _ => Media::Unreadable,
    }
}

/// UTF-7 and its like give ASCII bytes another meaning.
fn is_harmless(parameter: &str) -> bool {
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    let value = value.trim().trim_matches('"');
    !name.trim().eq_ignore_ascii_case("charset") || ["utf-8", "utf8", "us-ascii"].iter().any(|known| value.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charset_or_type_that_gives_the_bytes_another_meaning_is_not_read() {
        let of = |value: &'static str| Media::of(std::iter::once(value.as_bytes()));
        for json in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/graphql+json",
            "application/json;charset=\"utf-8\"; x=1",
            "text/plain",
            "",
        ] {
            assert_eq!(of(json), Media::Json, "{json}");
        }
        assert_eq!(of("application/graphql; charset=utf-8"), Media::Graphql);
        assert_eq!(of("application/x-www-form-urlencoded"), Media::Form);
        for unreadable in [
            "application/json; charset=utf-7",
            "application/json; Charset = utf-16le",
            "multipart/form-data; boundary=x",
            "application/cbor",
            "application/json, application/x-www-form-urlencoded",
            "image/svg+json",
        ] {
            assert_eq!(of(unreadable), Media::Unreadable, "{unreadable}");
        }
        let twice = [&b"application/json"[..], b"text/plain"];
        assert_eq!(Media::of(twice.into_iter()), Media::Unreadable);
        assert_eq!(Media::of(std::iter::empty()), Media::Json);
    }
}
