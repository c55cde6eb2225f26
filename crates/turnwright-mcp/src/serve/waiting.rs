//! Calls that wait for the answer of a client without a session.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::{InputRequests, InputRequiredResult, InputResponses};
use serde_json::Value;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};
use turnwright_core::Principal;

use super::call::Running;
use super::gate::{Question, answer_or_refuse};
use super::limits::ServeLimits;
use super::results::new_id;

/// The end of a longer time may be out of range.
const MAX_WAITING: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The calls that wait. Dropping one cancels it.
#[derive(Default)]
pub(super) struct Waiting(Mutex<VecDeque<Entry>>);

struct Entry {
    token: String,
    call: WaitingCall,
    _expiry: Expiry,
}

/// Removes an entry at its deadline, unless it is dropped before.
struct Expiry(AbortHandle);

impl Drop for Expiry {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A call, and what the client was asked.
pub(super) struct WaitingCall {
    /// Who it acts for. Nobody else may answer.
    pub(super) caller: Option<Principal>,
    pub(super) running: Running,
    pub(super) tool: String,
    pub(super) args: Value,
    /// The gate and the question, by the name that the client sees.
    pub(super) asked: BTreeMap<String, (Arc<str>, Question)>,
    /// Until when the client can answer. `None` if it was not asked yet.
    pub(super) deadline: Option<Instant>,
}

impl Waiting {
    /// Keeps a call and returns what the client is asked.
    pub(super) fn put(
        self: &Arc<Self>,
        mut call: WaitingCall,
        limits: &ServeLimits,
    ) -> io::Result<InputRequiredResult> {
        let asked = call.asked.iter();
        let requests = asked.map(|(name, (_, question))| (name.clone(), question.request.clone()));
        let requests: InputRequests = requests.collect();
        let token = new_id()?;
        let new_deadline = || Instant::now() + limits.waiting.min(MAX_WAITING);
        let deadline = *call.deadline.get_or_insert_with(new_deadline);
        let entry = Entry {
            _expiry: self.expire(token.clone(), deadline),
            token: token.clone(),
            call,
        };
        let mut waiting = self.0.lock();
        waiting.push_back(entry);
        let over = waiting.len().saturating_sub(limits.waiting_calls.max(1));
        let dropped: Vec<_> = waiting.drain(..over).collect();
        drop(waiting);
        drop(dropped);
        Ok(InputRequiredResult::new(Some(requests), Some(token)))
    }

    fn expire(self: &Arc<Self>, token: String, deadline: Instant) -> Expiry {
        let waiting = Arc::downgrade(self);
        let expiry = tokio::spawn(async move {
            sleep_until(deadline).await;
            if let Some(waiting) = waiting.upgrade() {
                drop(waiting.take(&token, |_| true));
            }
        });
        Expiry(expiry.abort_handle())
    }

    /// Takes a call that satisfies a condition.
    pub(super) fn take(
        &self,
        token: &str,
        accept: impl FnOnce(&WaitingCall) -> bool,
    ) -> Option<WaitingCall> {
        let mut waiting = self.0.lock();
        let at = waiting.iter().position(|entry| entry.token == token)?;
        if !accept(&waiting.get(at)?.call) {
            return None;
        }
        waiting.remove(at).map(|entry| entry.call)
    }
}

impl WaitingCall {
    /// Gives the answers to the gates. What was not answered, or not in the form of its question, stays asked, until the same
    /// deadline.
    pub(super) fn answer(&mut self, mut responses: InputResponses) {
        let gates = self.running.gates();
        let open = gates.open();
        self.asked.retain(|name, (id, question)| {
            let Some(gate) = open.iter().find(|gate| gate.id == *id) else {
                return false;
            };
            let answer = responses
                .remove(name)
                .and_then(|answer| question.read(answer, self.caller.as_ref()));
            match answer {
                None => true,
                Some(answer) => {
                    answer_or_refuse(gates, gate, answer);
                    false
                }
            }
        });
        if self.asked.is_empty() {
            self.deadline = None;
        }
    }

    /// Adds a question. Gates of the same name get a number.
    pub(super) fn ask(&mut self, name: &str, id: Arc<str>, question: Question) {
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        if let Some(free) = names.find(|name| !self.asked.contains_key(name)) {
            self.asked.insert(free, (id, question));
        }
    }
}
