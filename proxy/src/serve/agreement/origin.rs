//! The origin on loopback behind the proxy.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Answers every request with 200, and opens a WebSocket where it may choose what is spoken on it. Gives its port.
pub(super) async fn start() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(answer)).await });
    port
}

async fn answer(request: Request) -> Response<Body> {
    let upgrade = request.method() == Method::GET && request.headers().contains_key(header::UPGRADE);
    let Some(offered) = request.headers().get(header::SEC_WEBSOCKET_PROTOCOL).filter(|_| upgrade).cloned() else {
        return Response::new(Body::empty());
    };
    tokio::spawn(async move {
        let stream = hyper::upgrade::on(request).await.unwrap();
        // Listens to the end, and then leaves.
        let _ = tokio::io::copy(&mut TokioIo::new(stream), &mut tokio::io::sink()).await;
    });
    let mut switch = Response::new(Body::empty());
    *switch.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let fields = [(header::CONNECTION, "upgrade"), (header::UPGRADE, "websocket")];
    switch
        .headers_mut()
        .extend(fields.map(|(name, value)| (name, header::HeaderValue::from_static(value))));
    switch.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, offered);
    switch
}
