//! gRPC by two stacks of the real world, tonic and `grpcio`: every kind of call, errors in both of their forms, deadlines and denials.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use http::uri::PathAndQuery;
use serde_json::{Value, json};
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::grpc::{GrpcServer, Text, channel};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::real_clients::{answers, behind, program};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tonic::{Code, Request};

async fn served() -> (Tollgate, GrpcServer) {
    let authority = Authority::default();
    let server = GrpcServer::start(authority.server(HOST, Alpn::H2Only)).await;
    let rules = ["rules:", "  - allow: { method: POST, path: \"/echo.Echo/*\" }"];
    let gate = Setup::new(policy::ruled(&[server.port()], &rules))
        .local_host()
        .trust(&authority)
        .start();
    (gate, server)
}

fn method(path: &'static str) -> PathAndQuery {
    PathAndQuery::from_static(path)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tonic_makes_every_kind_of_call() {
    let (gate, server) = served().await;
    let mut grpc = channel(&gate, server.port()).await;

    let text = |text: &str| Request::new(text.to_owned());
    let said = grpc.unary(text("hello"), method("/echo.Echo/Say"), Text).await.unwrap();
    assert_eq!(said.get_ref(), "re: hello");

    grpc.ready().await.unwrap();
    let counted = grpc.server_streaming(text("300"), method("/echo.Echo/Count"), Text).await.unwrap();
    let counted: Vec<String> = counted.into_inner().map(Result::unwrap).collect().await;
    assert_eq!((counted.len(), counted[299].as_str()), (300, "300"));

    grpc.ready().await.unwrap();
    let parts = Request::new(stream::iter(["a", "b", "c"].map(str::to_owned)));
    let joined = grpc.client_streaming(parts, method("/echo.Echo/Join"), Text).await.unwrap();
    assert_eq!(joined.get_ref(), "a+b+c");

    // Each message is sent when the one before has been answered: nothing may be held back on the way.
    grpc.ready().await.unwrap();
    let (next, messages) = tokio::sync::mpsc::unbounded_channel();
    let messages = stream::unfold(messages, |mut messages| async {
        messages.recv().await.map(|message: String| (message, messages))
    });
    let mut talk = grpc
        .streaming(Request::new(messages), method("/echo.Echo/Talk"), Text)
        .await
        .unwrap()
        .into_inner();
    for word in ["one", "two", "three"] {
        next.send(word.to_owned()).unwrap();
        let answer = tollgate_tests::within("answer", talk.message()).await.unwrap();
        assert_eq!(answer, Some(format!("re: {word}")));
    }
    drop(next);
    assert_eq!(tollgate_tests::within("end", talk.message()).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tonic_gets_errors_deadlines_and_denials() {
    let (gate, server) = served().await;
    let mut grpc = channel(&gate, server.port()).await;
    let text = |text: &str| Request::new(text.to_owned());

    // The status is the whole answer.
    let error = grpc.unary(text("fail"), method("/echo.Echo/Say"), Text).await.unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::NotFound, "no such thing: ü"));
    assert_eq!(error.metadata().get("x-detail").unwrap(), "from the server");

    // It comes behind messages.
    grpc.ready().await.unwrap();
    let counted = grpc.server_streaming(text("2!"), method("/echo.Echo/Count"), Text).await.unwrap();
    let counted: Vec<_> = counted.into_inner().collect().await;
    let (last, before) = counted.split_last().unwrap();
    assert_eq!(before.len(), 2);
    assert_eq!(last.as_ref().unwrap_err().code(), Code::DataLoss);

    grpc.ready().await.unwrap();
    let mut slow = text("slow");
    slow.set_timeout(Duration::from_millis(300));
    let error = tollgate_tests::within("deadline", grpc.unary(slow, method("/echo.Echo/Say"), Text))
        .await
        .unwrap_err();
    assert!(matches!(error.code(), Code::DeadlineExceeded | Code::Cancelled), "{error:?}");

    let before = server.calls();
    grpc.ready().await.unwrap();
    let error = grpc.unary(text("hello"), method("/admin.Admin/Say"), Text).await.unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied);
    assert!(error.message().starts_with("path_not_allowed: "), "{error:?}");
    assert_eq!(server.calls(), before, "a denied call reached the server");
    gate.audited(json!({ "decision": "deny", "path": "/admin.Admin/Say", "reason_code": "path_not_allowed" }))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grpcio_makes_every_kind_of_call_and_reads_every_error() {
    let (gate, server) = served().await;
    let mut command = program("agents/call_grpc.py");
    behind(&mut command, &gate);
    command.env("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", &gate.ca);
    command.arg(format!("{HOST}:{}", server.port()));
    let found = answers(command).await;
    let expected = [
        json!({ "call": "unary", "answer": "re: hello" }),
        json!({ "call": "server streaming", "answer": ["1", "2", "3"] }),
        json!({ "call": "client streaming", "answer": "a+b+c" }),
        json!({ "call": "bidirectional", "answer": ["re: one", "re: two", "re: three"] }),
        json!({ "call": "error alone", "code": "NOT_FOUND", "details": "no such thing: ü", "trailer": "from the server" }),
        json!({ "call": "error behind messages", "answer": ["1", "2"], "code": "DATA_LOSS", "details": "broken off" }),
        json!({ "call": "deadline", "code": "DEADLINE_EXCEEDED" }),
        json!({ "call": "unimplemented", "code": "UNIMPLEMENTED", "details": "/echo.Echo/Sing" }),
        json!({ "call": "denied", "code": "PERMISSION_DENIED" }),
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(&expected) {
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(found.get(name), Some(value), "{found}");
        }
    }
    let details = found.last().and_then(|denied| denied["details"].as_str()).unwrap_or_default();
    assert!(details.starts_with("path_not_allowed: "), "{found:#?}");
    let lines = gate.audit_events();
    let denied: Vec<&Value> = lines.iter().filter(|line| line["decision"] == "deny").collect();
    assert_eq!(denied.len(), 1, "{denied:#?}");
}
