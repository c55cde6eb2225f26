//! Operations of a turn: storing records, holding the lease, waiting at gates, stopping.

mod budget;
mod lease;
mod media;
mod settings;
mod wait;
mod watch_answers;
mod write;

pub(crate) use budget::CallPermit;
pub(crate) use wait::Asked;
pub(crate) use write::{apply_once, in_time};

use std::any::type_name;
use std::sync::Arc;

use crate::error::{Error, ErrorCode};
use crate::event::{EventKind, Level, LogEntry};
use crate::outcome::{Limit, Stop};
use crate::telemetry;
use crate::tool::context::TurnContext;

impl TurnContext {
    /// Logs a message for operators: a text, or a [`LogEntry`] with a kind and data.
    pub fn log(&self, level: Level, entry: impl Into<LogEntry>) {
        if !self.is_logged(level) {
            return;
        }
        let LogEntry {
            message,
            kind,
            payload,
        } = entry.into();
        telemetry::log(self, level, &message);
        self.emit(|| EventKind::Log {
            level,
            kind,
            message,
            payload,
        });
    }

    /// Emits a [`Warning`](crate::event::EventKind::Warning) event: an operator should look at something, but the turn continues.
    pub fn warn(&self, message: impl Into<String>) {
        if !self.is_logged(Level::Warn) {
            return;
        }
        let message = message.into();
        telemetry::warning(self, &message);
        self.emit(|| EventKind::Warning { message });
    }

    /// Returns whether messages of this level have a receiver. Otherwise they are not formatted.
    fn is_logged(&self, level: Level) -> bool {
        telemetry::is_traced(level) || self.events().is_observed()
    }

    /// Returns a value that an executor or middleware stores for this turn only, by type. It is created on first access and
    /// dropped with the turn. Unlike the stash, it is private to code that knows the type.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use turnwright_core::DispatchContext;
    ///
    /// #[derive(Default)]
    /// struct Asked(AtomicU32);
    ///
    /// let ctx = DispatchContext::standalone();
    /// ctx.turn().per_turn::<Asked>().0.fetch_add(1, Ordering::Relaxed);
    /// assert_eq!(ctx.turn().per_turn::<Asked>().0.load(Ordering::Relaxed), 1);
    /// ```
    #[must_use]
    pub fn per_turn<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.wiring().per_turn()
    }

    /// Returns the value of this type that was given to the runner with [`state`](crate::runner::TurnRunnerBuilder::state).
    ///
    /// ```
    /// use turnwright_core::DispatchContext;
    ///
    /// struct Database(&'static str);
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    ///     ctx.answer(ctx.state::<Database>()?.0).await?;
    ///     Ok(())
    /// })
    /// .state(Database("postgres"))
    /// .build()?;
    /// assert_eq!(runner.run("Which database?").await.text, "postgres");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns `E_MISSING_STATE` if there is none. The model reads that the tool is misconfigured.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, Error> {
        self.setup().state.get().ok_or_else(|| {
            let name = type_name::<T>();
            let message =
                format!("no state of type `{name}`: call `.state(value)` on the runner builder");
            Error::new(ErrorCode::MISSING_STATE, message)
        })
    }

    /// Aborts the turn: nothing more is started, running work is interrupted, and the outcome is `aborted` with this reason. The
    /// first reason counts.
    pub fn abort(&self, reason: impl Into<String>) {
        self.stop(Stop::Aborted(reason.into()));
    }

    /// Ends the turn because it reached a limit.
    pub fn end_at_limit(&self, limit: Limit) {
        self.stop(Stop::Limit(limit));
    }

    /// Ends the turn with an error.
    pub(crate) fn fail(&self, error: Error) {
        self.stop(Stop::Failed(error));
    }

    /// Returns the code for work that is interrupted.
    pub(crate) fn stop_code(&self) -> ErrorCode {
        match self.limits().stopped() {
            Some(Stop::Failed(error)) => error.code(),
            Some(Stop::Limit(_)) => ErrorCode::TURN_LIMIT,
            Some(Stop::Aborted(_)) | None => ErrorCode::TURN_ABORTED,
        }
    }

    fn stop(&self, why: Stop) {
        self.limits().stop(why);
        self.cancellation().cancel();
    }
}
