//! How a dispatch ends: acknowledged or refused, once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::DispatchContext;
use crate::error::{BoxError, Error, ErrorCode};
use crate::panic::drop_quietly;

/// How a dispatch was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signal {
    /// Acknowledged: the work is done.
    Ack,
    /// Refused: see [`DispatchContext::nack_error`].
    Nack,
}

impl Signal {
    /// The name under which it is told.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Signal::Ack => "ack",
            Signal::Nack => "nack",
        }
    }
}

type OnAck = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub(crate) struct Signals(Mutex<State>);

#[derive(Default)]
struct State {
    signal: Option<Signal>,
    error: Option<Error>,
    next: u64,
    on_ack: Vec<(u64, OnAck)>,
}

impl DispatchContext {
    /// Ends the dispatch as done. What waits by [`DispatchContext::on_ack`] has run when this returns.
    ///
    /// # Errors
    /// `E_LLM_EXECUTION_ALREADY_SIGNALLED` if it was ended before: the first signal counts.
    pub fn ack(&self) -> Result<(), Error> {
        let waiting = self.signals().give(Signal::Ack, None)?;
        for (_, run) in waiting {
            // Foreign code: what it does to itself must not keep the others from running.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
                drop_quietly(panic);
            }
        }
        Ok(())
    }

    /// Ends the dispatch as nacked, with any error. The error is for the caller of the turn; the model does not read it.
    /// An error that is not an [`Error`] becomes the source of `E_LLM_EXECUTION_NACKED`.
    ///
    /// # Errors
    /// `E_LLM_EXECUTION_ALREADY_SIGNALLED` if it was ended before: the first signal counts.
    pub fn nack(&self, error: impl Into<BoxError>) -> Result<(), Error> {
        let error = match error.into().downcast::<Error>() {
            Ok(ours) => *ours,
            Err(other) => Error::new(ErrorCode::Nacked, other.to_string()).with_source(other),
        };
        self.signals().give(Signal::Nack, Some(error)).map(drop)
    }

    /// How it was ended, if it was.
    #[must_use]
    pub fn signal(&self) -> Option<Signal> {
        self.signals().0.lock().signal
    }

    /// The error of the nack, if there was one.
    #[must_use]
    pub fn nack_error(&self) -> Option<Error> {
        self.signals().0.lock().error.clone()
    }

    /// The error of a nacked dispatch.
    pub(crate) fn nacked(&self) -> Error {
        let error = self.nack_error();
        error.unwrap_or_else(|| Error::new(ErrorCode::Nacked, "the executor nacked the dispatch"))
    }

    /// Runs `work` inside [`DispatchContext::ack`], unless the guard is dropped before. Never on a nack.
    pub fn on_ack(&self, work: impl FnOnce() + Send + 'static) -> AckGuard {
        let mut state = self.signals().0.lock();
        let key = state.next;
        state.next += 1;
        state.on_ack.push((key, Box::new(work)));
        drop(state);
        AckGuard {
            signals: Some(Arc::downgrade(self.signals())),
            key,
        }
    }

    /// Lets go of what still waits for an acknowledgement: there will be none.
    pub(crate) fn forget_on_ack(&self) {
        let waiting = std::mem::take(&mut self.signals().0.lock().on_ack);
        drop_quietly(waiting);
    }
}

impl Signals {
    fn give(&self, signal: Signal, error: Option<Error>) -> Result<Vec<(u64, OnAck)>, Error> {
        let mut state = self.0.lock();
        if let Some(first) = state.signal {
            let message = format!("the dispatch was ended by {first:?} already");
            return Err(Error::new(ErrorCode::AlreadySignalled, message));
        }
        state.signal = Some(signal);
        state.error = error;
        // Run, or dropped on a nack, by the caller: outside of the lock.
        Ok(std::mem::take(&mut state.on_ack))
    }
}

/// Keeps work waiting for the acknowledgement; dropping it takes the work back.
#[derive(Debug)]
#[must_use = "dropping this takes the work back at once; `keep` it for the life of the dispatch"]
pub struct AckGuard {
    signals: Option<Weak<Signals>>,
    key: u64,
}

impl AckGuard {
    /// Leaves the work waiting for as long as the dispatch lives.
    pub fn keep(mut self) {
        self.signals = None;
    }
}

impl Drop for AckGuard {
    fn drop(&mut self) {
        if let Some(signals) = self.signals.as_ref().and_then(Weak::upgrade) {
            let mut state = signals.0.lock();
            let taken = state
                .on_ack
                .iter()
                .position(|(key, _)| *key == self.key)
                .map(|at| state.on_ack.remove(at));
            drop(state);
            // Dropped here, outside of the lock: what the work captured may use this dispatch.
            drop(taken);
        }
    }
}
