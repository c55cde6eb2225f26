//! Invariants that must hold after any script.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use turnwright_core::event::{Event, EventKind};
use turnwright_core::record::Record;
use turnwright_core::record::{CallState, LedgerEntry, RecordKind, ToolResults};
use turnwright_core::runner::Limit;
use turnwright_core::store::ConversationId;
use turnwright_core::store::StoreExt as _;
use turnwright_core::{ToolCall, TurnOutcome, TurnStatus};

use super::events::{Observed, tell};
use super::model::{Came, Expected, Prediction, predict};
use super::play::Played;
use super::script::{Cut, Kind};
use super::world::{Proposed, World};

/// No handler blocks for longer.
const LEFT_BEHIND: Duration = Duration::from_secs(5);

/// How a turn ended, as one word.
pub(super) fn ended(outcome: &TurnOutcome) -> String {
    match &outcome.status {
        TurnStatus::Aborted { reason, .. } => format!("aborted: {reason}"),
        TurnStatus::Nacked(error) => format!("refused: {}", error.message()),
        TurnStatus::Failed(error) => format!("failed: {}", error.code().as_str()),
        TurnStatus::Limit(Limit::Time(_)) => "limit: time".to_owned(),
        TurnStatus::Limit(limit) => format!("limit: {limit}"),
        other => other.as_str().to_owned(),
    }
}

/// Checks a run. Returns the violations.
pub(super) async fn judge(played: Played) -> Vec<String> {
    let Played { world, outcomes } = played;
    for (turn, outcome) in outcomes.iter().enumerate() {
        let observed = tell(&world, turn, outcome.as_ref());
        let stored = world
            .store
            .records(&world.conversation_id(turn))
            .await
            .unwrap();
        let turn = Turn {
            world: &world,
            turn,
            outcome: outcome.as_ref(),
            observed,
            stored: &stored,
            predicted: predict(&world.script, turn),
        };
        turn.judge();
    }
    for turn in 0..outcomes.len() {
        written_once(&world, &world.conversation_id(turn));
    }
    drop(outcomes);
    for (turn, seen) in world.turns.iter().enumerate() {
        seen.heard.lock().clear();
        // A detached blocking handler holds its context until its thread has ended.
        let patience = Instant::now();
        while !seen.is_freed() && patience.elapsed() < LEFT_BEHIND {
            std::thread::yield_now();
        }
        world.check(seen.is_freed(), || format!("turn {turn} is not freed"));
    }
    world.violations()
}

struct Turn<'w> {
    world: &'w World,
    turn: usize,
    outcome: Option<&'w TurnOutcome>,
    observed: Observed,
    stored: &'w [Record],
    predicted: Prediction,
}

