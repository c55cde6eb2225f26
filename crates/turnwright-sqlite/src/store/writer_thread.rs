//! The writer thread.
//!
//! Waiting batches are committed together, each with its own result. A group that starts a call is flushed to disk
//! before the call runs. Readers have their own connections. SQLite is never called on a thread of the async runtime.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::apply::{Applied, apply};
use super::builder::Durability;
use super::changed::prune_batches;
use super::encode::Encoded;
use super::error::retry_while_busy;
use super::error::{Failure, SqliteErrorKind};
use super::open::Target;

/// The capacity of the queue. When it is full, callers wait (back pressure).
const QUEUE: usize = 256;
/// The maximum number of batches that are committed together.
const TOGETHER: usize = 64;
/// How long emptying the log may block the writer.
const LOG_WAIT: Duration = Duration::from_millis(100);

/// The interval at which the ids of old batches are deleted, in milliseconds.
const PRUNE_EVERY: u64 = 10 * 60 * 1_000;

type Reply<T> = oneshot::Sender<Result<T, Failure>>;
type Work = Box<dyn FnOnce(&mut Writer) + Send>;

enum Job {
    Apply(Pending),
    Work(Work),
    Close(Reply<()>),
}

struct Pending {
    batch: Encoded,
    reply: Reply<u64>,
}

/// A handle to the writer thread.
#[derive(Clone, Debug)]
pub(super) struct WriterHandle(mpsc::Sender<Job>);

impl WriterHandle {
    /// Opens the database on a separate thread.
    pub(super) async fn open(target: Target, durability: Durability) -> Result<Self, Failure> {
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let (reply, opened) = oneshot::channel();
        let run = move || match target.open_writer() {
            Err(failure) => _ = reply.send(Err(failure)),
            Ok(conn) => {
                let writer = Writer {
                    conn,
                    target,
                    durability,
                    flushes: None,
                    pruned_at: None,
                };
                // The caller may be gone; then no work arrives either.
                let _ = reply.send(Ok(()));
                writer.run(waiting);
            }
        };
        let thread = thread::Builder::new().name("turnwright-writer".to_owned());
        thread.spawn(run)?;
        opened
            .await
            .unwrap_or(Err(SqliteErrorKind::Closed.into()))?;
        Ok(WriterHandle(jobs))
    }

    /// Applies a batch. Once it is queued it is applied, even if the caller stops waiting.
    pub(super) async fn apply(&self, batch: Encoded) -> Result<u64, Failure> {
        self.ask(|reply| Job::Apply(Pending { batch, reply })).await
    }

    /// Runs other work with the connection.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Writer) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.ask(|reply| {
            Job::Work(Box::new(move |writer| {
                let done = writer.guarded(work);
                let _ = reply.send(done);
            }))
        })
        .await
    }

    /// Ends the thread after the queued work.
    pub(super) async fn close(&self) -> Result<(), Failure> {
        self.ask(Job::Close).await
    }

    async fn ask<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, Failure> {
        let (reply, answer) = oneshot::channel();
        let sent = self.0.send(job(reply)).await;
        sent.map_err(|_| SqliteErrorKind::Closed)?;
        answer.await.unwrap_or(Err(SqliteErrorKind::Closed.into()))
    }
}

/// The connection that writes.
pub(super) struct Writer {
    pub(super) conn: Connection,
    target: Target,
    durability: Durability,
    /// Whether each commit is flushed to the disk, once that is known.
    flushes: Option<bool>,
    /// When the ids of old batches were last deleted.
    pruned_at: Option<i64>,
}

