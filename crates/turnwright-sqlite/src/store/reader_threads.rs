//! The reader threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::decode::Wanted;
use super::error::{Failure, SqliteErrorKind};
use super::open::Target;

/// The capacity of the queue. When it is full, callers wait (back pressure).
const QUEUE: usize = 256;
/// The number of reader threads, each with its own connection.
const THREADS: usize = 4;

type Job = Box<dyn FnOnce(&mut Reader) + Send>;

/// A fixed number of threads, each with its own connection.
#[derive(Debug)]
pub(super) struct Readers(mpsc::Sender<Job>);

impl Readers {
    /// Starts the threads. Each opens its connection on first use.
    pub(super) fn start(target: &Target) -> Result<Self, Failure> {
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..THREADS {
            let waiting = Arc::clone(&waiting);
            let reader = Reader {
                target: target.clone(),
                conn: None,
                closed: false,
            };
            let thread = thread::Builder::new().name("turnwright-reader".to_owned());
            thread.spawn(move || reader.run(&waiting))?;
        }
        Ok(Readers(jobs))
    }

    /// Reads on one of the threads. Skips work whose caller no longer waits; long work checks this too.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection, Wanted<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.run(move |reader, wanted| work(reader.conn()?, wanted))
            .await
    }

    /// Runs blocking work that needs no connection on one of the threads.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.run(|_, _| work()).await
    }

    /// Ends all threads after the queued work.
    pub(super) async fn close(&self) -> Result<(), Failure> {
        for _ in 0..THREADS {
            self.run(|reader, _| {
                (reader.conn, reader.closed) = (None, true);
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Reader, Wanted<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |reader| {
            if reply.is_closed() {
                return;
            }
            let done = catch_unwind(AssertUnwindSafe(|| work(reader, &|| !reply.is_closed())));
            let panicked = |_| Err(Failure::new(SqliteErrorKind::Other, "a reader panicked"));
            let _ = reply.send(done.unwrap_or_else(panicked));
        });
        self.0
            .send(job)
            .await
            .map_err(|_| SqliteErrorKind::Closed)?;
        answer.await.unwrap_or(Err(SqliteErrorKind::Closed.into()))
    }
}

struct Reader {
    target: Target,
    conn: Option<Connection>,
    closed: bool,
}

impl Reader {
    fn run(mut self, jobs: &Mutex<mpsc::Receiver<Job>>) {
        while !self.closed {
            // One thread waits for work, the others wait for the lock.
            let job = {
                let mut jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
                jobs.blocking_recv()
            };
            match job {
                Some(job) => job(&mut self),
                None => return,
            }
        }
    }

    fn conn(&mut self) -> Result<&mut Connection, Failure> {
        match &mut self.conn {
            Some(conn) => Ok(conn),
            none => Ok(none.insert(self.target.open_reader()?)),
        }
    }
}
