//! The bound on requests in work, over real connections.

use std::{sync::Arc, time::Duration};

use aip_edge::{bounded, observed, serve};
use aip_service::Tasks;
use axum::{Router, routing::get};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::Semaphore,
    time::timeout,
};

#[tokio::test]
async fn one_request_too_many_is_refused_and_the_next_is_served() {
    let (entered, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let handler = {
        let (entered, go) = (Arc::clone(&entered), Arc::clone(&go));
        move || async move {
            entered.add_permits(1);
            go.acquire().await.unwrap().forget();
        }
    };
    let router = observed(bounded(Router::new().route("/", get(handler)), 1));
    let address = serve("127.0.0.1:0".parse().unwrap(), router, &Tasks::default()).await.unwrap();
    let ask = || async move {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut text = String::new();
        timeout(Duration::from_secs(20), stream.read_to_string(&mut text)).await.unwrap().unwrap();
        text
    };
    let (first, ()) = tokio::join!(ask(), async {
        entered.acquire().await.unwrap().forget();
        let refused = ask().await;
        assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
        assert!(refused.contains("retry-after: 1\r\n") && refused.contains("aip.capacity.rate_limited"), "{refused}");
        go.add_permits(1);
    });
    assert!(first.starts_with("HTTP/1.1 200 "), "{first}");
    go.add_permits(1);
    assert!(ask().await.starts_with("HTTP/1.1 200 "));
}
