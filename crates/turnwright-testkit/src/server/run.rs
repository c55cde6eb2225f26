//! The server: accepts connections, records requests, and answers.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::answer::Answer;
use super::model::Protocol;
use super::play;
use super::received::ReceivedRequest;
use super::wire::{End, Wire};

/// The maximum size of a request body: 64 MiB. Larger ones are answered with 413 and not recorded.
pub const BODY_LIMIT: usize = 64 << 20;

/// A server on loopback. It stops when it is dropped.
///
/// ```
/// use turnwright_testkit::server::{Answer, Server};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let server = Server::start(|request| match request.route() {
///     "/v1/models" => Answer::json(200, serde_json::json!({ "data": [] })),
///     _ => Answer::status(404),
/// })
/// .await?;
/// assert!(server.requests().is_empty());
/// server.shutdown().await;
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct Server {
    address: SocketAddr,
    accepting: JoinHandle<()>,
    shared: Arc<Shared>,
}

/// Configures a server: see [`Server::builder`].
///
/// ```
/// use turnwright_testkit::server::{Answer, Server};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let server = Server::builder().keep_requests(100).start(|_| Answer::status(503)).await?;
/// assert_ne!(server.address().port(), 0);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `start` is called"]
pub struct ServerBuilder {
    port: u16,
    most: usize,
}

impl ServerBuilder {
    /// Sets the port. Default: a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Sets how many of the last requests [`Server::requests`] returns. Default: all, which is not suitable for a
    /// long-running server.
    pub fn keep_requests(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// Starts the server: see [`Server::start`].
    ///
    /// # Errors
    /// Fails if the port is not available.
    pub async fn start(
        self,
        answers: impl Fn(&ReceivedRequest) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Server> {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            answers: Box::new(answers),
            noted: Mutex::new(Noted {
                connections: 0,
                received: 0,
                requests: VecDeque::new(),
                most: self.most,
                open: Some(JoinSet::new()),
            }),
            open: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Server {
            address,
            accepting,
            shared,
        })
    }
}

struct Shared {
    answers: Box<dyn Fn(&ReceivedRequest) -> Answer + Send + Sync>,
    noted: Mutex<Noted>,
    /// The number of open connections.
    open: watch::Sender<usize>,
}

struct Noted {
    connections: usize,
    /// The number of completely received requests.
    received: usize,
    /// The last requests, up to the limit.
    requests: VecDeque<ReceivedRequest>,
    most: usize,
    /// `None` after the server has stopped.
    open: Option<JoinSet<()>>,
}

impl Server {
    /// Starts a server on a free port of 127.0.0.1 that answers each request with the result of the function. Must
    /// run inside a Tokio runtime with I/O and time.
    ///
    /// # Errors
    /// Fails if no port is available.
    pub async fn start(
        answers: impl Fn(&ReceivedRequest) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Server> {
        Server::builder().start(answers).await
    }

    /// Creates a builder, for more options than [`Server::start`].
    ///
    /// ```
    /// use turnwright_testkit::server::{Answer, Server};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let first = Server::start(|_| Answer::status(200)).await?;
    /// let port = first.address().port();
    /// let taken = Server::builder().port(port).start(|_| Answer::status(200)).await;
    /// assert_eq!(taken.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn builder() -> ServerBuilder {
        ServerBuilder {
            port: 0,
            most: usize::MAX,
        }
    }

    /// Starts a server with these answers, one per request, in order. A request after the last answer gets status 400
    /// and a message that the script has ended. Clients do not retry this status, so a superfluous request is
    /// noticed.
    ///
    /// # Errors
    /// Fails if no port is available.
    pub async fn script(answers: impl IntoIterator<Item = Answer>) -> io::Result<Server> {
        let answers: Vec<Answer> = answers.into_iter().collect();
        Server::start(move |request| match answers.get(request.number) {
            Some(answer) => answer.clone(),
            None => {
                let protocol = Protocol::of(request).unwrap_or(Protocol::ChatCompletions);
                script_ended(protocol, answers.len())
            }
        })
        .await
    }

