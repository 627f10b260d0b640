use super::*;

fn read(query: &str) -> Vec<(String, String)> {
    pairs(query)
        .map(|(name, value)| {
            (
                String::from_utf8_lossy(&name).into_owned(),
                String::from_utf8_lossy(&value).into_owned(),
            )
        })
        .collect()
}

#[test]
fn queries_as_origins_read_them() {
    for (query, expected) in [
        ("a=1&b=2", vec![("a", "1"), ("b", "2")]),
        ("a=1&a=2", vec![("a", "1"), ("a", "2")]),
        ("a", vec![("a", "")]),
        ("a=", vec![("a", "")]),
        ("=a", vec![("", "a")]),
        ("a=b=c", vec![("a", "b=c")]),
        ("&&a=1&", vec![("a", "1")]),
        ("%66orce=%74rue", vec![("force", "true")]),
        ("a+b=c+d", vec![("a b", "c d")]),
        ("a=%2B", vec![("a", "+")]),
        ("a=%26b=1", vec![("a", "&b=1")]),
        ("a=%zz&b=%4", vec![("a", "%zz"), ("b", "%4")]),
        ("a=%C3%A9", vec![("a", "é")]),
        ("", vec![]),
    ] {
        let expected: Vec<(String, String)> = expected.into_iter().map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
        assert_eq!(read(query), expected, "{query}");
    }
}

#[test]
fn a_query_without_escapes_is_not_copied() {
    assert!(pairs("a=1&b=2").all(|(name, value)| matches!((name, value), (Cow::Borrowed(_), Cow::Borrowed(_)))));
}
