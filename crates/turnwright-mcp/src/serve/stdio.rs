//! Serves one client over a pair of streams: one JSON-RPC message per line.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::McpService;
use super::handler::Handler;
use super::open_requests::{OpenRequests, answered_request};
use super::server::Server;
use crate::protocol::line_reader::{Line, LineReader};

/// How many messages may wait to be written.
const QUEUE: usize = 64;

/// How long calls may still run after the input has ended.
const GRACE: Duration = Duration::from_secs(5);

impl McpService {
    /// Serves the process that started this one, over standard input and output. Returns when the standard input is closed and all
    /// calls have ended: those that are still running five seconds later are cancelled.
    ///
    /// On Unix, standard output belongs to the protocol alone while this runs: what the program prints there goes to standard error.
    /// Elsewhere the program must not print to standard output.
    ///
    /// # Errors
    /// Returns an error if the streams fail, or if the first message is not a valid start of the protocol. Returns `E_MISSING_STATE` if a
    /// tool needs [`state`](Self::state) that is missing, and `E_INVALID_TURN_CONTEXT` if the principal is invalid.
    pub async fn serve_stdio(self) -> io::Result<()> {
        let (output, _redirected) = standard_output()?;
        self.serve(tokio::io::stdin(), output).await
    }

    /// Serves one client over a pair of streams, as [`serve_stdio`](Self::serve_stdio) does. A line that is not a message gets an
    /// error as its answer.
    ///
    /// # Errors
    /// See [`serve_stdio`](Self::serve_stdio).
    pub async fn serve<R, W>(self, input: R, output: W) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin,
        W: AsyncWrite + Send + Unpin,
    {
        self.check().map_err(io::Error::other)?;
        let limit = self.limits.request_bytes;
        let server = Arc::new(Server::new(self));
        let (lines, incoming) = mpsc::channel(QUEUE);
        let (outgoing, queue) = mpsc::channel(QUEUE);
        let open = Arc::new(watch::Sender::default());
        let transport = Lines {
            incoming,
            outgoing: Some(outgoing.clone()),
            open: Arc::clone(&open),
        };
        let served = async {
            let served = Box::pin(serve(Handler::new(Arc::clone(&server)), transport)).await;
            server.end().await;
            served
        };
        let reading = async {
            let reader = Reader {
                lines: LineReader::new(input, limit),
                limit,
                open: Arc::clone(&open),
            };
            let read = reader.read(&lines, outgoing).await;
            // `rmcp` stops sending notifications when its input ends. So it ends only after the last call.
            let mut unanswered = open.subscribe();
            let _ = timeout(GRACE, unanswered.wait_for(OpenRequests::is_empty)).await;
            server.stop();
            drop(lines);
            read
        };
        // The reader ends with its input, and the writer with the last message. If the output fails, so do the requests.
        let (served, read, written) = tokio::join!(served, reading, write(output, queue));
        let ended = served.and(read).and(written);
        match ended {
            // The client has left.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            ended => ended,
        }
    }
}

