//! Random operations, compared with the memory store.

use std::fmt::Debug;

use serde_json::Value;
use turnwright_core::record::{ConversationInfo, Lease, Record, RecordKind, TurnState};
use turnwright_core::store::{
    Batch, Changes, ConversationFilter, ConversationId, FoundConversation, FoundTurn, Loaded,
    MemoryStore, Query, Revision, Store, StoreError, TurnFilter,
};

use crate::store::chat::Chat;
use crate::store::outcome::{Broken, Outcome, same};
use crate::store::sample::{gate_of, info_of, lease_of, note, of_kind, time, turn_in};
use fastrand::Rng;

const SEQUENCES: u64 = 8;
const OPERATIONS: usize = 60;
const CONVERSATIONS: [&str; 3] = ["chat", "chat/2", "ä\n"];
const KINDS: [RecordKind; 6] = [
    RecordKind::Memory,
    RecordKind::Message,
    RecordKind::Turn,
    RecordKind::Gate,
    RecordKind::Lease,
    RecordKind::ConversationInfo,
];
const OWNERS: [&str; 2] = ["ada", "Ada"];
const LABELS: [(&str, &str); 4] = [("a", "1"), ("a", "2"), ("b", "1"), ("b", "")];
const STATES: [TurnState; 3] = [TurnState::Running, TurnState::Answered, TurnState::Failed];

struct Random(Rng);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0.u64(..end)
    }

    fn small(&mut self, end: u32) -> u32 {
        self.0.u32(..end)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.0.usize(..n) == 0
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.one_in(3).then(|| make(self))
    }

    fn conversation_id(&mut self) -> ConversationId {
        ConversationId::new(*self.0.choice(&CONVERSATIONS).unwrap_or(&""))
    }

    fn kind(&mut self) -> RecordKind {
        *self.0.choice(&KINDS).unwrap_or(&RecordKind::Memory)
    }

    fn id(&mut self, kind: RecordKind) -> String {
        match kind {
            RecordKind::Lease => Lease::ID.to_owned(),
            RecordKind::ConversationInfo if !self.one_in(8) => ConversationInfo::ID.to_owned(),
            _ => format!("id-{}", self.below(5)),
        }
    }

    fn record(&mut self) -> Result<Record, Broken> {
        let kind = self.kind();
        let (id, turn) = (self.id(kind), self.id(RecordKind::Turn));
        match kind {
            RecordKind::Turn => {
                let state = *self.0.choice(&STATES).unwrap_or(&TurnState::Running);
                turn_in(&id, state, self.small(4))
            }
            RecordKind::Gate => gate_of(&id, &turn, self.one_in(2)),
            RecordKind::Lease => {
                let held = !self.one_in(3);
                lease_of(held.then_some(&*turn), self.small(6))
            }
            RecordKind::ConversationInfo if id == ConversationInfo::ID => {
                let owner = self.maybe(Random::owner);
                let labels: Vec<_> = (0..self.below(3)).map(|_| self.label()).collect();
                info_of(owner, &labels)
            }
            RecordKind::Memory => note(&id, &self.below(1_000).to_string()),
            kind => of_kind(kind, &id),
        }
    }

    fn owner(&mut self) -> &'static str {
        self.0.choice(&OWNERS).unwrap_or(&"")
    }

    fn label(&mut self) -> (&'static str, &'static str) {
        *self.0.choice(&LABELS).unwrap_or(&("", ""))
    }

    fn batch(&mut self, revision: Revision) -> Result<Batch, Broken> {
        let mut batch = Batch::new();
        for _ in 0..self.below(5) {
            let kind = self.kind();
            batch = if self.one_in(4) {
                batch.delete(kind, self.id(kind))
            } else {
                batch.put(self.record()?)
            };
        }
        batch.expect = self.maybe(|random| Revision(revision.0 + random.below(2)));
        batch.fencing_token = self.maybe(|random| random.below(4));
        Ok(batch)
    }

    fn query(&mut self) -> Query {
        let mut query = Query::all();
        query.kinds = (0..self.below(3)).map(|_| self.kind()).collect();
        query.ids = self.maybe(|random| (0..3).map(|_| random.id(RecordKind::Turn)).collect());
        query.limit = self.maybe(|random| random.small(5) as usize);
        query.newest = self.one_in(2);
        query
    }

    fn turn_filter(&mut self, after: Option<&FoundTurn>) -> TurnFilter {
        let mut filter = TurnFilter::all();
        let states = (0..self.below(3)).filter_map(|_| self.0.choice(&STATES).copied());
        filter.states = states.collect();
        filter.turn_id = self.maybe(|random| random.id(RecordKind::Turn));
        filter.prefix = self.maybe(|random| random.conversation_id().as_str().to_owned());
        filter.lease_expired_before = self.maybe(|random| time(random.small(7)));
        filter.waiting = self.one_in(3);
        filter.after = after.filter(|_| self.one_in(2)).map(FoundTurn::cursor);
        filter.limit = self.maybe(|random| random.small(4) as usize);
        filter
    }
}

/// The store under test and the reference.
struct Pair<'s> {
    store: &'s dyn Store,
    reference: MemoryStore,
}