impl Turn<'_> {
    fn check(&self, holds: bool, what: impl FnOnce() -> String) {
        self.world
            .check(holds, || format!("turn {}: {}", self.turn, what()));
    }

    fn store_failed(&self) -> bool {
        self.world
            .store
            .failed(&self.world.conversation_id(self.turn))
    }

    /// Whether something external may have changed its course.
    fn is_disturbed(&self) -> bool {
        let seen = &self.world.turns[self.turn];
        let in_time = self
            .outcome
            .is_some_and(|outcome| ended(outcome) != "limit: time");
        seen.token.is_cancelled() || !in_time || self.store_failed()
    }

    fn judge(&self) {
        self.judge_end();
        self.judge_trace();
        if !self.store_failed() {
            self.judge_calls();
        }
        if let Some(outcome) = self.outcome {
            self.judge_outcome(outcome);
        }
        self.judge_stream();
    }

    fn judge_end(&self) {
        let Some(outcome) = self.outcome else {
            return;
        };
        let mut allowed = self.predicted.ends.clone();
        match self.world.script.turns[self.turn].cut {
            Some(Cut::Token(_) | Cut::AtEvent(_)) => {
                allowed.insert("aborted: the turn was cancelled".to_owned());
            }
            Some(Cut::Deadline(_)) => drop(allowed.insert("limit: time".to_owned())),
            Some(Cut::Drop(_)) | None => {}
        }
        if self.store_failed() {
            allowed.insert("failed: E_STORE_ERROR".to_owned());
            // The message of the executor could not be stored.
            allowed.insert("failed: E_LLM_EXECUTION_EXECUTOR_ERROR".to_owned());
        }
        let how = ended(outcome);
        self.check(allowed.contains(&how), || {
            format!("ended `{how}` and not as one of {allowed:?}")
        });
    }

    fn judge_trace(&self) {
        let trace = self.world.turns[self.turn].trace.lock().clone();
        let expected = &self.predicted.trace;
        let fits = if self.is_disturbed() {
            expected.starts_with(&trace)
        } else {
            *expected == trace
        };
        self.check(fits, || format!("went {trace:?} and not {expected:?}"));
    }

    fn calls(&self) -> BTreeMap<&str, &Arc<ToolCall>> {
        let calls = self.stored.iter().filter_map(|record| match record {
            Record::ToolCall(call) => Some((call.id(), call)),
            _ => None,
        });
        calls.collect()
    }

    fn ledger(&self, id: &str) -> Vec<&Arc<LedgerEntry>> {
        let entries = self.stored.iter().filter_map(|record| match record {
            Record::Ledger(entry) if entry.tool_call == id => Some(entry),
            _ => None,
        });
        entries.collect()
    }

    /// Every proposed call has a record, and its content is correct.
    fn judge_calls(&self) {
        let calls = self.calls();
        let proposed = self.world.turns[self.turn].proposed.lock().clone();
        for asked in &proposed {
            match calls.get(&*asked.id) {
                Some(call) => self.judge_call(asked, call),
                None => self.check(false, || format!("no record of {asked:?}")),
            }
        }
        for id in self.observed.started.keys() {
            let known = proposed.iter().any(|asked| asked.id == *id);
            self.check(known, || format!("{id} ran and was not proposed"));
        }
        let order = self.stored.iter().map(Record::id);
        let top: Vec<&str> = proposed
            .iter()
            .filter(|asked| asked.call.is_some())
            .map(|asked| &*asked.id)
            .collect();
        let held: Vec<&str> = order.filter(|id| top.contains(id)).collect();
        self.check(held == top, || {
            format!("proposed {top:?} and recorded {held:?}")
        });
    }

    fn judge_call(&self, asked: &Proposed, call: &ToolCall) {
        let id = &*asked.id;
        self.check(call.is_complete(), || format!("{id} is left open"));
        let loose = self.is_disturbed() || self.predicted.loose.contains(&asked.iteration);
        let code = self.observed.started.get(id);
        let came = match call.results() {
            ToolResults::Refusal(_) => Came::Refusal,
            ToolResults::Failure(_) => Came::Failure,
            _ if call.is_inline() => Came::Inline,
            _ => Came::Handle,
        };
        let truthful = match (came, code) {
            (Came::Refusal, code) => code.is_none(),
            (Came::Failure, Some(code)) => code.is_some() || loose,
            (Came::Inline | Came::Handle, Some(code)) => code.is_none(),
            (_, None) => false,
        };
        self.check(truthful, || {
            format!(
                "{id} {:?} is recorded as {came:?}, reported {code:?}",
                asked.call
            )
        });
        let entries = self.ledger(id);
        let state = entries.first().map(|entry| entry.state);
        let fits = match (state, code) {
            _ if entries.len() > 1 => false,
            (Some(CallState::Started), _) => false,
            (None | Some(CallState::Failed), None) => true,
            (_, None) => false,
            (None, Some(_)) => self.reads_only(asked),
            (Some(CallState::Unknown), Some(_)) if loose => true,
            (state, Some(None)) => state == Some(CallState::Done),
            (state, Some(Some("E_TOOL_DOWNSTREAM_ERROR"))) => state == Some(CallState::Failed),
            (state, Some(Some(_))) => state == Some(CallState::Unknown),
        };
        self.check(fits, || {
            format!(
                "{id} {:?} has ledger {entries:?}, reported {code:?}",
                asked.call
            )
        });
        let ran = self.world.turns[self.turn].ran.lock();
        if let Some((_, args)) = ran.iter().find(|(ran, _)| ran == id) {
            let edited = call.edited_args();
            let raw = call.args().text().map(str::to_owned);
            let shown = edited.map(ToString::to_string).or(raw);
            let shown = shown.and_then(|text| serde_json::from_str(&text).ok());
            let nested = asked.call.is_none();
            self.check(nested || shown.as_ref() == Some(args), || {
                format!("{id} ran with {args} and is recorded with {shown:?}")
            });
        }
        drop(ran);
        if let Some(expected) = self.expected(asked).filter(|_| !loose) {
            let found = Expected {
                result: came,
                ledger: state,
                edited: call.edited_args().cloned(),
            };
            self.check(found == expected, || {
                format!("{id} {:?} came to {found:?}, not {expected:?}", asked.call)
            });
        }
    }

    fn expected(&self, asked: &Proposed) -> Option<Expected> {
        let script = &self.world.script;
        let call = asked.call?;
        Some(call.expected(script, &script.turns[self.turn]))
    }

    fn reads_only(&self, asked: &Proposed) -> bool {
        use Kind::*;
        let reads = |kind: Kind| {
            kind.ends()
                || matches!(
                    kind,
                    Look | StuckLook | Large | Never | Gate(_) | CallsOne | CallsTwo | Own
                )
        };
        asked.call.is_some_and(|call| reads(call.tool))
    }

    /// The outcome matches the store.
    fn judge_outcome(&self, outcome: &TurnOutcome) {
        let returned: Vec<String> = outcome.records.iter().map(shown).collect();
        let ids: BTreeSet<(RecordKind, &str)> = outcome
            .records
            .iter()
            .map(|record| (record.kind(), record.id()))
            .collect();
        self.check(ids.len() == returned.len(), || "a record twice".to_owned());
        let mine = |record: &&Record| {
            if self.world.script.shared {
                ids.contains(&(record.kind(), record.id()))
            } else {
                !record.kind().is_bookkeeping()
            }
        };
        let held: Vec<String> = self.stored.iter().filter(mine).map(shown).collect();
        // The next turn of its conversation has closed what it could not write.
        let conversation_id = ConversationId::new(Arc::clone(&outcome.conversation));
        let closed_since = self.world.script.shared && self.world.store.failed(&conversation_id);
        self.check(returned == held || closed_since, || {
            format!("the outcome says {returned:#?}, the store holds {held:#?}")
        });
        let words = outcome.messages().filter(|message| message.text() != "go");
        let last = words.last().map_or("", |message| message.text());
        self.check(outcome.text == last, || {
            format!("the outcome says {:?}, not {last:?}", outcome.text)
        });
    }

    /// The pieces that a reader received are the texts that were stored, and each record came once.
    fn judge_stream(&self) {
        let seen = &self.world.turns[self.turn];
        if !seen.heard_all.load(Ordering::SeqCst) {
            return;
        }
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        let mut records: Vec<String> = Vec::new();
        let mut begun: BTreeSet<String> = BTreeSet::new();
        let heard = seen.heard.lock();
        let names: Vec<&str> = heard.iter().map(Event::name).collect();
        let framed = names.first() == Some(&"turnStart")
            && names.iter().position(|name| *name == "turnEnd") == Some(names.len() - 1);
        self.check(framed, || format!("heard {names:?}"));
        for event in heard.iter() {
            match &event.kind {
                EventKind::TurnStart { .. } | EventKind::TurnEnd { .. } => {}
                EventKind::MessageDelta(delta) | EventKind::ThoughtDelta(delta) => {
                    let text = texts.entry(delta.id.to_string()).or_default();
                    self.check(text.len() == delta.offset, || {
                        format!("{delta:?} comes after {} bytes", text.len())
                    });
                    text.push_str(&delta.text);
                }
                EventKind::Message(record) => {
                    records.push(shown(&Record::Message(Arc::clone(record))));
                }
                EventKind::Thought(record) => {
                    records.push(shown(&Record::Thought(Arc::clone(record))));
                }
                EventKind::ToolCall(record) => {
                    records.push(shown(&Record::ToolCall(Arc::clone(record))));
                }
                EventKind::GateOpened(gate) => {
                    let first = begun.insert(gate.id.to_string());
                    self.check(first, || format!("{} is opened twice", gate.id));
                }
                EventKind::GateClosed { id, .. } => {
                    self.check(begun.contains(&**id), || format!("{id} is closed"));
                }
                EventKind::ToolExecutionStart { id, .. } => {
                    let first = begun.insert(id.to_string());
                    self.check(first, || format!("{id} begins twice"));
                }
                other => self.check(false, || format!("heard {other:?}")),
            }
        }
        let unique: BTreeSet<&String> = records.iter().collect();
        self.check(unique.len() == records.len(), || {
            format!("heard twice: {records:?}")
        });
        for record in self.stored {
            let text = match record {
                Record::Message(message) => message.text(),
                Record::Thought(thought) => thought.text(),
                _ => continue,
            };
            let Some(heard) = texts.get(record.id()) else {
                continue;
            };
            let full = if self.is_disturbed() {
                text.starts_with(&**heard)
            } else {
                text == heard
            };
            self.check(full, || format!("heard {heard:?} of {text:?}"));
        }
        if let Some(outcome) = self.outcome.filter(|_| !self.is_disturbed()) {
            // A cancelled turn does not wait for readers.
            let stopped = matches!(outcome.status, TurnStatus::Aborted { .. });
            let stored = outcome.records.iter().filter(
                |record| !matches!(record, Record::Message(message) if message.text() == "go"),
            );
            let stored: BTreeSet<String> = stored.map(shown).collect();
            let heard: BTreeSet<String> = records.into_iter().collect();
            let fits = if stopped {
                heard.is_subset(&stored)
            } else {
                heard == stored
            };
            self.check(fits, || format!("heard {heard:#?}, stored {stored:#?}"));
        }
    }
}

