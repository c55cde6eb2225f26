//! The properties that must hold once all turns have ended, whatever happened before.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::AddAssign;
use std::time::Duration;

use serde_json::Value;
use turnwright_core::ToolCall;
use turnwright_core::record::Record;
use turnwright_core::record::{
    Author, CallState, GateKind, GateRecord, GateState, LedgerEntry, RecordKind, TurnState,
};
use turnwright_core::store::{ConversationId, Query, Store as _, StoreExt as _};
use turnwright_sqlite::SqliteStore;

use super::case::Case;
use super::child::open;
use super::journal::{Noted, effects, lines, noted};
use super::script::{Planned, TURNS};
use super::tools::{READERS, RECONCILABLE, is_large, result, signature};
use super::watched::digest;

/// Counters of what was observed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) cases: u32,
    pub(crate) kills: u32,
    pub(crate) turns: u32,
    /// How often turns were resumed.
    pub(crate) resumes: u32,
    pub(crate) effects: u32,
    pub(crate) unknown: u32,
    /// Unknown calls that had taken effect.
    pub(crate) unknown_effects: u32,
    /// Read-only calls that had to run again.
    pub(crate) read_again: u32,
    /// Gates that were opened again.
    pub(crate) waited_again: u32,
    /// Records whose write was acknowledged.
    pub(crate) acknowledged: u32,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.cases += other.cases;
        self.kills += other.kills;
        self.turns += other.turns;
        self.resumes += other.resumes;
        self.effects += other.effects;
        self.unknown += other.unknown;
        self.unknown_effects += other.unknown_effects;
        self.read_again += other.read_again;
        self.waited_again += other.waited_again;
        self.acknowledged += other.acknowledged;
    }
}

struct Judge {
    store: SqliteStore,
    noted: Vec<Noted>,
    effects: Vec<String>,
    /// The ledger entries of all conversations.
    ledger: BTreeMap<String, CallState>,
    /// The processes that were cut off.
    cut_off: BTreeSet<u32>,
    kills: u32,
    tally: Tally,
}

pub(crate) async fn judge(case: &Case) -> Tally {
    let (store, _) = open(case.folder()).await;
    store.integrity_check().await.unwrap();
    let noted = noted(case.folder());
    let cut_off = noted.iter().filter(|item| item.what == "cut off");
    let mut judge = Judge {
        store,
        cut_off: cut_off.map(|item| item.life).collect(),
        noted,
        effects: lines(&effects(case.folder())),
        ledger: BTreeMap::new(),
        kills: case.kills,
        tally: Tally::default(),
    };
    judge.acknowledged().await;
    judge.swept().await;
    judge.effects_are_single();
    let all = TURNS.iter().map(Planned::conversation);
    let played = all.filter(|item| case.only.as_deref().is_none_or(|only| only == *item));
    for conversation in played.collect::<BTreeSet<_>>() {
        judge.conversation(conversation).await;
    }
    judge.effects_are_accounted_for();
    judge.store.close().await.unwrap();
    judge.tally.cases = 1;
    judge.tally.kills = case.kills;
    judge.tally.effects = judge.effects.len() as u32;
    judge.tally
}

/// What is known about one record: the last acknowledged state, and later attempts.
#[derive(Default)]
struct Known<'n> {
    /// With its revision: a stopped process may receive an acknowledgement after another process has written.
    acknowledged: Option<(u64, &'n str)>,
    tried: Vec<&'n str>,
}