impl Pair<'_> {
    async fn apply(&self, conversation_id: &ConversationId, batch: &Batch) -> Outcome {
        let promised = verdict(self.reference.apply(conversation_id, batch.clone()).await)?;
        let found = verdict(self.store.apply(conversation_id, batch.clone()).await)?;
        same(&format!("the result of {batch:?}"), found, promised)
    }

    async fn compare(&self, random: &mut Random) -> Outcome {
        let conversation_id = random.conversation_id();
        let query = random.query();
        let promised = self.reference.load(&conversation_id, &query).await?;
        let found = self.store.load(&conversation_id, &query).await?;
        same(&format!("{query:?}"), seen(&found)?, seen(&promised)?)?;

        let since = Revision(random.below(promised.revision.0 + 3));
        let promised = changes(&self.reference.changed(&conversation_id, since).await?)?;
        let found = changes(&self.store.changed(&conversation_id, since).await?)?;
        same(&format!("changes since {since:?}"), found, promised)?;

        let all = self.reference.find_turns(&TurnFilter::all()).await?;
        let after = random.0.choice(&all);
        let filter = random.turn_filter(after);
        let promised = turns(&self.reference.find_turns(&filter).await?);
        let found = turns(&self.store.find_turns(&filter).await?);
        same(&format!("{filter:?}"), found, promised)?;

        let mut filter = ConversationFilter::all();
        filter.prefix = random.maybe(|random| random.conversation_id().as_str().to_owned());
        filter.after = random.maybe(Random::conversation_id);
        filter.owner = random.maybe(|random| random.owner().to_owned());
        for _ in 0..random.below(3) {
            if let Some((key, value)) = random.maybe(Random::label) {
                filter = filter.label(key, value);
            }
        }
        filter.limit = random.maybe(|random| random.small(3) as usize);
        let promised = conversations(&self.reference.conversations(&filter).await?)?;
        let found = conversations(&self.store.conversations(&filter).await?)?;
        same(&format!("{filter:?}"), found, promised)
    }
}

pub(super) async fn random_operations(chat: Chat) -> Outcome {
    let pair = Pair {
        store: &*chat.store,
        reference: MemoryStore::default(),
    };
    for sequence in 0..SEQUENCES {
        let mut random = Random(Rng::with_seed(sequence));
        let mut applied: Vec<(ConversationId, Batch)> = Vec::new();
        for _ in 0..OPERATIONS {
            let conversation_id = random.conversation_id();
            let reference = &pair.reference;
            let loaded = reference.load(&conversation_id, &Query::all()).await?;
            let batch = random.batch(loaded.revision)?;
            pair.apply(&conversation_id, &batch).await?;
            applied.push((conversation_id, batch));
            // An earlier batch, unchanged or only with the same id.
            if random.one_in(3)
                && let Some((conversation_id, batch)) = random.0.choice(&applied)
            {
                if !random.one_in(3) {
                    pair.apply(conversation_id, batch).await?;
                } else {
                    let other = random.batch(Revision(0))?.put(note("other", "x")?);
                    pair.apply(conversation_id, &other.id(batch.id)).await?;
                }
            }
            pair.compare(&mut random).await?;
        }
    }
    Ok(())
}

/// Returns the comparable parts of a result.
fn verdict(answer: Result<Revision, StoreError>) -> Result<String, Broken> {
    Ok(match answer {
        Ok(revision) => format!("{revision:?}"),
        Err(error) => match (error.found_revision(), error.fenced_by()) {
            (None, None) if error.is_batch_id_reused() => "reused".to_owned(),
            (None, None) => return Err(error.into()),
            rejected => format!("{rejected:?}"),
        },
    })
}

fn seen(loaded: &Loaded) -> Result<impl PartialEq + Debug + use<>, Broken> {
    // Stores may number positions differently: only their order is required.
    let records = loaded.records.iter().map(|stored| stored.record.to_value());
    let records = records.collect::<Result<Vec<Value>, _>>()?;
    let counts = (loaded.fencing_token, loaded.damaged.len());
    Ok((loaded.revision, counts, records))
}

fn changes(found: &Changes) -> Result<impl PartialEq + Debug + use<>, Broken> {
    Ok(match found {
        Changes::Since { put, deleted } => Some((seen(put)?, deleted.clone())),
        _ => None,
    })
}

fn conversations(
    found: &[FoundConversation],
) -> Result<Vec<(ConversationId, Option<Value>)>, Broken> {
    let conversation = |found: &FoundConversation| {
        let info = found.info.clone().map(Record::from);
        let info = info.map(|info| info.to_value()).transpose()?;
        Ok((found.id.clone(), info))
    };
    found.iter().map(conversation).collect()
}

fn turns(found: &[FoundTurn]) -> Vec<String> {
    let turn = |turn: &FoundTurn| {
        let state = turn.turn.as_ref().map(|record| record.state);
        let lease = turn.lease.as_ref().map(|lease| lease.until);
        let gates: Vec<_> = turn.open_gates.iter().map(|gate| gate.id()).collect();
        format!("{:?} {state:?} {lease:?} {gates:?}", turn.cursor())
    };
    found.iter().map(turn).collect()
}