async fn serve(handler: Handler, transport: Lines) -> io::Result<()> {
    match serve_server(handler, transport).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        // The client has left.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// The messages of a pair of streams.
struct Lines {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    /// `None` once the transport was closed.
    outgoing: Option<mpsc::Sender<Outgoing>>,
    open: Open,
}

/// The requests that were not answered yet.
type Open = Arc<watch::Sender<OpenRequests>>;

struct Outgoing {
    line: Vec<u8>,
    written: Option<oneshot::Sender<()>>,
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let line = serde_json::to_vec(&message);
        let outgoing = self.outgoing.clone();
        let open = Arc::clone(&self.open);
        let answers = answered_request(&message).cloned();
        async move {
            let ended = || io::Error::from(io::ErrorKind::BrokenPipe);
            let (written, done) = oneshot::channel();
            let message = Outgoing {
                line: line?,
                written: Some(written),
            };
            let outgoing = outgoing.ok_or_else(ended)?;
            outgoing.send(message).await.map_err(|_| ended())?;
            let done = done.await.map_err(|_| ended());
            if let Some(id) = answers {
                open.send_if_modified(|open| open.answered(&id));
            }
            done
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing = None;
        self.incoming.close();
        Ok(())
    }
}

/// Reads messages.
struct Reader<R> {
    lines: LineReader<R>,
    limit: usize,
    open: Open,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// Reads until the input or the server ends.
    async fn read(
        mut self,
        messages: &mpsc::Sender<ClientJsonRpcMessage>,
        outgoing: mpsc::Sender<Outgoing>,
    ) -> io::Result<()> {
        loop {
            let line = tokio::select! {
                line = self.lines.next() => line?,
                () = messages.closed() => return Ok(()),
                () = outgoing.closed() => return Ok(()),
            };
            let message = match line {
                None => return Ok(()),
                Some(Line::Complete(line)) if line.iter().all(u8::is_ascii_whitespace) => continue,
                Some(Line::Complete(line)) => parse(&line),
                Some(Line::TooLong { .. }) => {
                    let message = format!("The message has more than {} bytes.", self.limit);
                    let error = ErrorData::invalid_request(message, None);
                    Err(error_line(&Value::Null, &error))
                }
            };
            match message {
                Ok(message) => {
                    self.open.send_if_modified(|open| open.received(&message));
                    if messages.send(message).await.is_err() {
                        return Ok(());
                    }
                }
                Err(line) => {
                    let answer = Outgoing {
                        line,
                        written: None,
                    };
                    // The output may have failed.
                    let _ = outgoing.send(answer).await;
                }
            }
        }
    }
}

/// Reads a message. The error is the answer to a line that is not one.
fn parse(line: &[u8]) -> Result<ClientJsonRpcMessage, Vec<u8>> {
    if let Ok(message) = serde_json::from_slice(line) {
        return Ok(message);
    }
    let (id, error) = match serde_json::from_slice::<Value>(line) {
        Err(_) => {
            let message = "The message is not valid JSON.";
            (Value::Null, ErrorData::parse_error(message, None))
        }
        Ok(message) => {
            let id = message
                .get("id")
                .filter(|id| id.is_string() || id.is_number());
            let error = "The message is not a valid JSON-RPC message of the protocol.";
            let error = ErrorData::invalid_request(error, None);
            (id.cloned().unwrap_or_default(), error)
        }
    };
    Err(error_line(&id, &error))
}

/// Returns the answer to something that is not a request.
pub(super) fn error_line(id: &Value, error: &ErrorData) -> Vec<u8> {
    let error = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    error.to_string().into_bytes()
}

/// Writes messages until all senders are gone.
async fn write<W: AsyncWrite + Unpin>(
    mut output: W,
    mut queue: mpsc::Receiver<Outgoing>,
) -> io::Result<()> {
    while let Some(Outgoing { mut line, written }) = queue.recv().await {
        line.push(b'\n');
        output.write_all(&line).await?;
        output.flush().await?;
        if let Some(written) = written {
            // The sender may have stopped waiting.
            let _ = written.send(());
        }
    }
    Ok(())
}

/// Takes the standard output for the protocol. While the second value lives, other output goes to standard error.
#[cfg(unix)]
fn standard_output() -> io::Result<(tokio::fs::File, Redirected)> {
    use rustix::stdio::{dup2_stdout, stderr, stdout};

    let original = rustix::io::fcntl_dupfd_cloexec(stdout(), 3)?;
    let output = original.try_clone()?;
    dup2_stdout(stderr())?;
    let output = tokio::fs::File::from_std(std::fs::File::from(output));
    Ok((output, Redirected(original)))
}

/// Restores the standard output when it is dropped.
#[cfg(unix)]
struct Redirected(std::os::fd::OwnedFd);

#[cfg(unix)]
impl Drop for Redirected {
    fn drop(&mut self) {
        // Nothing can be done about a failure: it stays redirected.
        let _ = rustix::stdio::dup2_stdout(&self.0);
    }
}

#[cfg(not(unix))]
fn standard_output() -> io::Result<(tokio::io::Stdout, ())> {
    Ok((tokio::io::stdout(), ()))
}
