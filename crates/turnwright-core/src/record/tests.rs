use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::*;
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::checksum::checksum;
use crate::error::ErrorCode;
use crate::media::{Media, MediaKind};
use crate::spool::MemoryReader;
use crate::trust::TrustTier;

fn artifact() -> SpooledArtifact {
    SpooledArtifact::in_memory("a\n", ArtifactKind::TEXT)
}

#[test]
fn records_get_ids_and_times_by_default() {
    let before = SystemTime::now();
    let (a, b) = (
        Message::user("a").build().unwrap(),
        Message::user("a").build().unwrap(),
    );
    assert_ne!(a.id(), b.id());
    assert!(a.created_at() >= before && a.updated_at() == a.created_at());
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    let written = Thought::new("hm").id("t").created_at(then).build().unwrap();
    assert_eq!((written.id(), written.updated_at()), ("t", then));
}

#[test]
fn a_record_that_is_not_well_defined_says_so_under_its_own_code_with_every_field() {
    let epoch = SystemTime::UNIX_EPOCH;
    let later = epoch + Duration::from_secs(9);
    let wrong = [
        (
            Message::agent(" ", "").id("").build().map(drop),
            ErrorCode::INVALID_INITIAL_MESSAGE_VALUE,
            "invalid message: id: must not be empty; \
             text: must not be empty without media; author: must have a name",
        ),
        (
            Thought::new("").build().map(drop),
            ErrorCode::INVALID_INITIAL_THOUGHT_VALUE,
            "invalid thought: text: must not be empty",
        ),
        (
            Memory::new("x").id("a\u{7}").build().map(drop),
            ErrorCode::INVALID_INITIAL_MEMORY_VALUE,
            "invalid memory: id: must not contain control or invisible characters",
        ),
        (
            Memory::new("x")
                .id("a\u{202e}</tw-agent>")
                .build()
                .map(drop),
            ErrorCode::INVALID_INITIAL_MEMORY_VALUE,
            "invalid memory: id: must not contain control or invisible characters; \
             id: must not look like a tag of the framework",
        ),
        (
            StandingInstruction::new("\n").build().map(drop),
            ErrorCode::INVALID_INITIAL_INSTRUCTION_VALUE,
            "invalid standing instruction: text: must not be empty",
        ),
        (
            Retrievable::text("", TrustTier::FirstParty)
                .inline(false)
                .id("x".repeat(257))
                .build()
                .map(drop),
            ErrorCode::INVALID_INITIAL_RETRIEVABLE_VALUE,
            "invalid retrievable: id: must have at most 256 characters; text: must not be empty; \
             inline: only an artifact can be left out of the prompt: use `Retrievable::artifact`",
        ),
        (
            ToolCall::builder("", "{}")
                .completed_at(epoch)
                .inline(false)
                .build()
                .map(drop),
            ErrorCode::INVALID_INITIAL_TOOL_CALL_VALUE,
            "invalid tool call: tool: must not be empty; completed_at: must not be set for a call without results; \
             inline: only artifacts can be left out of the prompt",
        ),
        (
            ToolCall::builder("t", "{}")
                .results(ToolResults::Artifacts(Vec::new()))
                .from_artifact_tool(true)
                .trusted(true)
                .created_at(later)
                .updated_at(epoch)
                .build()
                .map(drop),
            ErrorCode::INVALID_INITIAL_TOOL_CALL_VALUE,
            "invalid tool call: results: must contain an artifact; \
             from_artifact_tool: the answer of an artifact tool is text, never an artifact; \
             trusted: an artifact tool is never trusted",
        ),
    ];
    for (result, code, message) in wrong {
        let error = result.unwrap_err();
        assert_eq!((error.code(), error.message()), (code, message));
        assert!(error.is_fatal(), "a mistake of the programmer");
    }
}