/// The parts of a record that must be the same wherever it is found.
fn shown(record: &Record) -> String {
    let (kind, id) = (record.kind(), record.id());
    match record {
        Record::Message(message) => format!("{kind} {id} {:?}", message.text()),
        Record::Thought(thought) => format!("{kind} {id} {:?}", thought.text()),
        Record::ToolCall(call) => format!(
            "{kind} {id} {} {:?} {:?} {} {:?}",
            call.tool(),
            call.results(),
            call.edited_args(),
            call.is_inline(),
            call.completed_at(),
        ),
        other => format!("{kind} {other:?}"),
    }
}

/// A call is opened once and closed once, in this order. The same is true for a ledger entry.
fn written_once(world: &World, conversation_id: &ConversationId) {
    let mut so_far: BTreeMap<(RecordKind, String), Vec<bool>> = BTreeMap::new();
    for put in world.store.puts(conversation_id) {
        so_far
            .entry((put.kind, put.id))
            .or_default()
            .push(put.ended);
    }
    for ((kind, id), puts) in so_far {
        let ledger = kind == RecordKind::Ledger;
        let fits = match &*puts {
            _ if world.store.failed(conversation_id) => true,
            // A turn, its gates and its lease are written whenever something changes.
            _ if kind.is_bookkeeping() && !ledger => true,
            [true] => !ledger,
            [false, true] => true,
            _ => false,
        };
        world.check(fits, || format!("{kind} {id} was written as {puts:?}"));
    }
}