    /// Returns the base URL: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the completely received requests, in order; only the last ones if [a
    /// limit](ServerBuilder::keep_requests) is set.
    #[must_use]
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        let noted = self.shared.noted.lock();
        noted.requests.iter().cloned().collect()
    }

    /// Returns the number of connections that were made.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.noted.lock().connections
    }

    /// Waits until no connection is open.
    pub async fn all_closed(&self) {
        // The sender lives as long as this server.
        let _ = self
            .shared
            .open
            .subscribe()
            .wait_for(|open| *open == 0)
            .await;
    }

    /// Stops the server. Afterwards all connections are closed and the port is free.
    pub async fn shutdown(mut self) {
        let open = self.stop();
        // It was aborted, so there is no result.
        let _ = (&mut self.accepting).await;
        if let Some(mut open) = open {
            open.shutdown().await;
        }
    }

    fn stop(&self) -> Option<JoinSet<()>> {
        self.accepting.abort();
        self.shared.noted.lock().open.take()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(super) fn script_ended(protocol: Protocol, of: usize) -> Answer {
    let message = format!("the script has ended: it has {of} answers, and this is another request");
    protocol.error(400, "script_ended", &message)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files: others must be closed first.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let mut noted = shared.noted.lock();
        noted.connections += 1;
        let Some(open) = &mut noted.open else {
            return;
        };
        open.spawn(serve(stream, Arc::clone(&shared)));
        while open.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let _counted = Counted::new(&shared);
    let end = End::default();
    let shared_end = end.clone();
    let wire = Wire { stream, end };
    let service = service_fn(move |request| {
        let (shared, end) = (Arc::clone(&shared), shared_end.clone());
        async move {
            let answer = match receive(request).await? {
                Some(request) => (shared.answers)(&shared.note(request)),
                None => too_large(),
            };
            play::head(answer, end).await
        }
    });
    // Tests compare answers byte by byte, so there must be no date.
    let served = hyper::server::conn::http1::Builder::new()
        .auto_date_header(false)
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(wire), service)
        .await;
    // A connection that ends in the middle is expected here.
    drop(served);
}

/// Counts a connection while it is open.
struct Counted(Arc<Shared>);

impl Counted {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.open.send_modify(|open| *open += 1);
        Counted(Arc::clone(shared))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0
            .open
            .send_modify(|open| *open = open.saturating_sub(1));
    }
}

impl Shared {
    fn note(&self, mut request: ReceivedRequest) -> ReceivedRequest {
        let mut noted = self.noted.lock();
        request.number = noted.received;
        noted.received += 1;
        noted.requests.push_back(request.clone());
        if noted.requests.len() > noted.most {
            noted.requests.pop_front();
        }
        request
    }
}

/// Returns the request with its complete body, or `None` if the body is too large.
async fn receive(request: hyper::Request<Incoming>) -> io::Result<Option<ReceivedRequest>> {
    let (head, body) = request.into_parts();
    if body.size_hint().lower() > BODY_LIMIT as u64 {
        return Ok(None);
    }
    let body: Bytes = match Limited::new(body, BODY_LIMIT).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => return Ok(None),
        Err(error) => return Err(io::Error::other(error)),
    };
    let headers = head.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    });
    let path = head.uri.path_and_query();
    Ok(Some(ReceivedRequest {
        number: 0,
        method: head.method.as_str().to_owned(),
        path: path.map_or("/", |path| path.as_str()).to_owned(),
        headers: headers.collect(),
        body,
    }))
}

fn too_large() -> Answer {
    let message = format!("the body has more than {BODY_LIMIT} bytes");
    Protocol::ChatCompletions
        .error(413, "body_too_large", &message)
        .header("connection", "close")
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noted = self.shared.noted.lock();
        f.debug_struct("Server")
            .field("address", &self.address)
            .field("connections", &noted.connections)
            .field("requests", &noted.received)
            .finish_non_exhaustive()
    }
}
