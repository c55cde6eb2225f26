//! The JSON Schema of events, from which the book's tables and types are generated, is that of the JSON.

use std::time::Duration;

use boon::{Compiler, Schemas};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::*;
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::effects::Effects;
use crate::error::{Error, ErrorCode};
use crate::gate::{GateEnd, OpenGate};
use crate::media::{Media, MediaKind};
use crate::outcome::{Limit, TurnOutcome, TurnStatus};
use crate::record::{
    ByteResolver, CallState, ConversationInfo, Denial, GateKind, Lease, LedgerEntry, Memory,
    Message, Record, RecordKind, Retrievable, Settled, StandingInstruction, TaintSource, Thought,
    ToolCall, ToolResults, TurnRecord, TurnState,
};
use crate::schema::Fault;
use crate::spool::{MemoryReader, MemorySpool};
use crate::trust::TrustTier;
use crate::usage::{ModelUsage, Usage};

/// Returns the schema of the JSON of `T`.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().into()
}

/// Checks that every example has the fields of the schema and no others.
fn check_all<T: JsonSchema>(examples: &[Value]) {
    let mut schema = schema_of::<T>();
    schema["unevaluatedProperties"] = false.into();
    let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
    compiler
        .add_resource("http://127.0.0.1/schema", schema)
        .unwrap();
    let index = compiler
        .compile("http://127.0.0.1/schema", &mut schemas)
        .unwrap();
    for example in examples {
        let checked = schemas.validate(example, index);
        checked.unwrap_or_else(|error| panic!("{example:#}\n{error:#}"));
    }
}

/// Checks that there is an example of each event of the schema.
fn check_complete<T: JsonSchema>(examples: &[Value]) {
    let schema = schema_of::<T>();
    let events = schema["oneOf"].as_array().unwrap();
    for event in events {
        let name = &event["properties"]["event"]["const"];
        assert!(
            examples.iter().any(|example| example["event"] == *name),
            "no example of {name}"
        );
    }
}

