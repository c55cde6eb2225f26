//! The one thread that writes.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::apply::{Applied, apply};
use super::batch_log;
use super::builder::Durability;
use super::busy_retry::retry_while_busy;
use super::encode::Encoded;
use super::error::{Failure, SqliteErrorKind};
use super::open::Target;

/// Batches that wait for their turn; whoever brings more waits before that.
const QUEUE: usize = 256;
/// The most batches that are committed together.
const TOGETHER: usize = 64;
/// How long the log may keep the writer from its work when it is to be emptied.
const LOG_WAIT: Duration = Duration::from_millis(100);

/// How often the ids of old batches are deleted, in milliseconds.
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

/// Where work for the writer is handed in.
#[derive(Clone, Debug)]
pub(super) struct WriterHandle(mpsc::Sender<Job>);

impl WriterHandle {
    /// Opens the database on a thread of its own.
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
                // Nobody may want it any more: then nobody brings work either.
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

    /// Applies a batch. Once it waits in the queue it is done, whether somebody waits for the answer or not.
    pub(super) async fn apply(&self, batch: Encoded) -> Result<u64, Failure> {
        self.ask(|reply| Job::Apply(Pending { batch, reply })).await
    }

    /// Does something else with the connection.
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

    /// Ends the thread after what was handed in before.
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
    /// Whether each commit is flushed to the disk, once that is set.
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
                        // Whoever waits behind it is told by the end of the thread.
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

    /// Moves the log into the file and empties it, unless somebody else needs it still: what stays in it is as safe there.
    pub(super) fn shorten_log(&self) -> bool {
        let emptied = self.conn.busy_timeout(LOG_WAIT).and_then(|()| {
            self.conn
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        });
        let _ = self.conn.busy_timeout(self.target.busy_timeout);
        // It answers whether somebody was in the way.
        matches!(emptied, Ok(0_i64))
    }

    /// Answers a group of batches, each with its own verdict.
    fn settle(&mut self, group: Vec<Pending>) {
        if group.is_empty() {
            return;
        }
        let flush = group.iter().any(|entry| entry.batch.begins_a_call());
        let batches: Vec<&Encoded> = group.iter().map(|entry| &entry.batch).collect();
        let answers = match self.guarded(|writer| writer.together(&batches, flush)) {
            Ok(answers) => answers,
            // None of them was committed. One of them may be to blame: each by itself, then.
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
            // Whoever stopped waiting has what was asked for all the same.
            let _ = pending.reply.send(answer);
        }
    }

    /// Commits batches together. One that is turned down has changed nothing, so that the others are as if it had not been. An
    /// error says that none of them was committed.
    fn together(&mut self, batches: &[&Encoded], flush: bool) -> Result<Vec<Applied>, Failure> {
        self.begin(flush)?;
        let now = now();
        if self
            .pruned_at
            .is_none_or(|at| now.abs_diff(at) > PRUNE_EVERY)
        {
            batch_log::prune(&self.conn, now)?;
            self.pruned_at = Some(now);
        }
        let applied = batches.iter().map(|batch| apply(&self.conn, batch, now));
        let verdicts = applied.collect::<Result<Vec<_>, _>>()?;
        if verdicts.iter().any(Result::is_ok) {
            self.commit()?;
        }
        Ok(verdicts)
    }

    /// Begins a transaction that nobody else writes beside. [`Writer::commit`] ends it; whatever fails before that is rolled
    /// back by [`Writer::guarded`].
    pub(super) fn begin(&mut self, flush: bool) -> Result<(), Failure> {
        if self.target.read_only {
            return Err(Failure::new(SqliteErrorKind::ReadOnly, "it was opened so"));
        }
        let flush = flush || self.durability == Durability::Always;
        if self.flushes != Some(flush) {
            // Not kept prepared: it takes effect when it is read.
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

    /// Does work after which no transaction is left open, also where it fails or panics.
    fn guarded<T>(
        &mut self,
        work: impl FnOnce(&mut Writer) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let done = catch_unwind(AssertUnwindSafe(|| work(self)));
        if !self.conn.is_autocommit() {
            // If even that fails, the next transaction cannot begin, and says so.
            let _ = self.step("ROLLBACK");
        }
        done.unwrap_or_else(|_| Err(Failure::new(SqliteErrorKind::Other, "the writer panicked")))
    }
}

/// Milliseconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