impl Writer {
    fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        let mut waiting = Vec::new();
        while jobs.blocking_recv_many(&mut waiting, TOGETHER) > 0 {
            let mut group = Vec::new();
            for job in waiting.drain(..) {
                match job {
                    Job::Apply(pending) => group.push(pending),
                    Job::Work(work) => {
                        self.settle(mem::take(&mut group));
                        work(&mut self);
                    }
                    Job::Close(reply) => {
                        self.settle(mem::take(&mut group));
                        // Queued callers notice the end of the thread.
                        let _ = reply.send(self.close());
                        return;
                    }
                }
            }
            self.settle(group);
        }
    }

    /// Moves the log into the file, and closes it.
    fn close(self) -> Result<(), Failure> {
        if !self.target.read_only {
            self.shorten_log();
        }
        self.conn.close().map_err(|(_, error)| error.into())
    }

    /// Moves the log into the file and empties it, unless another connection still needs it: its content is equally
    /// safe there.
    pub(super) fn shorten_log(&self) -> bool {
        let emptied = self.conn.busy_timeout(LOG_WAIT).and_then(|()| {
            self.conn
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        });
        let _ = self.conn.busy_timeout(self.target.busy_timeout);
        // Returns whether another connection was in the way.
        matches!(emptied, Ok(0_i64))
    }

    /// Settles a group of batches, each with its own result.
    fn settle(&mut self, group: Vec<Pending>) {
        if group.is_empty() {
            return;
        }
        let flush = group.iter().any(|entry| entry.batch.begins_a_call());
        let batches: Vec<&Encoded> = group.iter().map(|entry| &entry.batch).collect();
        let answers = match self.guarded(|writer| writer.together(&batches, flush)) {
            Ok(answers) => answers,
            // None of them was committed. One of them may be the cause, so commit each separately.
            Err(failure) if batches.len() > 1 && !failure.is_busy() => {
                let alone = batches.iter().map(|batch| {
                    let flush = batch.begins_a_call();
                    let done = self.guarded(|writer| writer.together(&[batch], flush));
                    done.and_then(|answers| {
                        answers.into_iter().next().unwrap_or(Err(failure.clone()))
                    })
                });
                alone.collect()
            }
            Err(failure) => vec![Err(failure); batches.len()],
        };
        for (pending, answer) in group.into_iter().zip(answers) {
            // The batch was applied even if its caller stopped waiting.
            let _ = pending.reply.send(answer);
        }
    }

    /// Commits batches together. A rejected batch changes nothing, so the others are not affected. An error means
    /// that none of them was committed.
    fn together(&mut self, batches: &[&Encoded], flush: bool) -> Result<Vec<Applied>, Failure> {
        self.begin(flush)?;
        let now = now();
        if self
            .pruned_at
            .is_none_or(|at| now.abs_diff(at) > PRUNE_EVERY)
        {
            prune_batches(&self.conn, now)?;
            self.pruned_at = Some(now);
        }
        let applied = batches.iter().map(|batch| apply(&self.conn, batch, now));
        let verdicts = applied.collect::<Result<Vec<_>, _>>()?;
        if verdicts.iter().any(Result::is_ok) {
            self.commit()?;
        }
        Ok(verdicts)
    }

    /// Begins an exclusive write transaction. [`Writer::commit`] ends it; [`Writer::guarded`] rolls it back after a
    /// failure.
    pub(super) fn begin(&mut self, flush: bool) -> Result<(), Failure> {
        if self.target.read_only {
            return Err(Failure::new(
                SqliteErrorKind::ReadOnly,
                "it was opened with `read_only`",
            ));
        }
        let flush = flush || self.durability == Durability::Always;
        if self.flushes != Some(flush) {
            // Not cached: it takes effect when it is prepared.
            let level = if flush { "full" } else { "normal" };
            self.conn.pragma_update(None, "synchronous", level)?;
            self.flushes = Some(flush);
        }
        // SQLite's own waiting is too coarse for this: see `retry_while_busy`.
        self.conn.busy_timeout(Duration::ZERO)?;
        let begun = retry_while_busy(self.target.busy_timeout, || self.step("BEGIN IMMEDIATE"));
        self.conn.busy_timeout(self.target.busy_timeout)?;
        begun
    }

    pub(super) fn commit(&mut self) -> Result<(), Failure> {
        self.step("COMMIT")
    }

    fn step(&self, sql: &str) -> Result<(), Failure> {
        self.conn.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    /// Runs work and leaves no open transaction, even if it fails or panics.
    fn guarded<T>(
        &mut self,
        work: impl FnOnce(&mut Writer) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let done = catch_unwind(AssertUnwindSafe(|| work(self)));
        if !self.conn.is_autocommit() {
            // If even the rollback fails, the next transaction cannot begin and reports that.
            let _ = self.step("ROLLBACK");
        }
        done.unwrap_or_else(|_| Err(Failure::new(SqliteErrorKind::Other, "the writer panicked")))
    }
}

/// Returns milliseconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