fn call() -> Arc<ToolCall> {
    let text = SpooledArtifact::spooled(
        "spool-1",
        Arc::new(MemoryReader::new("sunny")),
        ArtifactKind::TEXT,
    );
    let call = ToolCall::builder("look", r#"{"city": "Paris"}"#)
        .results(ToolResults::Artifacts(vec![text]))
        .inline(true);
    call.build().unwrap()
}

fn picture() -> Media {
    let bytes = MemoryReader::new("…");
    let media = Media::user_attachment(MediaKind::Image, "image/png", "cat.png", bytes);
    media.build().unwrap()
}

fn gate() -> OpenGate {
    OpenGate {
        id: "g".into(),
        kind: GateKind::Approval,
        tool_call: Some("c".into()),
        question: Arc::new(json!({ "tool": "pay" })),
        schema: None,
        opened_at: SystemTime::now(),
    }
}

fn compacted() -> Arc<Compacted> {
    Arc::new(Compacted {
        handles: 1,
        records: 2,
        exchanges: 1,
        summary: None,
        model: Some("small".into()),
        tokens_before: 9,
        tokens_after: 3,
    })
}

fn failed(status: TurnStatus) -> EventKind {
    let mut outcome = TurnOutcome::not_started(
        "t".into(),
        "c".into(),
        Error::new(ErrorCode::STORE_ERROR, ""),
    );
    outcome.status = status;
    EventKind::turn_end(&outcome, Duration::from_millis(5))
}

#[test]
fn events_have_the_fields_of_their_schema() {
    let text = || "text".to_owned();
    let delta = || Delta::new("m".into(), 3, "lo");
    let id = || Arc::<str>::from("c");
    let message = Message::assistant("Hello")
        .media(picture())
        .build()
        .unwrap();
    let schema = crate::schema::object().field("days", crate::schema::integer().default(7));
    let checked = schema.build().unwrap().check("{}").unwrap();
    let suspended = TurnStatus::Suspended {
        gates: vec![gate()],
    };
    let cut_off = ToolCall::builder("look", "{")
        .cut_off(true)
        .build()
        .unwrap();
    let kinds = [
        EventKind::TurnStart { resumed: false },
        EventKind::MessageDelta(delta()),
        EventKind::Message(message),
        EventKind::ThoughtDelta(delta()),
        EventKind::Thought(Thought::new("Hm.").build().unwrap()),
        EventKind::ToolCallDelta {
            tool: id(),
            delta: delta(),
        },
        EventKind::ToolExecutionStart {
            id: id(),
            checksum: id(),
            tool: id(),
            fingerprint: id(),
            effects: Effects::Writes,
            args: Arc::new(json!({})),
            repairs: checked.repairs().into(),
        },
        EventKind::ToolExecutionProgress {
            id: id(),
            checksum: id(),
            tool: id(),
            message: "half".to_owned(),
        },
        EventKind::GateOpened(Arc::new(gate())),
        EventKind::GateClosed {
            id: id(),
            how: GateEnd::Resolved,
            by: Some("ada".into()),
            note: Some("Fine.".to_owned()),
        },
        EventKind::ToolCall(call()),
        EventKind::ToolCallIncomplete(cut_off),
        EventKind::AnswerRejected {
            id: None,
            reason: "no".to_owned(),
            retries_left: 1,
        },
        EventKind::Compacted(compacted()),
        EventKind::Discarded { id: id() },
        EventKind::Usage(Arc::new(ModelUsage::new(Usage::tokens(1, 2)))),
        EventKind::LeaseWait {
            held_by: None,
            at_most: Duration::from_secs(1),
        },
        failed(suspended),
        failed(TurnStatus::Answered),
        EventKind::DispatchStart,
        EventKind::DispatchEnd {
            signal: None,
            iterations: 2,
        },
        EventKind::IterationStart { iteration: 1 },
        EventKind::IterationEnd { iteration: 1 },
        EventKind::Log {
            level: Level::Warn,
            kind: Some("cache.miss".into()),
            message: text(),
            payload: Some(json!([1])),
        },
        EventKind::Error {
            code: "E_STORE_ERROR",
            fatal: false,
            message: text(),
            pipeline: None,
        },
        EventKind::ToolCallRefused {
            id: id(),
            checksum: id(),
            tool: id(),
            code: "E_TOOL_DENIED",
            message: text(),
            faults: vec![Fault::new("/city", "city_exists", "is not a known city")],
            reason: Some(text()),
            sources: vec![TaintSource::new(RecordKind::Message, "m")],
        },
        EventKind::ToolExecutionEnd {
            id: id(),
            checksum: id(),
            tool: id(),
            duration: Duration::from_secs(1),
            is_error: true,
            code: None,
            message: None,
            abandoned: false,
        },
        EventKind::Warning { message: text() },
    ];
    let hub = EventHub::new(id(), id());
    let examples = kinds.map(|kind| serde_json::to_value(hub.event(kind)).unwrap());
    check_all::<Event>(&examples);
    check_complete::<Event>(&examples);
    assert!(!json!(examples).to_string().contains("fingerprint"));
}

#[test]
fn records_have_the_fields_of_their_schema_and_nothing_internal() {
    let document = SpooledArtifact::in_memory("# Title", ArtifactKind::TEXT);
    let document = Retrievable::artifact(document, TrustTier::FirstParty);
    let mut turn = TurnRecord::begin("t".into(), vec![("user".to_owned(), json!("ada"))]);
    turn = turn.ended(TurnState::Failed, failure());
    let gate = crate::record::GateRecord {
        id: "g".into(),
        turn_id: "t".into(),
        kind: GateKind::Approval,
        tool_call: None,
        question: Arc::new(json!("Which size?")),
        schema: None,
        timeout: None,
        step: Some(1),
        state: crate::record::GateState::Answered(crate::record::GateAnswer::approve()),
        opened_at: SystemTime::now(),
        closed_at: None,
    };
    let lease = Lease {
        id: Lease::ID.into(),
        turn_id: Some("t".into()),
        owner: "host-7".into(),
        fencing_token: 7,
        until: SystemTime::now(),
        term: Duration::from_secs(30),
        renewals: 0,
    };
    let agent = Message::agent("researcher", "I found it.").media(picture());
    let ledger = LedgerEntry {
        idempotency_key: "checksum-1".to_owned(),
        turn_id: "t".into(),
        tool_call: "c".to_owned(),
        checksum: "checksum-2".to_owned(),
        ordinal: Some(1),
        tool: "pay".into(),
        fingerprint: "checksum-3".to_owned(),
        args: json!({ "cents": 7 }),
        state: CallState::Done,
        started_at: SystemTime::now(),
        ended_at: Some(SystemTime::now()),
    };
    let pay = || ToolCall::builder("pay", r#"{"cents": 7}"#);
    let failed = pay().results(ToolResults::Failure("no money".to_owned()));
    let edited = pay().edited_args(json!({ "cents": 1 }));
    let denied = pay().build().unwrap().closed(Settled {
        denial: Some(Box::new(Denial {
            reason: "checksum-4".to_owned(),
            sources: vec![TaintSource::new(RecordKind::Message, "checksum-5")],
        })),
        ..Settled::refusal("not approved")
    });
    let records: [Record; 14] = [
        StandingInstruction::new("Be brief.")
            .build()
            .unwrap()
            .into(),
        Memory::new("Likes tea.").build().unwrap().into(),
        Thought::new("Hm.").build().unwrap().into(),
        agent.build().unwrap().into(),
        document.build().unwrap().into(),
        call().into(),
        Arc::new(turn).into(),
        Arc::new(gate).into(),
        Arc::new(lease).into(),
        ConversationInfo::default()
            .title("Rome")
            .data("key", 1)
            .build()
            .unwrap()
            .into(),
        Arc::new(ledger).into(),
        failed.build().unwrap().into(),
        edited.build().unwrap().into(),
        denied.into(),
    ];
    let shown = records.map(|record| {
        let value = serde_json::to_value(&record).unwrap();
        assert_eq!(value["kind"], record.kind().as_str());
        value
    });
    check_all::<Record>(&shown);
    let text = json!(shown).to_string();
    let internal = [
        "spool",
        "sha256",
        "checksum",
        "host-7",
        "fencing",
        "nonce",
        "stash",
        "SELECT",
        "fingerprint",
    ];
    for word in internal {
        assert!(!text.contains(word), "{word}: {text}");
    }
    // A short result is shown, wherever its bytes are.
    assert_eq!(shown[5]["results"]["artifacts"][0]["text"], "sunny");
    assert_eq!(shown[5]["args"], json!({ "city": "Paris" }));
    let [
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        gate,
        _,
        _,
        ledger,
        failed,
        edited,
        denied,
    ] = shown;
    assert_eq!(gate["answer"], json!({ "decision": "approve" }));
    assert_eq!(
        (&ledger["state"], &ledger["args"]),
        (&json!("done"), &json!({ "cents": 7 }))
    );
    assert_eq!(failed["results"], json!({ "failure": "no money" }));
    assert_eq!(edited["editedArgs"], json!({ "cents": 1 }));
    assert_eq!(denied["results"], json!({ "refusal": "not approved" }));
    let flags = |call: &Value| (call["isError"] == true, call["denied"] == true);
    assert_eq!(flags(&failed), (true, false));
    assert_eq!(flags(&edited), (false, false));
    assert_eq!(flags(&denied), (true, true));
}

fn failure() -> Option<crate::record::TurnFailure> {
    let error = Error::new(
        ErrorCode::STORE_ERROR,
        "SELECT failed: call `Store::load` again",
    );
    TurnStatus::Failed(error).failure()
}

#[test]
fn the_end_of_a_turn_says_why_without_the_details_for_operators() {
    let message = |status: TurnStatus| {
        let event = serde_json::to_value(failed(status)).unwrap();
        event["message"].as_str().map(str::to_owned)
    };
    let error = Error::new(
        ErrorCode::MISSING_STATE,
        "no state of type `Db`: call `.state(value)`",
    );
    let meaning = ErrorCode::MISSING_STATE.meaning();
    assert_eq!(
        message(TurnStatus::Failed(error.clone())).as_deref(),
        Some(meaning)
    );
    assert_eq!(message(TurnStatus::Nacked(error)).as_deref(), Some(meaning));
    let aborted = TurnStatus::Aborted {
        reason: "the user pressed stop".to_owned(),
    };
    assert_eq!(
        message(aborted).as_deref(),
        Some("the turn was aborted: the user pressed stop")
    );
    let own = ErrorCode::new("E_OWN", crate::error::ErrorKind::Internal);
    for (code, expected) in [
        (own, "The turn failed."),
        (
            own.with_meaning("The shop is closed."),
            "The shop is closed.",
        ),
    ] {
        let failed = TurnStatus::Failed(Error::new(code, "postgres://db-7"));
        // The record of the turn says the same, also after it was stored.
        let turn = TurnRecord::begin("t".into(), Vec::new());
        let turn = turn.ended(TurnState::Failed, failed.failure());
        let stored = Record::from(Arc::new(turn)).to_json().unwrap();
        let resolver = ByteResolver::new(Arc::new(MemorySpool::default()));
        let read = Record::from_json(RecordKind::Turn, &stored, &resolver).unwrap();
        let read = serde_json::to_value(read).unwrap();
        assert_eq!(read["error"]["message"], expected);
        assert_eq!(message(failed).as_deref(), Some(expected));
    }
    let repeated = Limit::RepeatedCall {
        tool: "look".to_owned(),
        times: 3,
    };
    for status in [
        TurnStatus::Limit(Limit::Iterations(3)),
        TurnStatus::Limit(Limit::Tokens(3)),
        TurnStatus::Limit(Limit::ToolCalls(3)),
        TurnStatus::Limit(Limit::Time(Duration::from_secs(3))),
        TurnStatus::Limit(repeated),
        TurnStatus::Suspended { gates: Vec::new() },
        TurnStatus::Suspended {
            gates: vec![gate()],
        },
        TurnStatus::Suspended {
            gates: vec![gate(), gate()],
        },
    ] {
        let text = message(status).unwrap();
        let functions = ["::", "(", "_", "runner", "resume`"];
        assert!(!functions.iter().any(|part| text.contains(part)), "{text}");
    }
    assert_eq!(message(TurnStatus::Answered), None);
}

#[test]
fn the_meanings_of_error_codes_name_no_functions() {
    for code in ErrorCode::ALL {
        let meaning = code.meaning();
        assert!(!meaning.is_empty(), "{code}");
        assert!(
            !meaning.contains(['`', '(', ')', '_']) && !meaning.contains("::"),
            "{code}: {meaning}"
        );
    }
}
