//! permessage-deflate (RFC 7692): what is judged is what the origin will read, and what leaves is what came.

use serde_json::json;
use tollgate_tests::websocket::{
    DEFLATE, DEFLATE_ALONE, Deflater, ENFORCE, HANDSHAKE, Seen, Sockets, WEBSOCKET, bits, fragmented, frame, op, text,
};
use tollgate_tests::wire::H1;

const LINES: [&str; 3] = [WEBSOCKET, ENFORCE, "access: full"];
const BROADCAST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x02f8"]}"#;

async fn open(sockets: &Sockets) -> H1 {
    let (answer, client) = sockets
        .handshake(
            "/socket",
            &format!("{HANDSHAKE}Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"),
        )
        .await;
    assert_eq!(answer.status, 101, "{answer:?}");
    client
}

#[tokio::test]
async fn compressed_messages_leave_as_they_came_with_and_without_context_takeover() {
    for (agreed, kept) in [
        (DEFLATE, true),
        (
            "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=12; server_no_context_takeover\r\n",
            true,
        ),
        (DEFLATE_ALONE, false),
    ] {
        let sockets = Sockets::start(&LINES, agreed, "", |setup| setup).await;
        let mut client = open(&sockets).await;
        let mut deflater = Deflater::default();
        let mut sent = Vec::new();
        for number in 0..5 {
            if !kept {
                deflater = Deflater::default();
            }
            let message = format!("{{\"number\": {number}, \"words\": \"the same words in every message\"}}");
            let packed = deflater.pack(message.as_bytes());
            sent.extend(fragmented(bits::PACKED | op::TEXT, &packed, 1 + number));
            sent.extend(text("and one that is not compressed"));
        }
        client.send(&sent).await;
        sockets.arrived(&sent).await;
    }
}

#[tokio::test]
async fn a_broadcast_is_found_under_compression_fragments_and_references_to_earlier_messages() {
    for (agreed, kept) in [(DEFLATE, true), (DEFLATE_ALONE, false)] {
        let sockets = Sockets::start(&LINES, agreed, "", |setup| setup).await;
        let mut client = open(&sockets).await;
        let mut deflater = Deflater::default();
        // Harmless by itself; with it in the window the broadcast shrinks to references.
        let seed = BROADCAST.replace("Raw", "rAw").replace("eth_", "ETH_");
        let first = deflater.text(&seed);
        client.send(&first).await;
        sockets.arrived(&first).await;
        if !kept {
            deflater = Deflater::default();
        }
        let packed = deflater.pack(BROADCAST.as_bytes());
        assert!(!packed.windows(12).any(|part| part == b"sendRawTrans"), "not hidden by compression");
        client.send(fragmented(bits::PACKED | op::TEXT, &packed, 4)).await;
        assert_eq!(
            Seen::next(&mut client).await.close(),
            (1008, "rail_broadcast".to_owned()),
            "{agreed}"
        );
        sockets.origin_ended().await;
        assert_eq!(
            sockets.received().len(),
            first.len() + 8,
            "more than the first message and a goodbye"
        );
    }
}

#[tokio::test]
async fn a_reference_into_a_window_that_was_given_up_is_refused() {
    let sockets = Sockets::start(&LINES, DEFLATE_ALONE, "", |setup| setup).await;
    let mut client = open(&sockets).await;
    let mut deflater = Deflater::default();
    let first = deflater.text("the quick brown fox jumps over the lazy dog");
    client.send(&first).await;
    sockets.arrived(&first).await;
    // An origin that keeps its window all the same would read it; nobody else can.
    client.send(deflater.text("the quick brown fox jumps over the lazy dog")).await;
    assert_eq!(Seen::next(&mut client).await.close(), (1007, "uninspectable_traffic".to_owned()));
}

#[tokio::test]
async fn a_decompression_bomb_is_cut_and_costs_no_memory() {
    let sockets = Sockets::start(&LINES, DEFLATE, "", |setup| setup).await;
    let bomb = Deflater::default().pack(&vec![b'a'; 64 << 20]);
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    let before = sockets.gate.resident();
    for opcode in [op::TEXT, op::BINARY] {
        let mut client = open(&sockets).await;
        client.send(frame(bits::FIN | bits::PACKED | opcode, &bomb)).await;
        assert_eq!(Seen::next(&mut client).await.close(), (1009, "body_too_large".to_owned()));
    }
    let grown = sockets.gate.resident().saturating_sub(before);
    assert!(grown < 32 << 20, "{grown} bytes more");
}

#[tokio::test]
async fn what_does_not_decompress_is_refused() {
    let sockets = Sockets::start(&LINES, DEFLATE, "", |setup| setup).await;
    // A final block: some inflaters stop at it, others read on.
    let finished = [0x01, 0x02, 0x00, 0xFD, 0xFF, b'{', b'}'];
    for payload in [&b"\xFF\xFF\xFF\xFF"[..], &finished, b""] {
        let mut client = open(&sockets).await;
        client.send(frame(bits::FIN | bits::PACKED | op::TEXT, payload)).await;
        assert_eq!(
            Seen::next(&mut client).await.close(),
            (1007, "uninspectable_traffic".to_owned()),
            "{payload:?}"
        );
    }
    sockets
        .gate
        .audited(json!({ "protocol": "websocket", "reason_code": "uninspectable_traffic" }))
        .await;
}

#[tokio::test]
async fn a_compressed_binary_message_passes_and_a_later_text_may_refer_to_it() {
    let sockets = Sockets::start(&LINES, DEFLATE, "", |setup| setup).await;
    let mut client = open(&sockets).await;
    let mut deflater = Deflater::default();
    let binary = fragmented(bits::PACKED | op::BINARY, &deflater.pack(BROADCAST.as_bytes()), 3);
    client.send(&binary).await;
    sockets.arrived(&binary).await;
    client.send(deflater.text(BROADCAST)).await;
    assert_eq!(Seen::next(&mut client).await.close(), (1008, "rail_broadcast".to_owned()));
}
