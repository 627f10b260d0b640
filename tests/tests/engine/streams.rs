//! Both directions of one HTTP/2 stream at once, the shape of gRPC.

use bytes::Bytes;
use tollgate_tests::client::Ask;
use tollgate_tests::h2_client::H2;
use tollgate_tests::within;

use super::scripted_h2;

/// Answers each message as it comes, then ends with a status in the trailers.
async fn ping_pong(request: http::Request<h2::RecvStream>, mut respond: h2::server::SendResponse<Bytes>) {
    let mut incoming = request.into_body();
    let head = http::Response::builder()
        .header("content-type", "application/grpc")
        .body(())
        .unwrap();
    let mut outgoing = respond.send_response(head, false).unwrap();
    while let Some(Ok(message)) = incoming.data().await {
        let _ = incoming.flow_control().release_capacity(message.len());
        if !message.is_empty() {
            let _ = outgoing.send_data([b"re: ".as_slice(), &message].concat().into(), false);
        }
    }
    let mut trailers = http::HeaderMap::new();
    trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
    let _ = outgoing.send_trailers(trailers);
}

#[tokio::test]
async fn a_bidirectional_stream_flows_message_by_message() {
    let (gate, origin) = scripted_h2(ping_pong).await;
    let mut h2 = gate.tls_h2(origin.port()).await;
    let ask = Ask::get(origin.port(), "/svc/Talk")
        .method("POST")
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    let (response, mut outgoing) = h2.open(H2::head(&ask), false).await;
    outgoing.send_data(Bytes::from_static(b"one"), false).unwrap();
    let mut incoming = within("head", response).await.unwrap().into_body();
    for (message, next) in [("one", "two"), ("two", "three"), ("three", "")] {
        let answer = within("message", incoming.data()).await.unwrap().unwrap();
        let _ = incoming.flow_control().release_capacity(answer.len());
        assert_eq!(answer, format!("re: {message}"));
        if next.is_empty() {
            outgoing.send_data(Bytes::new(), true).unwrap();
        } else {
            outgoing.send_data(Bytes::from(next), false).unwrap();
        }
    }
    assert!(within("end", incoming.data()).await.is_none());
    let trailers = within("trailers", incoming.trailers()).await.unwrap().unwrap();
    assert_eq!(trailers["grpc-status"], "0");
    assert_eq!(origin.connections(), 1);
}

#[tokio::test]
async fn a_denied_stream_does_not_disturb_its_neighbours() {
    let authority = tollgate_tests::authority::Authority::default();
    let tls = authority.server(tollgate_tests::policy::HOST, tollgate_tests::authority::Alpn::H2);
    let origin = tollgate_tests::h2_origin::H2Origin::start(tls, ping_pong).await;
    let rules = ["rules:", "  - allow: { method: POST, path: \"/svc/**\" }"];
    let gate = tollgate_tests::tollgate::Setup::new(tollgate_tests::policy::ruled(&[origin.port()], &rules))
        .local_host()
        .trust(&authority)
        .start();
    let mut h2 = gate.tls_h2(origin.port()).await;
    let (response, mut outgoing) = h2.open(H2::head(&Ask::get(origin.port(), "/svc/Talk").method("POST")), false).await;
    outgoing.send_data(Bytes::from_static(b"one"), false).unwrap();
    let mut incoming = within("head", response).await.unwrap().into_body();
    for _ in 0..20 {
        h2.ask(&Ask::get(origin.port(), "/admin").method("POST"))
            .await
            .assert_denied(403, "path_not_allowed");
    }
    let answer = within("message", incoming.data()).await.unwrap().unwrap();
    assert_eq!(answer, "re: one");
    outgoing.send_data(Bytes::from_static(b"two"), true).unwrap();
    assert_eq!(within("message", incoming.data()).await.unwrap().unwrap(), "re: two");
}

#[tokio::test]
async fn a_client_that_opens_bad_streams_forever_is_shut_out() {
    let (gate, origin) = scripted_h2(ping_pong).await;
    let authority = format!("{}:{}", tollgate_tests::policy::HOST, origin.port());
    let mut refused = 0;
    let mut h2 = H2::new(gate.tls_stream(&authority, tollgate_tests::authority::Alpn::H2).await.unwrap()).await;
    for _ in 0..500 {
        if std::future::poll_fn(|context| h2.sender.poll_ready(context)).await.is_err() {
            break;
        }
        // Host and :authority contradict each other: malformed.
        let request = http::Request::get(format!("https://{authority}/"))
            .header("host", "x402.org")
            .body(())
            .unwrap();
        let Ok((response, _)) = h2.sender.send_request(request, true) else {
            break;
        };
        let _ = within("answer or reset", response).await;
        refused += 1;
    }
    assert!(
        (30..64).contains(&refused),
        "cut off after {refused}, `limits.h2_bad_streams` is 32"
    );
    let mut other = gate.tls_h2(origin.port()).await;
    assert_eq!(other.ask(&Ask::get(origin.port(), "/svc/Talk").method("POST")).await.status, 200);
}