impl Judge {
    /// Acknowledged records are unchanged, unless another write was in flight when the process was killed.
    async fn acknowledged(&mut self) {
        let mut known: BTreeMap<(&str, &str, &str), Known<'_>> = BTreeMap::new();
        let mut revisions: BTreeMap<&str, BTreeMap<u64, u32>> = BTreeMap::new();
        for item in &self.noted {
            if !matches!(item.what.as_str(), "try" | "ack" | "refused") {
                continue;
            }
            let digest = item.field(4);
            let key = (item.field(0), item.field(1), item.field(2));
            let known = known.entry(key).or_default();
            match item.what.as_str() {
                "try" => known.tried.push(digest),
                "ack" => {
                    let revision = item.field(5).parse().unwrap();
                    let later = known.acknowledged.is_some_and(|(last, _)| last > revision);
                    if later {
                        known.tried.retain(|tried| *tried != digest);
                    } else {
                        known.acknowledged = Some((revision, digest));
                        known.tried.clear();
                    }
                    let for_conversation = revisions.entry(item.field(0)).or_default();
                    let first = *for_conversation.entry(revision).or_insert(item.life);
                    assert_eq!(first, item.life, "two batches with one revision: {item:?}");
                }
                _ => known.tried.retain(|tried| *tried != digest),
            }
        }
        let mut count = 0;
        for ((conversation_id, kind, id), known) in known {
            let kind = RecordKind::from_name(kind).unwrap();
            let found = self
                .store
                .get(&ConversationId::new(conversation_id), kind, id)
                .await
                .unwrap();
            let found = found.as_ref().map(digest).unwrap_or_default();
            let acknowledged = known.acknowledged.map_or("", |(_, digest)| digest);
            count += u32::from(known.acknowledged.is_some());
            assert!(
                found == acknowledged || known.tried.contains(&&*found),
                "{conversation_id} {kind:?} {id}: {acknowledged} was acknowledged, {found} is stored"
            );
        }
        for (conversation_id, acknowledged) in revisions {
            let (conversation_id, nothing) =
                (ConversationId::new(conversation_id), Query::all().limit(0));
            let last = self.store.load(&conversation_id, &nothing).await.unwrap();
            let last = last.revision.0;
            let unheard = last - acknowledged.len() as u64;
            // One batch per conversation may be in flight when its process is killed.
            assert!(
                unheard <= u64::from(self.kills),
                "{conversation_id}: {unheard}"
            );
        }
        self.tally.acknowledged = count;
    }

    /// Unreferenced bytes can be deleted without losing anything.
    async fn swept(&self) {
        self.store.delete_orphans(Duration::ZERO).await.unwrap();
        self.store.delete_orphans(Duration::ZERO).await.unwrap();
    }

    fn effects_are_accounted_for(&self) {
        for key in &self.effects {
            let state = self.ledger.get(key);
            let accounted = matches!(state, Some(CallState::Done | CallState::Unknown));
            assert!(
                accounted,
                "{key} took effect, and the ledger says {state:?}"
            );
        }
    }

    fn effects_are_single(&self) {
        let once: BTreeSet<&String> = self.effects.iter().collect();
        assert_eq!(
            once.len(),
            self.effects.len(),
            "an effect came twice: {:#?}",
            self.effects
        );
    }

    async fn conversation(&mut self, conversation: &str) {
        let conversation_id = ConversationId::new(conversation);
        let planned = TURNS
            .iter()
            .filter(|item| item.conversation() == conversation);
        let planned: Vec<&Planned> = planned.collect();
        self.turns(&conversation_id, &planned).await;
        let calls = self.store.tool_calls(&conversation_id).await.unwrap();
        let ledger = self.store.ledger(&conversation_id).await.unwrap();
        let mut lines: HashMap<&str, &LedgerEntry> = HashMap::new();
        for line in &ledger {
            let twice = lines.insert(&line.tool_call, line);
            assert!(twice.is_none(), "two lines of one call: {line:?}");
        }
        let expected = planned.iter().flat_map(|item| item.rounds.iter().copied());
        let expected: Vec<&(&str, &str)> = expected.flatten().collect();
        let tools: Vec<&str> = calls.iter().map(|call| call.tool()).collect();
        let names: Vec<&str> = expected.iter().map(|(tool, _)| *tool).collect();
        assert_eq!(tools, names, "{conversation}");
        for (call, (_, args)) in calls.iter().zip(expected) {
            let args: Value = serde_json::from_str(args).unwrap();
            let line = lines.remove(call.id());
            self.call(call, line, &args["n"]).await;
        }
        assert!(lines.is_empty(), "lines of no call: {lines:?}");
        self.ledger
            .extend(ledger.iter().map(|line| (line.id().to_owned(), line.state)));
        self.gates(&conversation_id, &planned).await;
    }

