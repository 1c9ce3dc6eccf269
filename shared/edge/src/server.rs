//! The HTTP server of an edge: HTTP/1.1 and HTTP/2 without TLS, bounded in connections and in patience.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use aip_service::{Tasks, since_start};
use aip_types::limits;
use axum::{Router, serve::Listener};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Sleep, sleep},
};

/// Connections of one edge: one for each follower, and room for requests. More wait in the listener's queue.
const CONNECTIONS_MAX: usize = limits::FOLLOWERS_MAX + 2_048;
/// Time of a connection without traffic, and from the first byte of a request to the first byte of its answer: more than
/// the body's time and the longest wait for an owner together.
const PATIENCE: Duration = Duration::from_secs(75);

/// What a peer that does not read has left when the process drains.
const LAST_WRITE: Duration = Duration::from_secs(1);

/// Serves a router until the process drains, and returns the bound address. What is in work then may end.
///
/// # Errors
/// The address cannot be bound.
pub async fn serve(listen: SocketAddr, router: Router, tasks: &Tasks) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(listen).await?;
    let bound = listener.local_addr()?;
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let arrivals = Arrivals { listener, room, patience: PATIENCE, tasks: tasks.clone() };
    let draining = tasks.clone();
    let served = axum::serve(arrivals, router).with_graceful_shutdown(async move { draining.draining().await });
    tasks.spawn(async move {
        if let Err(fault) = served.await {
            tracing::error!(%fault, "the HTTP server failed");
        }
    });
    Ok(bound)
}

struct Arrivals {
    listener: TcpListener,
    room: Arc<Semaphore>,
    patience: Duration,
    tasks: Tasks,
}

impl Listener for Arrivals {
    type Io = Patient;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Patient, SocketAddr) {
        loop {
            // never closed
            let Ok(room) = Arc::clone(&self.room).acquire_owned().await else { return std::future::pending().await };
            let (stream, from) = Listener::accept(&mut self.listener).await;
            match stream.set_nodelay(true) {
                Ok(()) => return (Patient::new(stream, self.patience, room, self.tasks.clone()), from),
                Err(fault) => tracing::debug!(%fault, "a connection ended before it began"),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that fails when its peer is silent, or asks or reads too slowly.
struct Patient {
    stream: TcpStream,
    patience: Duration,
    due: Pin<Box<Sleep>>,
    asking: bool,
    /// Resolves when the process drains; gone once it has.
    draining: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    _room: OwnedSemaphorePermit,
}

impl Patient {
    fn new(stream: TcpStream, patience: Duration, room: OwnedSemaphorePermit, tasks: Tasks) -> Self {
        let draining = Box::pin(async move { tasks.draining().await });
        Self { stream, patience, due: Box::pin(sleep(patience)), asking: false, draining: Some(draining), _room: room }
    }

    /// Starts the clock anew: with the first byte of a request, and with what is answered.
    fn restart(&mut self, asking: bool) {
        self.asking = asking;
        self.due.as_mut().reset(since_start() + self.patience);
    }

    fn or_late<T>(&mut self, done: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            return done;
        }
        ready!(self.due.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn wrote(&mut self, done: Poll<io::Result<usize>>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if matches!(done, Poll::Ready(Ok(1..))) {
            self.restart(false);
        }
        // A follower can come back anywhere: one that does not read does not hold the process up.
        if done.is_pending() && self.draining.as_mut().is_some_and(|draining| draining.as_mut().poll(cx).is_ready()) {
            self.draining = None;
            let last = since_start() + LAST_WRITE;
            if self.due.deadline() > last {
                self.due.as_mut().reset(last);
            }
        }
        self.or_late(done, cx)
    }
}

impl AsyncRead for Patient {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let done = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before && !self.asking {
            self.restart(true);
        }
        self.or_late(done, cx)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.wrote(done, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.wrote(done, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        time::timeout,
    };

    async fn pair(patience: Duration) -> (Patient, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut arrivals = Arrivals { listener, room: Arc::new(Semaphore::new(1)), patience, tasks: Tasks::default() };
        let (connection, _) = arrivals.accept().await;
        (connection, peer)
    }

    #[tokio::test]
    async fn a_silent_or_trickling_peer_is_given_up() {
        let (mut silent, _peer) = pair(Duration::from_millis(50)).await;
        let ended = timeout(Duration::from_secs(10), silent.read_u8()).await.unwrap();
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);

        let (mut slow, mut peer) = pair(Duration::from_millis(300)).await;
        let read = async {
            loop {
                if let Err(fault) = slow.read_u8().await {
                    return fault;
                }
            }
        };
        let trickle = async {
            loop {
                if peer.write_all(b"x").await.is_err() {
                    std::future::pending::<()>().await;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        let ended = tokio::select! { fault = read => fault, () = trickle => unreachable!(), () = sleep(Duration::from_secs(10)) => panic!("not given up") };
        assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_peer_that_does_not_read_holds_no_draining_process_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let tasks = Tasks::default();
        let room = Arc::new(Semaphore::new(1));
        let mut arrivals = Arrivals { listener, room, patience: PATIENCE, tasks: tasks.clone() };
        let (mut connection, _) = arrivals.accept().await;
        let write = async {
            loop {
                if let Err(fault) = connection.write_all(&[0; 65_536]).await {
                    return fault;
                }
            }
        };
        tokio::pin!(write);
        assert!(timeout(Duration::from_millis(200), &mut write).await.is_err(), "nobody reads");
        tasks.drain(Duration::ZERO).await;
        let fault = timeout(LAST_WRITE * 20, write).await.expect("given up");
        assert_eq!(fault.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_connection_takes_a_place_until_it_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut arrivals =
            Arrivals { listener, room: Arc::new(Semaphore::new(1)), patience: PATIENCE, tasks: Tasks::default() };
        let (_first, _second) =
            (TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap());
        let (held, _) = arrivals.accept().await;
        assert_eq!(arrivals.room.available_permits(), 0);
        drop(held);
        timeout(Duration::from_secs(10), arrivals.accept()).await.unwrap();
    }
}
