//! Paths are judged and forwarded in one canonical form; what has none is refused.

use tollgate_tests::client::{Ask, Via};
use tollgate_tests::world::World;

/// target as sent, target as the origin sees it
const CANONICAL: &[(&str, &str)] = &[
    ("/a/./b", "/a/b"),
    ("/a/b/.", "/a/b/"),
    ("/a/../b", "/b"),
    ("/a/b/..", "/a/"),
    ("/public/%2e%2e/secret", "/secret"),
    ("/public/%2E%2E/secret", "/secret"),
    ("/public/./../secret", "/secret"),
    ("/public//secret", "/public/secret"),
    ("//public//../secret", "/secret"),
    ("/public/%2e/secret", "/public/secret"),
    ("/a;jsessionid=xyz/b", "/a/b"),
    ("/public/..;/secret", "/secret"),
    ("/public/%2e%2e;/secret", "/secret"),
    ("/public/.;/secret", "/public/secret"),
    ("/files/hello%20world.txt", "/files/hello%20world.txt"),
    ("/search/a%3Fb", "/search/a%3Fb"),
    ("/users/%40alice", "/users/@alice"),
    ("/users/caf%c3%a9", "/users/caf%C3%A9"),
    ("/a/%252F/b", "/a/%252F/b"),
    ("/a?q=1&r=%2e%2E/../x", "/a?q=1&r=%2e%2E/../x"),
    (
        "/fetch/http://example.test?next=http://other.test",
        "/fetch/http:/example.test?next=http://other.test",
    ),
];

const REFUSED: &[&str] = &[
    "/..",
    "/a/../..",
    "/a/%2e%2e/%2e%2e",
    "/..;",
    "/public/..;/..;/secret",
    "/a%00b",
    "/a%0Ab",
    "/a%0Db",
    "/a%7Fb",
    "/a%zz",
    "/a%",
];

/// B21.
#[tokio::test]
async fn the_origin_sees_the_path_that_was_judged() {
    let world = World::open().await;
    for via in Via::ALL {
        for (sent, seen) in CANONICAL {
            world.get(via, sent).await;
            assert_eq!(world.origin(via).last().target, *seen, "{sent} {via:?}");
        }
    }
}

#[tokio::test]
async fn paths_without_a_canonical_form_are_refused() {
    let world = World::open().await;
    let long = format!("/{}", "a".repeat(4097));
    for via in Via::ALL {
        for sent in REFUSED.iter().copied().chain([long.as_str()]) {
            let body = world.get(via, sent).await.assert_refused(&[400], "path_not_canonical");
            assert_eq!(body["error"], "invalid_request_target", "{sent} {via:?}");
        }
    }
    world.plain.assert_no_request();
    world.tls.assert_no_request();
}

#[tokio::test]
async fn an_encoded_slash_is_refused_where_the_endpoint_does_not_allow_it() {
    let world = World::open().await;
    for via in Via::ALL {
        for sent in ["/a/%2f/b", "/a%2Fb", "/public/..%2fsecret", "/public/%2E%2E%2Fsecret"] {
            world.get(via, sent).await.assert_denied(400, "path_not_canonical");
        }
    }
    world.plain.assert_no_request();
    world.tls.assert_no_request();
}

#[tokio::test]
async fn raw_control_bytes_and_fragments_in_the_target_are_refused() {
    let world = World::open().await;
    for (target, reason) in [
        ("/a\u{e9}", "malformed_request"),
        ("/a#b", "path_not_canonical"),
        ("/a\tb", "malformed_request"),
        ("/a\u{7f}b", "malformed_request"),
    ] {
        let ask = Ask::get(world.plain.port(), target);
        let mut connection = world.gate.dial().await;
        connection.send(ask.h1(Via::AbsoluteForm)).await;
        let answer = connection.answer("GET").await;
        assert_eq!(
            (answer.status, answer.reason()),
            (400, Some(reason)),
            "{target:?}: {}",
            answer.text()
        );
    }
    world.plain.assert_no_request();
}

#[tokio::test]
async fn an_encoded_slash_stays_where_the_endpoint_allows_it() {
    let lines = [
        "protocol: rest",
        "enforcement: enforce",
        "access: full",
        "allow_encoded_slash: true",
    ];
    let world = World::start(
        |ports| {
            tollgate_tests::policy::document(&[tollgate_tests::policy::Entry {
                name: "api",
                host: tollgate_tests::policy::HOST,
                ports,
                lines: &lines,
            }])
        },
        |setup| setup,
    )
    .await;
    for via in Via::ALL {
        world.get(via, "/repos/group%2fproject/issues").await.assert_allowed();
        assert_eq!(world.origin(via).last().target, "/repos/group%2Fproject/issues");
        for hidden in ["/public/..%2fsecret", "/public/.%2fsecret"] {
            world.get(via, hidden).await.assert_denied(400, "path_not_canonical");
        }
    }
}