    async fn turns(&mut self, conversation_id: &ConversationId, planned: &[&Planned]) {
        let turns = self.store.turns(conversation_id).await.unwrap();
        let ids: Vec<&str> = turns.iter().map(|turn| turn.id()).collect();
        let names: Vec<&str> = planned.iter().map(|item| item.turn).collect();
        assert_eq!(ids, names);
        for turn in turns {
            assert_eq!(turn.state, TurnState::Answered, "{turn:?}");
            assert!(turn.error.is_none() && turn.ended_at.is_some());
            self.tally.turns += 1;
            self.tally.resumes += turn.runs - 1;
            self.ends_once(turn.id());
        }
        let output = self.store.messages(conversation_id).await.unwrap();
        let output = output
            .iter()
            .map(|item| (item.author().clone(), item.text()));
        let output: Vec<(Author, String)> =
            output.map(|(by, text)| (by, text.to_owned())).collect();
        let expected = planned.iter().flat_map(|item| {
            let asked = (Author::User, item.question());
            [asked, (Author::Assistant, item.answer())]
        });
        assert_eq!(output, expected.collect::<Vec<_>>());
        let lease = self.store.lease(conversation_id).await.unwrap().unwrap();
        assert_eq!(lease.turn_id, None, "{lease:?}");
    }

    /// After a turn is recorded as answered, nothing more is written for it.
    fn ends_once(&self, turn: &str) {
        let of_turn =
            |item: &&Noted| item.what == "ack" && item.field(1) == "turn" && item.field(2) == turn;
        let mut states = self.noted.iter().filter(of_turn).map(|item| item.field(3));
        states.find(|state| *state == "answered");
        let after: Vec<&str> = states.collect();
        assert!(
            after.is_empty(),
            "{turn} continued after its end: {after:?}"
        );
    }

