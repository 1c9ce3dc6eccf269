//! The client against a peer that misbehaves.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::{net::SocketAddr, time::Duration};

use aip_egress::{ANSWER_BYTES_MAX, Call, Client, EgressError};
use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::oneshot,
};

/// A peer that answers one connection with these bytes, and what it was sent.
async fn peer(answer: Vec<u8>) -> (SocketAddr, oneshot::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sent, seen) = oneshot::channel();
    #[expect(clippy::disallowed_methods, reason = "the test's own peer")]
    drop(tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4_096];
        let read = stream.read(&mut request).await.unwrap();
        sent.send(String::from_utf8_lossy(request.get(..read).unwrap()).into_owned()).unwrap();
        // The other side may hang up first.
        drop(stream.write_all(&answer).await);
        drop(stream.flush().await);
        if answer.is_empty() {
            std::future::pending::<()>().await;
        }
    }));
    (address, seen)
}

fn call<'a>(path: &'a [&'a str], query: &'a [(&'a str, &'a str)]) -> Call<'a> {
    Call { path, query, within: Duration::from_secs(10) }
}

#[tokio::test]
async fn a_request_carries_token_path_query_and_body() {
    let (address, seen) =
        peer(b"HTTP/1.1 404 Not Found\r\ncontent-type: application/aip+json\r\ncontent-length: 2\r\n\r\n{}".to_vec())
            .await;
    let client = Client::new(&format!("http://{address}/base/")).unwrap().with_bearer("s3cret").unwrap();
    assert!(!format!("{client:?}").contains("s3cret"));
    let answer = client
        .post(call(&["a/b", "c"], &[("k", "v &w")]), "application/aip+json", Bytes::from_static(b"[1]"))
        .await
        .unwrap();
    assert_eq!((answer.status, answer.is_success(), answer.body.as_ref()), (404, false, b"{}".as_slice()));
    assert_eq!(answer.media_type.as_deref(), Some("application/aip+json"));
    let request = seen.await.unwrap();
    assert!(request.starts_with("POST /base/a%2Fb/c?k=v+%26w HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer s3cret\r\n") && request.ends_with("[1]"), "{request}");
}

#[tokio::test]
async fn an_answer_past_the_cap_is_refused() {
    let mut answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", ANSWER_BYTES_MAX + 1).into_bytes();
    answer.resize(answer.len() + ANSWER_BYTES_MAX + 1, b'x');
    let (address, _seen) = peer(answer).await;
    let client = Client::new(&format!("http://{address}")).unwrap();
    assert!(matches!(client.get(call(&[], &[])).await, Err(EgressError::TooLarge)));
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let (address, _seen) =
        peer(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_vec()).await;
    let client = Client::new(&format!("http://{address}")).unwrap();
    assert_eq!(client.get(call(&["x"], &[])).await.unwrap().status, 302);
}

#[tokio::test]
async fn a_silent_peer_costs_the_deadline_only() {
    let (address, _seen) = peer(Vec::new()).await;
    let client = Client::new(&format!("http://{address}")).unwrap();
    let call = Call { path: &["x"], query: &[], within: Duration::from_millis(50) };
    assert!(matches!(client.get(call).await, Err(EgressError::TimedOut)));
}

#[tokio::test]
async fn a_cut_answer_and_a_closed_port_are_told_apart() {
    let (address, _seen) = peer(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab".to_vec()).await;
    let client = Client::new(&format!("http://{address}")).unwrap();
    assert!(matches!(client.get(call(&[], &[])).await, Err(EgressError::Cut(_))));
    assert!(matches!(client.get(call(&[], &[])).await, Err(EgressError::Unreachable { .. })));
}

#[test]
fn only_plain_http_bases_are_taken() {
    for base in ["", "127.0.0.1:80", "ftp://h/", "https://h/", "data:,x"] {
        assert!(matches!(Client::new(base), Err(EgressError::BadBase)), "{base}");
    }
}
