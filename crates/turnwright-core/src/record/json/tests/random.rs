//! Random records of every kind.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Number, Value};

use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::media::{Media, MediaKind, ModalityHazard};
use crate::record::{
    CallState, ConversationInfo, Coverage, LedgerEntry, Memory, Message, ProviderState, Record,
    RecordKind, RecordRef, ResponseRef, Retrievable, StandingInstruction, Thought, ToolCall,
    ToolResults,
};
use crate::schema::RawArgs;
use crate::spool::MemoryReader;
use crate::trust::TrustTier;

pub(super) fn time() -> impl Strategy<Value = SystemTime> {
    let near = (0..4_000_000_000_u64, 0..1_000_000_000_u32);
    let near = near.prop_map(|(s, n)| SystemTime::UNIX_EPOCH + Duration::new(s, n));
    // The years -9998 to 9998.
    let far = (-377_673_580_800..253_370_764_800_i64, 0..1_000_000_000_u32).prop_map(|(s, n)| {
        let entire = Duration::from_secs(s.unsigned_abs());
        let entire = if s < 0 {
            SystemTime::UNIX_EPOCH - entire
        } else {
            SystemTime::UNIX_EPOCH + entire
        };
        entire + Duration::new(0, n)
    });
    prop_oneof![4 => near, 1 => far]
}

/// The earlier one first.
fn times() -> impl Strategy<Value = (SystemTime, SystemTime)> {
    (time(), time()).prop_map(|(a, b)| (a.min(b), a.max(b)))
}

fn id() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9%_'\"\\\\ äß漢🎉-]{1,40}"
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[ -~\n\u{0}\u{202e}é]{0,60}"]
}

fn words() -> impl Strategy<Value = String> {
    text().prop_map(|text| format!("{text}x"))
}

fn tier() -> impl Strategy<Value = TrustTier> {
    prop_oneof![
        Just(TrustTier::FirstParty),
        Just(TrustTier::ThirdPartyPrivate),
        Just(TrustTier::ThirdPartyPublic),
    ]
}

fn state() -> impl Strategy<Value = Option<ProviderState>> {
    let state = (text(), text(), vec(any::<u8>(), 0..40));
    option::of(
        state.prop_map(|(protocol, address, state)| ProviderState::new(protocol, address, state)),
    )
}

fn response() -> impl Strategy<Value = Option<ResponseRef>> {
    let response = (words(), option::of(text()));
    option::of(response.prop_map(|(id, cut)| {
        let response = ResponseRef::with_id(id);
        match cut {
            Some(why) => response.cut(why),
            None => response,
        }
    }))
}