    async fn call(&mut self, call: &ToolCall, line: Option<&LedgerEntry>, n: &Value) {
        let tool = call.tool();
        assert!(call.is_complete() && !call.is_cut_off(), "{call:?}");
        let of_call = |what: &'static str| {
            let id = call.id();
            let starts = self.noted.iter();
            starts.filter(move |item| item.what == what && item.field(1) == id)
        };
        let starts = of_call("start").count();
        let reported = match call.results() {
            turnwright_core::record::ToolResults::Failure(reported) => Some(reported),
            turnwright_core::record::ToolResults::Refusal(reported) => panic!("{tool}: {reported}"),
            _ => None,
        };
        if READERS.contains(&tool) {
            assert!(line.is_none() && reported.is_none(), "{tool}: {reported:?}");
            let ends = of_call("end").count();
            self.tally.read_again += u32::from(starts > 1);
            // Calls of artifact tools have no journal entries.
            assert!(tool.starts_with("artifact_") || ends > 0, "{tool}");
            return self.has_its_result(call, n).await;
        }
        let line = line.unwrap_or_else(|| panic!("no ledger entry for {tool}"));
        let key = line.id();
        let took_effect = self.effects.iter().any(|item| item == key);
        match line.state {
            CallState::Done => {
                assert!(took_effect && reported.is_none(), "{key}: {reported:?}");
                self.has_its_result(call, n).await;
            }
            CallState::Unknown => {
                assert!(!RECONCILABLE.contains(&tool), "{key} could be reconciled");
                let reported = reported.map(String::as_str).unwrap_or_default();
                assert!(
                    reported.contains("may or may not have taken effect"),
                    "{reported}"
                );
                assert!(self.was_cut_off(key), "{key} was not running at a kill");
                self.tally.unknown += 1;
                self.tally.unknown_effects += u32::from(took_effect);
            }
            state => panic!("{key} is {state:?}: {reported:?}"),
        }
        if !RECONCILABLE.contains(&tool) {
            assert!(starts <= 1, "{key} was started {starts} times");
        }
    }

    /// The result of a call is what its tool returned, and can be read.
    async fn has_its_result(&self, call: &ToolCall, n: &Value) {
        let tool = call.tool();
        assert_eq!(call.handles().is_empty(), !is_large(tool), "{tool}");
        let text = match call.handles() {
            [artifact] => artifact.as_text().await.unwrap().text,
            _ => call.text().await.unwrap(),
        };
        let mut expected = result(tool, n);
        if is_large(tool) {
            expected.push_str(&signature(self.closed_by(call)));
        }
        if tool.starts_with("artifact_") {
            // A hint on how to read on may follow.
            assert!(text.starts_with(&expected), "{tool}: {text}");
        } else {
            assert_eq!(text, expected);
        }
    }

    /// Returns the process that stored the result of a call.
    fn closed_by(&self, call: &ToolCall) -> u32 {
        let closed = |what: &'static str| {
            let lines = self.noted.iter().filter(move |item| {
                item.what == what && item.field(1) == "tool_call" && item.field(2) == call.id()
            });
            lines.filter(|item| item.field(3) == "closed").last()
        };
        closed("ack").or_else(|| closed("try")).unwrap().life
    }

    /// Returns `true` if a process was cut off after it tried to record the begin of this call, and before the end
    /// was acknowledged.
    fn was_cut_off(&self, key: &str) -> bool {
        let of = |what: &'static str, state: fn(&str) -> bool| {
            let lines = self.noted.iter().filter(move |item| {
                item.what == what
                    && item.field(1) == "ledger"
                    && item.field(2) == key
                    && state(item.field(3))
            });
            lines.map(|item| item.life).collect::<BTreeSet<u32>>()
        };
        let begun = of("try", |state| state == "started");
        let ended = of("ack", |state| state == "done");
        begun
            .iter()
            .any(|life| self.cut_off.contains(life) && !ended.contains(life))
    }

    async fn gates(&mut self, conversation_id: &ConversationId, planned: &[&Planned]) {
        let gates = self.store.gates(conversation_id).await.unwrap();
        let conversation = conversation_id.as_str();
        let writes = conversation == "confirms";
        for gate in &gates {
            let answered = matches!(gate.state, GateState::Answered(_));
            // A handler that may have written is not run again, so its gates are not opened again.
            let given_up = writes && gate.state == GateState::Unanswered;
            let state = Record::from(gate.clone()).to_value().unwrap();
            assert!(answered || given_up, "{state}");
            if !writes {
                self.is_opened_again(gate);
            }
        }
        let unknown = gates
            .iter()
            .filter(|item| item.kind == GateKind::UnknownCall);
        let found_out = unknown.count();
        assert!(found_out == 0 || conversation == "wire");
        let expected: usize = planned.iter().map(|item| item.gates).sum();
        let known = gates.len() - found_out;
        if writes {
            // It may have been cut off before it reached the gate.
            assert!(known <= expected);
        } else {
            assert_eq!(known, expected, "{conversation}: {gates:?}");
        }
    }

    /// A gate that was open when a process was killed is opened again under the same id.
    fn is_opened_again(&mut self, gate: &GateRecord) {
        for life in self.cut_off.clone() {
            let of_gate = |item: &&Noted| item.field(1) == "gate" && item.field(2) == gate.id();
            let in_life = |what: &'static str| {
                let lines = self.noted.iter();
                let lines = lines.filter(move |item| item.life == life && item.what == what);
                lines.filter(of_gate).map(|item| item.field(3))
            };
            let was_open = in_life("ack").next_back() == Some("open");
            if !was_open || in_life("try").next_back() != Some("open") {
                continue;
            }
            let again = self.noted.iter().any(|item| {
                let later = item.what == "opened" && item.life > life;
                later && *item.field(0) == *gate.turn_id && *item.field(1) == *gate.id()
            });
            assert!(again, "{gate:?} was not opened again");
            self.tally.waited_again += 1;
        }
    }
}