#[test]
fn provider_state_goes_to_its_protocol_and_address_only_byte_for_byte() {
    let bytes = vec![0_u8, 255, b'"'];
    let state = ProviderState::new("anthropic", "https://here", bytes.clone());
    let thought = Thought::new("").provider_state(state.clone()).build();
    let message = Message::assistant("").provider_state(state.clone()).build();
    let call = ToolCall::builder("t", "{}").provider_state(state).build();
    for stored in [
        thought.unwrap().provider_state().cloned(),
        message.unwrap().provider_state().cloned(),
        call.unwrap().provider_state().cloned(),
    ] {
        let stored = stored.unwrap();
        assert_eq!(
            stored.for_server("anthropic", "https://here").unwrap(),
            &bytes
        );
        for (protocol, address) in [
            ("gemini", "https://here"),
            ("anthropic", "https://there"),
            ("anthropic", ""),
        ] {
            assert_eq!(stored.for_server(protocol, address), None);
        }
    }
}

#[test]
fn a_user_has_a_short_printable_name() {
    let named = |name: &str| Message::user("Hello").name(name).build();
    let longest = "ä".repeat(64);
    for name in ["Ada", "Ada Lovelace", "李", longest.as_str()] {
        assert_eq!(named(name).unwrap().name(), Some(name));
    }
    assert_eq!(Message::user("Hello").build().unwrap().name(), None);
    for (name, why) in [
        ("", "must not be empty"),
        (" ", "must not be empty"),
        ("A\nda", "must not contain control or invisible characters"),
        (
            "A\u{202e}da",
            "must not contain control or invisible characters",
        ),
        (
            format!("{longest}x").as_str(),
            "has 65 characters: at most 64 are allowed",
        ),
    ] {
        let error = named(name).unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_INITIAL_MESSAGE_VALUE);
        assert_eq!(
            error.message(),
            format!("invalid message: name: {why}"),
            "{name:?}"
        );
    }
    for message in [Message::assistant("Hello"), Message::agent("a", "Hello")] {
        let error = message.name("Ada").build().unwrap_err();
        assert!(
            error
                .message()
                .contains("only messages of users have a name")
        );
    }
}

