//! The transport to a child process: one JSON-RPC message per line.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::ending::Ending;
use super::line_reader::{Line, LineReader};
use super::raw_results::{RawResults, Unreadable, is_answer};
use crate::process::{Process, ProcessLog};

/// How long a server may take to end after its standard input was closed, and again after it was asked to terminate.
const GRACE: Duration = Duration::from_secs(2);

/// The transport to a child process. Dropping it kills the process.
pub(super) struct Stdio {
    process: Process,
    /// What is to be written, in the order of `send`.
    queue: Arc<parking_lot::Mutex<BytesMut>>,
    /// `None` once the standard input was closed.
    writer: Arc<Mutex<Option<Writer>>>,
    lines: LineReader<ChildStdout>,
    results: RawResults,
    log: ProcessLog,
    ending: Ending,
    limit: usize,
}

/// Writes complete lines.
struct Writer {
    stdin: ChildStdin,
    /// The rest of the lines. The next call writes it, if the call that added it was dropped.
    rest: BytesMut,
}

impl Writer {
    /// Writes these lines, after what is left of earlier ones.
    async fn write(&mut self, lines: BytesMut) -> io::Result<()> {
        match self.rest.is_empty() {
            true => self.rest = lines,
            false => self.rest.extend_from_slice(&lines),
        }
        while self.rest.has_remaining() {
            if self.stdin.write_buf(&mut self.rest).await? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        self.stdin.flush().await
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
        tokio::spawn(log.clone().read(pipes.stderr));
        let writer = Writer {
            stdin: pipes.stdin,
            rest: BytesMut::new(),
        };
        Ok(Stdio {
            process,
            queue: Arc::default(),
            writer: Arc::new(Mutex::new(Some(writer))),
            lines: LineReader::new(pipes.stdout, limit),
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
        let is_answer = is_answer(&message);
        let queued = serde_json::to_vec(&message).map(|line| {
            // `rmcp` polls the futures in any order.
            let mut queue = self.queue.lock();
            queue.extend_from_slice(&line);
            queue.extend_from_slice(b"\n");
        });
        let (queue, writer, results) = (
            Arc::clone(&self.queue),
            Arc::clone(&self.writer),
            self.results.clone(),
        );
        async move {
            queued?;
            let mut writer = writer.lock().await;
            let writer = writer.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            let lines = queue.lock().split();
            writer.write(lines).await?;
            if is_answer {
                results.answer_sent();
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = match self.lines.next().await {
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
            self.writer.lock().await.take();
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
