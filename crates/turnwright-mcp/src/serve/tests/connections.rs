//! Connections of an HTTP server, in memory: time is paused, and passes because nothing else happens.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use axum::serve::Listener;
use futures_util::stream::{self, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::time::sleep;
use turnwright_core::ToolRegistry;

use crate::McpService;
use crate::serve::connections;
use crate::serve::limits::ServeLimits;

/// A request whose body is not sent completely.
const HALF_BODY: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";

/// Longer than a request may take.
const LONG: Duration = Duration::from_secs(3_600);

struct Clients {
    waiting: mpsc::UnboundedReceiver<DuplexStream>,
    accepted: Arc<AtomicUsize>,
}

impl Listener for Clients {
    type Io = DuplexStream;
    type Addr = ();

    async fn accept(&mut self) -> (DuplexStream, ()) {
        let Some(stream) = self.waiting.recv().await else {
            return pending().await;
        };
        self.accepted.fetch_add(1, Ordering::Relaxed);
        (stream, ())
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A server whose clients are the test.
struct Server {
    clients: mpsc::UnboundedSender<DuplexStream>,
    accepted: Arc<AtomicUsize>,
}

impl Server {
    fn start(router: Router, limits: ServeLimits) -> Self {
        assert!(limits.read < LONG);
        let (clients, waiting) = mpsc::unbounded_channel();
        let accepted = Arc::<AtomicUsize>::default();
        let listener = Clients {
            waiting,
            accepted: Arc::clone(&accepted),
        };
        tokio::spawn(async move { connections::serve(listener, router, &limits, pending).await });
        Server { clients, accepted }
    }

    fn connect(&self) -> DuplexStream {
        let (near, far) = duplex(64 << 10);
        self.clients.send(far).unwrap();
        near
    }

    /// Returns how many connections are accepted once nothing happens.
    async fn accepted(&self) -> usize {
        sleep(Duration::from_secs(1)).await;
        self.accepted.load(Ordering::Relaxed)
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_not_completed_is_given_up() {
    let router = McpService::new(ToolRegistry::default()).into_router();
    let server = Server::start(router.unwrap(), ServeLimits::default());
    for (sent, expected) in [
        ("", ""),
        ("POST /mcp HTTP/1.1\r\nHost: local", ""),
        (HALF_BODY, "HTTP/1.1 408 "),
    ] {
        let mut client = server.connect();
        client.write_all(sent.as_bytes()).await.unwrap();
        let mut answer = String::new();
        // Returns when the server has closed the connection.
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(expected), "{sent:?}: {answer}");
        assert_eq!(answer.is_empty(), expected.is_empty(), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_not_authenticated_is_refused_before_its_body_is_read() {
    let http = McpService::new(ToolRegistry::default()).http();
    let router = http.authenticate(async |_| None).into_router();
    let server = Server::start(router.unwrap(), ServeLimits::default());
    let mut client = server.connect();
    client.write_all(HALF_BODY.as_bytes()).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_response_may_take_longer_than_a_request_and_the_connection_is_kept() {
    let slow = get(|| async {
        let pieces = stream::iter(1..=3).then(|number| async move {
            sleep(LONG).await;
            Ok::<_, Infallible>(format!("piece {number}"))
        });
        Body::from_stream(pieces)
    });
    let router = Router::new().route("/", slow);
    let server = Server::start(router, ServeLimits::default());
    let mut client = server.connect();
    for _ in 0..2 {
        let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        client.write_all(request).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"piece 3\r\n0\r\n\r\n") {
            let length = client.read_buf(&mut answer).await.unwrap();
            assert!(length > 0, "{}", String::from_utf8_lossy(&answer));
        }
    }
    // Without another request it is closed.
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn connections_over_the_limit_wait() {
    let limits = ServeLimits {
        connections: 1,
        ..ServeLimits::default()
    };
    let server = Server::start(Router::new(), limits);
    let (first, _second) = (server.connect(), server.connect());
    assert_eq!(server.accepted().await, 1);
    drop(first);
    assert_eq!(server.accepted().await, 2);
}
