//! The transport to a child process: one JSON-RPC message per line.

use std::io;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::failure::Ending;
use super::line_reader::{Line, LineReader};
use super::raw_results::{RawResults, Unreadable, is_response};
use crate::process::{Process, ProcessLog};

/// How long a server may take to end after its standard input was closed, and again after it was asked to terminate.
const GRACE: Duration = Duration::from_secs(2);

/// The transport to a child process. Dropping it kills the process.
pub(super) struct Stdio {
    process: Process,
    /// Lines to write. `None` once the standard input was closed.
    writer: Option<mpsc::UnboundedSender<Outgoing>>,
    /// Whether the server has closed its standard input.
    broken: watch::Sender<bool>,
    lines: LineReader<ChildStdout>,
    /// Reads the standard error into the log.
    errors: JoinHandle<()>,
    results: RawResults,
    log: ProcessLog,
    ending: Ending,
    limit: usize,
}

/// A line, and what is told whether it was written.
type Outgoing = (Vec<u8>, oneshot::Sender<io::Result<()>>);

/// Writes lines until there are no more. In its own task: a call that is dropped must not leave a part of its line.
async fn write(mut stdin: ChildStdin, mut lines: mpsc::UnboundedReceiver<Outgoing>) {
    while let Some((line, written)) = lines.recv().await {
        let wrote = async {
            stdin.write_all(&line).await?;
            stdin.flush().await
        };
        // The call may have been dropped.
        let _ = written.send(wrote.await);
    }
}

impl Stdio {
    /// Creates the transport of a process that was just started.
    pub(super) fn new(
        mut process: Process,
        results: RawResults,
        log: ProcessLog,
        ending: Ending,
        limit: usize,
    ) -> io::Result<Self> {
        let pipes = process.pipes();
        let pipes = pipes.ok_or_else(|| io::Error::other("the process has no pipes"))?;
        log.hide(process.redactor());
        let (writer, lines) = mpsc::unbounded_channel();
        tokio::spawn(write(pipes.stdin, lines));
        Ok(Stdio {
            process,
            writer: Some(writer),
            broken: watch::Sender::new(false),
            lines: LineReader::new(pipes.stdout, limit),
            errors: tokio::spawn(log.clone().read(pipes.stderr)),
            results,
            log,
            ending,
            limit,
        })
    }

    /// Reads one line. `None` if there is nothing for `rmcp` in it.
    fn read(&self, line: &Line) -> Result<Option<RxJsonRpcMessage<RoleClient>>, String> {
        let unreadable = match line {
            Line::Complete(text) if text.iter().all(u8::is_ascii_whitespace) => return Ok(None),
            Line::Complete(text) => match self.results.read(text) {
                Ok(message) => return Ok(Some(message)),
                Err(unreadable) => {
                    // Programs print to standard output by mistake.
                    self.log
                        .add(text.get(..text.len().min(500)).unwrap_or_default());
                    self.log.add(b"\n");
                    unreadable
                }
            },
            Line::TooLong { head, tail } => {
                let answers = self.results.answered_by(head, tail);
                let why = format!("it has more than {} bytes", self.limit);
                if answers.is_none() {
                    return Err(format!("the server sent an unexpected message: {why}"));
                }
                Unreadable { why, answers }
            }
        };
        Ok(unreadable.into_error())
    }

    /// Notes why the server has ended, if that is not known yet.
    async fn note_end(&mut self) {
        let status = match timeout(GRACE, self.process.wait()).await {
            Ok(Ok(status)) => format!("the server ended ({status})"),
            Ok(Err(_)) | Err(_) => "the server closed its standard output".to_owned(),
        };
        // What the server wrote last may not be read yet. Its children may keep the pipe open.
        let _ = timeout(GRACE, &mut self.errors).await;
        let last = self.log.last_line();
        self.ending.set(match last {
            Some(line) => format!("{status}; its last output was: {line}"),
            None => status,
        });
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.results.expect(&message);
        let (written, done) = oneshot::channel();
        // At once: `rmcp` polls the futures in any order.
        let queued = serde_json::to_vec(&message).map(|mut line| {
            line.push(b'\n');
            let writer = self.writer.as_ref()?;
            writer.send((line, written)).ok()
        });
        let (results, broken) = (self.results.clone(), self.broken.clone());
        async move {
            queued?.ok_or(io::ErrorKind::BrokenPipe)?;
            match done.await {
                Ok(Ok(())) if is_response(&message) => results.response_sent(),
                Ok(Err(error)) => {
                    // The server has not got the complete line. `receive` says why it has ended.
                    results.not_sent(&message, &format!("the server does not read: {error}"));
                    broken.send_replace(true);
                }
                _ => {}
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let mut broken = self.broken.subscribe();
            let gone = async {
                // The sender is in `self`.
                let _ = broken.wait_for(|broken| *broken).await;
                // There may be lines that it wrote before.
                sleep(GRACE).await;
            };
            let line = tokio::select! {
                line = self.lines.next() => line,
                () = gone => Ok(None),
            };
            let line = match line {
                Ok(Some(line)) => line,
                Ok(None) => {
                    self.note_end().await;
                    return None;
                }
                Err(error) => {
                    self.ending
                        .set(format!("the server cannot be read: {error}"));
                    return None;
                }
            };
            let read = self.read(&line);
            match self.results.flooded().map_or(read, Err) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(why) => {
                    self.ending.set(why);
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        let end = async {
            // Closes the standard input, after which the server should end.
            self.writer = None;
            self.process.wait().await
        };
        if timeout(GRACE, end).await.is_err() {
            self.process.terminate();
            let _ = timeout(GRACE, self.process.wait()).await;
        }
        // The server may have left processes behind.
        self.process.kill();
        Ok(())
    }
}
