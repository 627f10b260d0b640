//! Frames that no honest client sends: refused with the close code of RFC 6455, and never passed on.

use serde_json::json;
use tollgate_tests::websocket::{ENFORCE, HANDSHAKE, Seen, Sockets, WEBSOCKET, bits, fragmented, frame, op, server_frame, text};

#[tokio::test]
async fn frames_that_break_the_protocol_never_reach_the_origin() {
    let mut long_form = vec![0x81, 0xFE, 0, 1, 0, 0, 0, 0];
    long_form.push(b'x');
    let cases: [(&str, Vec<u8>, u16); 12] = [
        ("an unmasked frame", server_frame(bits::FIN | op::TEXT, b"hello"), 1002),
        ("a reserved bit", frame(bits::FIN | 0x20 | op::TEXT, b"hello"), 1002),
        (
            "compressed without an agreement",
            frame(bits::FIN | bits::PACKED | op::TEXT, b"hello"),
            1002,
        ),
        ("a reserved opcode", frame(bits::FIN | 5, b"hello"), 1002),
        ("a length in a longer form", long_form, 1002),
        ("a fragmented ping", frame(op::PING, b"hello"), 1002),
        ("a continuation of nothing", frame(bits::FIN | op::CONTINUATION, b"hello"), 1002),
        ("a message within a message", [frame(op::TEXT, b"a"), text("b")].concat(), 1002),
        ("half a close code", frame(bits::FIN | op::CLOSE, &[3]), 1002),
        ("text that is not UTF-8", frame(bits::FIN | op::TEXT, b"\xC0\xAF"), 1007),
        ("half a character", frame(bits::FIN | op::TEXT, "ü".as_bytes().split_at(1).0), 1007),
        ("a message over the limit", frame(bits::FIN | op::TEXT, &[b'a'; 2000]), 1009),
    ];
    let lines = [WEBSOCKET, ENFORCE, "access: full"];
    let config = json!({ "limits": { "websocket_message": "1KiB", "websocket_fragments": 16 } });
    let sockets = Sockets::start(&lines, "", "", |setup| setup.config(config)).await;
    for (name, bytes, code) in cases {
        let before = sockets.received().len();
        let mut client = sockets.open("/socket").await;
        client.send(&bytes).await;
        let (closed, reason) = Seen::next(&mut client).await.close();
        assert_eq!(closed, code, "{name}: {reason}");
        let expected = if code == 1009 { "body_too_large" } else { "malformed_request" };
        assert_eq!(reason, expected, "{name}");
        // Nothing but our goodbye.
        drop(client);
        tollgate_tests::eventually("the goodbye at the origin", || (sockets.received().len() > before).then_some(())).await;
        assert_eq!(sockets.received()[before..].len(), 8, "{name}");
    }
    let labels = [("decision", "deny"), ("reason_code", "malformed_request")];
    assert!((sockets.gate.metric("tollgate_requests_total", &labels).await - 11.0).abs() < f64::EPSILON);
}

#[tokio::test]
async fn a_message_is_bounded_over_all_its_fragments_and_they_are_counted() {
    let lines = [WEBSOCKET, ENFORCE, "access: full"];
    let config = json!({ "limits": { "websocket_message": "1KiB", "websocket_fragments": 16 } });
    let sockets = Sockets::start(&lines, "", "", |setup| setup.config(config)).await;
    for bytes in [fragmented(op::TEXT, &[b'a'; 2000], 10), fragmented(op::TEXT, &[b'a'; 17], 17)] {
        let mut client = sockets.open("/socket").await;
        client.send(&bytes).await;
        assert_eq!(Seen::next(&mut client).await.close(), (1009, "body_too_large".to_owned()));
    }
    let fits = fragmented(op::TEXT, &[b'a'; 800], 16);
    let before = sockets.received().len();
    let mut client = sockets.open("/socket").await;
    client.send(&fits).await;
    tollgate_tests::eventually("the message", || (sockets.received().len() >= before + fits.len()).then_some(())).await;
}

#[tokio::test]
async fn a_message_that_never_ends_is_given_up() {
    let lines = [WEBSOCKET, ENFORCE, "access: full"];
    let config = json!({ "limits": { "body_read": "500ms" } });
    let sockets = Sockets::start(&lines, "", "", |setup| setup.config(config)).await;
    let mut client = sockets.open("/socket").await;
    client.send(frame(op::TEXT, b"to be continued")).await;
    let (closed, reason) = Seen::next(&mut client).await.close();
    assert_eq!((closed, reason.as_str()), (1008, "malformed_request"));
    // A connection on which nothing has begun may wait as long as it likes.
    let mut client = sockets.open("/socket").await;
    client.send(text("hello")).await;
    assert!(client.stays_quiet_for(std::time::Duration::from_millis(900)).await);
}

#[tokio::test]
async fn what_many_clients_make_us_hold_is_bounded() {
    let lines = [WEBSOCKET, ENFORCE, "access: full"];
    let config = json!({ "limits": { "bodies_held_total": "64KiB" } });
    let sockets = Sockets::start(&lines, "", "", |setup| setup.config(config)).await;
    // It is held twice over: as it came, and as it reads.
    let begun = frame(op::TEXT, &vec![b'a'; 20_000]);
    let mut first = sockets.open("/socket").await;
    first.send(&begun).await;
    assert!(first.stays_quiet_for(std::time::Duration::from_millis(300)).await);
    let mut second = sockets.gate.tls_h1(sockets.origin.port()).await;
    let authority = format!("{}:{}", tollgate_tests::policy::HOST, sockets.origin.port());
    second
        .send(format!("GET /socket HTTP/1.1\r\nHost: {authority}\r\n{HANDSHAKE}\r\n"))
        .await;
    assert_eq!(second.answer("GET").await.status, 101);
    second.send(&begun).await;
    assert_eq!(Seen::next(&mut second).await.close(), (1013, "over_capacity".to_owned()));
    // What the first one holds is its own, and it may go on.
    first.send(frame(bits::FIN | op::CONTINUATION, b"!")).await;
    tollgate_tests::eventually("the first one's message", || (sockets.received().len() > begun.len()).then_some(())).await;
}