#[test]
fn a_call_from_the_builder_is_a_handle_by_default() {
    let results = || ToolResults::Artifacts(vec![artifact(), artifact()]);
    let call = ToolCall::builder("t", r#"{"b": 1, "a": 2}"#)
        .id("c1")
        .provider_id("call_0")
        .edited_args(json!({ "a": 3 }))
        .results(results())
        .build()
        .unwrap();
    assert_eq!((call.id(), call.provider_id()), ("c1", Some("call_0")));
    assert!(!call.is_inline() && call.is_complete() && !call.is_error() && !call.is_trusted());
    assert_eq!(call.handles().len(), 2);
    assert_eq!(call.checksum(), checksum("t", r#"{"a":2,"b":1}"#));
    assert_eq!(call.edited_args(), Some(&json!({ "a": 3 })));
    assert_eq!(call.completed_at(), Some(call.updated_at()));

    let inline = ToolCall::builder("t", "{}").results(results()).inline(true);
    assert!(inline.build().unwrap().handles().is_empty());
    let answer = ToolCall::builder("artifact_head", "{}")
        .results(ToolResults::Text("a".to_owned()))
        .from_artifact_tool(true)
        .build()
        .unwrap();
    assert!(answer.is_inline() && answer.from_artifact_tool());
    let open = ToolCall::builder("t", "{").build().unwrap();
    assert!(!open.is_complete() && open.completed_at().is_none());
}

#[test]
fn content_is_not_shown_in_debug_output() {
    let secret = "hunter2";
    let media = Media::user_attachment(
        MediaKind::Audio,
        "audio/wav",
        "a.wav",
        MemoryReader::new(secret),
    )
    .derived("transcript", secret, TrustTier::FirstParty)
    .build()
    .unwrap();
    let state = ProviderState::new("p", secret, secret);
    let results = [
        ToolResults::Text(secret.to_owned()),
        ToolResults::Artifacts(vec![SpooledArtifact::in_memory(secret, ArtifactKind::TEXT)]),
        ToolResults::Media(vec![media.clone()]),
        ToolResults::Failure(secret.to_owned()),
        ToolResults::Refusal(secret.to_owned()),
    ];
    let mut shown = vec![
        format!("{:?}", Message::user(secret).media(media).build().unwrap()),
        format!("{:?}", Thought::new(secret).provider_state(state).build()),
        format!("{:?}", Memory::new(secret).build()),
        format!("{:?}", StandingInstruction::new(secret)),
        format!("{:?}", Retrievable::text(secret, TrustTier::FirstParty)),
    ];
    for results in results {
        let call = ToolCall::builder("t", json!({ "password": secret })).results(results);
        shown.push(format!("{call:?}"));
        shown.push(format!("{:?}", call.build().unwrap()));
    }
    for text in shown {
        assert!(!text.contains(secret), "{text}");
    }
}

/// A clock that is set back while a call runs, or between two changes, gives no record that cannot be read again.
#[test]
fn a_clock_that_was_set_back_makes_no_record_unreadable() {
    let reopen = ByteResolver::new(std::sync::Arc::new(crate::spool::MemorySpool::default()));
    let later = SystemTime::now() + Duration::from_secs(3_600);
    let begun = ToolCall::builder("t", "{}")
        .created_at(later)
        .build()
        .unwrap();
    let closed = begun.closed(Settled::refusal("no"));
    assert_eq!(
        (closed.updated_at(), closed.completed_at()),
        (later, Some(later))
    );

    let line = LedgerEntry {
        idempotency_key: "l".to_owned(),
        turn_id: "t".into(),
        tool_call: "c".to_owned(),
        checksum: "c".to_owned(),
        ordinal: None,
        tool: "pay".into(),
        fingerprint: "f".to_owned(),
        args: Value::Null,
        state: CallState::Started,
        started_at: later,
        ended_at: None,
    };
    assert_eq!(line.ended(CallState::Done).ended_at, Some(later));
    let mut turn = TurnRecord::begin("t".into(), Vec::new());
    turn.started_at = later;
    let ended = turn.ended(TurnState::Answered, None);
    let memory = Memory::new("a")
        .created_at(later)
        .updated_at(SystemTime::now());
    let records = [
        Record::from(closed),
        line.ended(CallState::Done).into(),
        std::sync::Arc::new(ended).into(),
        memory.build().unwrap().into(),
    ];
    for record in records {
        let mut value = record.to_value().unwrap();
        let read = |value: &Value| Record::from_value(record.kind(), value, &reopen);
        assert_eq!(read(&value).unwrap().to_value().unwrap(), value);
        for (name, field) in value.as_object_mut().unwrap() {
            if matches!(name.as_str(), "updatedAt" | "completedAt" | "endedAt") {
                *field = "2001-01-01T00:00:00Z".into();
            }
        }
        let again = read(&value).unwrap().to_value().unwrap();
        assert_eq!(again, record.to_value().unwrap());
    }
}

#[test]
fn hostile_fields_of_a_conversation_info_are_refused_with_what_is_wrong() {
    let info = ConversationInfo::default;
    let labels = (0..65).fold(info(), |info, n| info.label(n.to_string(), ""));
    let unseen = "must not contain control or invisible characters";
    for (builder, expected) in [
        (info().title(""), "title: must not be empty".to_owned()),
        (
            info().title(" \u{200d}"),
            "title: must not be empty".to_owned(),
        ),
        (info().title("a\0b"), format!("title: {unseen}")),
        (info().title("\u{1b}[2J"), format!("title: {unseen}")),
        (info().title("a\u{202e}b"), format!("title: {unseen}")),
        (info().title("a\u{2028}b"), format!("title: {unseen}")),
        (
            info().title("ä".repeat(257)),
            "title: has 257 characters: at most 256 are allowed".to_owned(),
        ),
        (info().owner(""), "owner: must not be empty".to_owned()),
        (info().owner("a\nb"), format!("owner: {unseen}")),
        (info().owner("a\u{200d}"), format!("owner: {unseen}")),
        (
            info().owner("o".repeat(300)),
            "owner: has 300 characters: at most 256 are allowed".to_owned(),
        ),
        (
            info().label("", "x"),
            "the key of a label: must not be empty".to_owned(),
        ),
        (
            info().label("\t", "x"),
            format!("the key of a label: {unseen}"),
        ),
        (
            info().label("k".repeat(65), "x"),
            "the key of a label: has 65 characters: at most 64 are allowed".to_owned(),
        ),
        (
            info().label("k", "\r"),
            format!("the value of a label: {unseen}"),
        ),
        (
            info().label("k", "v".repeat(257)),
            "the value of a label: has 257 characters: at most 256 are allowed".to_owned(),
        ),
        (
            labels,
            "labels: there are 65: at most 64 are allowed".to_owned(),
        ),
        (
            info().data("d", "x".repeat(256 * 1024)),
            "data: has 262147 bytes: at most 262144 are allowed".to_owned(),
        ),
    ] {
        let error = builder.build().unwrap_err();
        let code = ErrorCode::INVALID_INITIAL_CONVERSATION_INFO_VALUE;
        assert_eq!(error.code(), code);
        let expected = format!("invalid conversation info: {expected}");
        assert!(error.message().starts_with(&expected), "{error}");
    }
}

#[test]
fn a_conversation_info_takes_text_of_all_languages_up_to_its_limits() {
    let labels = (0..64).fold(ConversationInfo::default(), |info, n| {
        info.label(n.to_string(), "")
    });
    let info = labels
        .title("👨‍👩‍👧 می‌خواهم ❤️")
        .owner("ß".repeat(256))
        .data("d", json!({ "a": [1.5, null] }))
        .build()
        .unwrap();
    assert_eq!(info.title.as_deref(), Some("👨‍👩‍👧 می‌خواهم ❤️"));
    assert_eq!((info.labels.len(), info.id()), (64, ConversationInfo::ID));
    assert!(!format!("{info:?}").contains('ß'), "{info:?}");
    assert!(!info.is_empty());
    assert!(ConversationInfo::default().build().unwrap().is_empty());
}

#[test]
fn the_json_of_an_answer_has_only_the_fields_of_its_decision() {
    let read = |json: &str| serde_json::from_str::<GateAnswer>(json);
    for (json, why) in [
        (
            r#"{"decision": "approve", "args": {}}"#,
            "use the decision `edit`",
        ),
        (
            r#"{"decision": "approve", "args": null}"#,
            "use the decision `edit`",
        ),
        (
            r#"{"decision": "approve", "value": 1}"#,
            "no fields but `by` and `note`",
        ),
        (r#"{"decision": "edit"}"#, "requires `args`"),
        (
            r#"{"decision": "edit", "args": {}, "value": 1}"#,
            "no fields but",
        ),
        (
            r#"{"decision": "deny", "args": {}}"#,
            "no fields but `reason`, `by` and `note`",
        ),
        (r#"{"decision": "value"}"#, "requires `value`"),
        (
            r#"{"decision": "value", "value": 1, "reason": "r"}"#,
            "no fields but",
        ),
        (r#"{"decision": "reject"}"#, "requires `reason`"),
        (r#"{"decision": "approve", "reason": "r"}"#, "use `note`"),
        (r#"{"decision": "approve", "by": ""}"#, "id"),
        (
            r#"{"decision": "approve", "resaon": "r"}"#,
            "unknown field `resaon`",
        ),
        (
            r#"{"decision": "yes"}"#,
            "`approve`, `edit`, `deny`, `value`, `reject`",
        ),
        (
            r#"{"approved": true}"#,
            "unknown field `approved`, expected one of `decision`",
        ),
        (
            r#""approve""#,
            r#"expected an object such as {"decision": "approve"}"#,
        ),
    ] {
        let error = read(json).unwrap_err().to_string();
        assert!(error.contains(why), "{json}: {error}");
    }
    for answer in [
        GateAnswer::approve(),
        GateAnswer::approve().by("ada").note("n"),
        GateAnswer::edit(json!({ "n": 1 })).note("n"),
        GateAnswer::edit(Value::Null),
        GateAnswer::deny("r").by("ada"),
        GateAnswer::value(Value::Null).by("ada").note("n"),
        GateAnswer::reject("r"),
    ] {
        let json = serde_json::to_string(&answer).unwrap();
        assert_eq!(read(&json).unwrap(), answer, "{json}");
    }
}