pub(super) fn value() -> impl Strategy<Value = Value> {
    let float = any::<f64>().prop_map(|n| Number::from_f64(n).map_or(Value::Null, Value::Number));
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        float,
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((text(), inner), 0..6)
                .prop_map(|all| Value::Object(all.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn args() -> impl Strategy<Value = RawArgs> {
    prop_oneof![
        text().prop_map(RawArgs::from),
        value().prop_map(|value| RawArgs::from(value.to_string())),
        value().prop_map(RawArgs::from),
    ]
}

fn media() -> impl Strategy<Value = Media> {
    let kind = prop_oneof![
        Just(MediaKind::Image),
        Just(MediaKind::Audio),
        Just(MediaKind::Video),
        Just(MediaKind::Document),
    ];
    let hazard = prop_oneof![
        Just(ModalityHazard::Inert),
        Just(ModalityHazard::ExtractableInstructions),
        Just(ModalityHazard::OpaquePerceptual),
    ];
    let derived = vec((words(), text(), tier()), 0..3);
    let facts = (kind, hazard, tier(), id(), words(), option::of(text()));
    (facts, derived, 0..20_usize).prop_map(|(facts, derived, length)| {
        let (kind, hazard, tier, id, filename, source) = facts;
        let reader = MemoryReader::new(vec![7; length]);
        let mime = "application/x-test; a=b";
        let mut media = Media::labelled(kind, tier, hazard, mime, filename, reader).id(id);
        if let Some(source) = source {
            media = media.source(source);
        }
        for (name, text, tier) in derived {
            media = media.derived(name, text, tier);
        }
        media.build().unwrap()
    })
}

fn artifact() -> impl Strategy<Value = SpooledArtifact> {
    let kind = prop_oneof![Just(ArtifactKind::TEXT), Just(ArtifactKind::MARKDOWN)];
    let spooled = option::of(text());
    (kind, vec(any::<u8>(), 0..60), spooled).prop_map(|(kind, bytes, spooled)| match spooled {
        None => SpooledArtifact::in_memory(bytes, kind),
        Some(id) => SpooledArtifact::spooled(id, Arc::new(MemoryReader::new(bytes)), kind),
    })
}

fn message() -> impl Strategy<Value = Record> {
    (
        (0..4_u8, words(), "[a-zA-Z0-9äß漢🎉\"<& -]{0,63}x", tier()),
        words(),
        id(),
        times(),
        vec(media(), 0..3),
        (response(), state()),
    )
        .prop_map(
            |(
                (author, name, user, tier),
                text,
                id,
                (created, updated),
                media,
                (response, state),
            )| {
                let builder = match author {
                    0 => match tier {
                        TrustTier::FirstParty => Message::user(text).name(user),
                        _ => Message::user(text),
                    },
                    1 => Message::assistant(text),
                    2 => Message::framework(text),
                    _ => Message::agent(name, text).tier(tier),
                };
                let mut builder = builder.id(id).created_at(created).updated_at(updated);
                for media in media {
                    builder = builder.media(media);
                }
                builder = builder.of_response(response, state);
                builder.build().unwrap().into()
            },
        )
}

fn of_words() -> impl Strategy<Value = Record> {
    (0..3, words(), id(), times(), response(), state()).prop_map(
        |(which, text, id, (created, updated), response, state)| match which {
            0 => {
                let record = Memory::new(text).id(id).created_at(created);
                record.updated_at(updated).build().unwrap().into()
            }
            1 => {
                let record = StandingInstruction::new(text).id(id).created_at(created);
                record.updated_at(updated).build().unwrap().into()
            }
            _ => {
                let record = Thought::new(text).id(id).created_at(created);
                let record = record.updated_at(updated).of_response(response, state);
                record.build().unwrap().into()
            }
        },
    )
}

/// Boxed, because the strategies of all records together need much stack otherwise.
fn coverage() -> BoxedStrategy<Coverage> {
    let record = || {
        let kind = prop_oneof![Just(RecordKind::Message), Just(RecordKind::ToolCall)];
        let record = (kind, id()).prop_map(|(kind, id)| RecordRef {
            kind,
            id: id.into(),
        });
        record.boxed()
    };
    let counts = (any::<u64>(), any::<u64>(), any::<u64>());
    let ends = (record(), record(), option::of(record()), option::of(id()));
    let all = (id(), option::of(text()), counts, ends.boxed());
    let all = all.prop_map(|(turn, model, counts, ends)| Coverage {
        turn_id: turn.into(),
        model: model.map(Into::into),
        exchanges: counts.0,
        summarised: counts.1,
        omitted: counts.2,
        first: ends.0,
        last: ends.1,
        next: ends.2,
        opening: ends.3.map(Into::into),
    });
    all.boxed()
}

fn retrievable() -> impl Strategy<Value = Record> {
    let passage = (words(), tier()).prop_map(|(text, tier)| Retrievable::text(text, tier));
    let asked = (artifact(), tier(), any::<bool>());
    let asked =
        asked.prop_map(|(item, tier, inline)| Retrievable::artifact(item, tier).inline(inline));
    let seen = media().prop_map(Retrievable::media);
    let summary = (words(), tier(), coverage());
    let summary = summary.prop_map(|(text, tier, covers)| Retrievable::summary(text, tier, covers));
    let found = prop_oneof![passage, asked, seen, summary.boxed()];
    (found, id(), times(), option::of(text())).prop_map(
        |(found, id, (created, updated), source)| {
            let mut found = found.id(id).created_at(created).updated_at(updated);
            if let Some(source) = source {
                found = found.source(source);
            }
            found.build().unwrap().into()
        },
    )
}

fn results() -> impl Strategy<Value = ToolResults> {
    prop_oneof![
        Just(ToolResults::Nothing),
        text().prop_map(ToolResults::Text),
        text().prop_map(ToolResults::Failure),
        text().prop_map(ToolResults::Refusal),
        vec(media(), 0..3).prop_map(ToolResults::Media),
        vec(artifact(), 1..4).prop_map(ToolResults::Artifacts),
    ]
}

fn tool_call() -> impl Strategy<Value = Record> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let shown = (
        id(),
        words(),
        args(),
        option::of(text()),
        option::of(value()),
    );
    let of = (response(), state());
    let results = (results(), vec(media(), 0..3));
    (shown, results, flags, times(), time(), of).prop_map(
        |(shown, (results, beside), flags, (created, updated), completed, (response, state))| {
            let (id, tool, args, provider_id, edited) = shown;
            let (trusted, inline, from_artifact_tool, settled) = flags;
            let artifacts = matches!(results, ToolResults::Artifacts(_));
            let complete = !matches!(results, ToolResults::Nothing);
            let mut call = ToolCall::builder(tool, args)
                .id(id)
                .created_at(created)
                .updated_at(updated)
                .results(results)
                .trusted(trusted && !from_artifact_tool)
                .inline(inline || !artifacts)
                .from_artifact_tool(from_artifact_tool && !artifacts);
            if artifacts {
                call = call.attachments(beside);
            }
            if complete && settled {
                call = call.completed_at(completed.max(created));
            }
            if let Some(id) = provider_id {
                call = call.provider_id(id);
            }
            if let Some(edited) = edited {
                call = call.edited_args(edited);
            }
            if let Some(response) = response {
                call = call.response(response);
            }
            if let Some(state) = state {
                call = call.provider_state(state);
            }
            call.build().unwrap().into()
        },
    )
}

fn ledger() -> impl Strategy<Value = Record> {
    let state = prop_oneof![
        Just(CallState::Started),
        Just(CallState::Done),
        Just(CallState::Failed),
        Just(CallState::Unknown),
    ];
    let names = (words(), text(), words(), words(), words(), text());
    (names, value(), state, time(), time()).prop_map(|(names, args, state, started_at, ended)| {
        let (idempotency_key, turn_id, tool_call, checksum, tool, fingerprint) = names;
        let entry = LedgerEntry {
            ordinal: None,
            idempotency_key,
            turn_id: turn_id.into(),
            tool_call,
            checksum,
            tool: tool.into(),
            fingerprint,
            args,
            state,
            started_at,
            ended_at: (state != CallState::Started).then_some(ended.max(started_at)),
        };
        Arc::new(entry).into()
    })
}

fn info() -> impl Strategy<Value = Record> {
    let line = || "[a-zA-Z0-9%_'\"\\\\ äß漢🎉-]{0,40}x";
    let labels = vec(("[a-zA-Z0-9%_'\"\\\\äß漢🎉-]{1,40}", line()), 0..4);
    let data = vec((text(), value()), 0..3);
    (option::of(line()), option::of(line()), labels, data).prop_map(
        |(title, owner, labels, data)| {
            let mut info = ConversationInfo::default();
            if let Some(title) = title {
                info = info.title(title);
            }
            if let Some(owner) = owner {
                info = info.owner(owner);
            }
            for (key, value) in labels {
                info = info.label(key, value);
            }
            for (name, value) in data {
                info = info.data(name, value);
            }
            info.build().unwrap().into()
        },
    )
}

/// Any record of any kind. Boxed: the types of the strategies together are too large for the stack of a test.
pub(super) fn record() -> impl Strategy<Value = Record> {
    prop_oneof![
        message().boxed(),
        of_words().boxed(),
        retrievable().boxed(),
        tool_call().boxed(),
        ledger().boxed(),
        info().boxed()
    ]
}
