//! Values from user code: those that cannot be handled or stored are rejected on entry, and those that are accepted can be stored
//! and loaded.

use std::sync::Arc;
use std::thread;
use turnwright_core::gate::GateAnswer;
use turnwright_core::gate::Gates;
use turnwright_core::gate::TurnGate;
use turnwright_core::schema::RawArgs;
use turnwright_core::schema::Schema;
use turnwright_core::tool::IntoToolResult as _;
use turnwright_core::tool::Meta;
use turnwright_core::tool::approval::Approval;
use turnwright_core::tool::approval::ApprovalRequest;
use turnwright_core::tool::approval::PendingCall;
use turnwright_core::tool::approval::Review;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use turnwright_core::media::{Media, MediaKind};
use turnwright_core::middleware::tool_filter_by_meta;
use turnwright_core::record::{ByteResolver, Record, ToolCall};
use turnwright_core::spool::{MemoryReader, MemorySpool};
use turnwright_core::store::{ConversationId, MemoryStore, Query, Store as _};
use turnwright_core::tool::approval::always;
use turnwright_core::trust::TrustTier;
use turnwright_core::*;
use turnwright_testkit::store::storage_of;

use crate::turn::{ScriptedModel, Step};

const RESERVED: [&str; 3] = [
    "$serde_json::private::Number",
    "$serde_json::private::RawValue",
    "$serde_json::private::",
];

/// Depths at which cloning, comparing, writing or dropping a value overflows the stack of an ordinary thread.
const DEPTHS: [usize; 3] = [2_000, 10_000, 100_000];

/// A value with this many levels of alternating arrays and objects.
fn deep(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |value, level| match level % 2 {
        0 => Value::Array(vec![value]),
        _ => Value::Object(Map::from_iter([("a".to_owned(), value)])),
    })
}

fn with_key(key: &str) -> Value {
    json!({ "a": [{ key: "1" }] })
}

/// Runs a check on a thread with the usual stack size, for each value that must be rejected.
fn for_each_bad(check: fn(Value)) {
    let keyed = RESERVED.into_iter().map(with_key);
    for value in DEPTHS.into_iter().map(deep).chain(keyed) {
        let thread = thread::Builder::new().stack_size(2 << 20);
        thread.spawn(move || check(value)).unwrap().join().unwrap();
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().build().unwrap().block_on(work)
}

/// A tool that accepts any object.
fn take(name: &str) -> ToolBuilder<Value> {
    Tool::dynamic(name, json!({ "type": "object" }))
        .description("Takes anything.")
        .handler(|_: Value, _: ToolContext| async { "taken" })
}

/// Everything in the store, serialised and parsed again.
async fn assert_readable(store: &MemoryStore, conversation: &str) {
    let reopen = ByteResolver::new(Arc::new(MemorySpool::default()));
    let conversation_id = ConversationId::new(conversation);
    let loaded = store.load(&conversation_id, &Query::all()).await.unwrap();
    let mut count = 0;
    for record in loaded.into_records() {
        count += 1;
        let text = record.to_json().unwrap();
        let again = Record::from_json(record.kind(), &text, &reopen).unwrap();
        assert_eq!(again.to_json().unwrap(), text);
        // Like stores that hold a value instead of text.
        let value = serde_json::from_str(&text).unwrap();
        let again = Record::from_value(record.kind(), &value, &reopen).unwrap();
        assert_eq!(again.to_json().unwrap(), text);
    }
    assert!(count > 1, "the turn was stored");
}

#[test]
fn arguments_given_as_a_value_are_rejected_and_their_record_can_be_loaded() {
    for_each_bad(|value| {
        let args = RawArgs::from(value);
        let store = MemoryStore::default();
        let model = ScriptedModel::new([Step::call_tool("take", args), Step::say("done")]);
        let runner = runner(model).tool(take("take").build());
        let runner = runner.storage(storage_of(store.clone())).build().unwrap();
        block_on(async {
            let outcome = runner.run(TurnInput::new("go").conversation("c")).await;
            assert!(outcome.is_answered());
            let call = outcome.tool_calls().next().unwrap();
            assert!(call.is_error() && call.args().to_value().is_string());
            assert_readable(&store, "c").await;
        });
    });
}

#[test]
fn a_rewrite_that_cannot_be_handled_is_rejected() {
    for_each_bad(|value| {
        let rewrite = parking_lot::Mutex::new(Some(value));
        let policy = move |_: &PendingCall<'_>| match rewrite.lock().take() {
            Some(value) => Review::Rewrite(value),
            None => Review::Allow,
        };
        let store = MemoryStore::default();
        let model = ScriptedModel::new([Step::call_tool("take", "{}"), Step::say("done")]);
        let runner = runner(model).tool(take("take").build());
        let runner = runner
            .policy(policy)
            .storage(storage_of(store.clone()))
            .build()
            .unwrap();
        block_on(async {
            let outcome = runner.run(TurnInput::new("go").conversation("c")).await;
            assert!(outcome.tool_calls().next().unwrap().is_error());
            assert_readable(&store, "c").await;
        });
    });
}

#[test]
fn an_edit_by_an_approver_that_cannot_be_handled_is_rejected() {
    for_each_bad(|value| {
        let edit = Arc::new(parking_lot::Mutex::new(Some(value)));
        let approver = move |_: ApprovalRequest| {
            let value = edit.lock().take().unwrap();
            async move { Approval::edited(value) }
        };
        let store = MemoryStore::default();
        let model = ScriptedModel::new([Step::call_tool("take", "{}"), Step::say("done")]);
        let runner = runner(model).tool(take("take").build());
        let runner = runner.policy(always("a test")).approver(approver);
        let runner = runner.storage(storage_of(store.clone())).build().unwrap();
        block_on(async {
            let outcome = runner.run(TurnInput::new("go").conversation("c")).await;
            assert!(outcome.tool_calls().next().unwrap().is_error());
            assert_readable(&store, "c").await;
        });
    });
}

/// A turn that waits at a gate without a schema. It receives `answer`, then one that is accepted.
fn at_a_gate(value: Value, answer: fn(&Gates, &str, Value) -> Result<bool, Error>) {
    let asks = |_: Value, ctx: ToolContext| async move {
        let gate = TurnGate::new("any").question("What?").build()?;
        ctx.wait_for(gate).await?;
        Ok::<_, ToolError>("answered")
    };
    let ask = Tool::dynamic("ask", json!({ "type": "object" }))
        .description("Asks.")
        .handler(asks);
    let store = MemoryStore::default();
    let model = ScriptedModel::new([Step::call_tool("ask", "{}"), Step::say("done")]);
    let runner = runner(model).tool(ask.build());
    let runner = runner.storage(storage_of(store.clone())).build().unwrap();
    block_on(async {
        let turn = runner.start(TurnInput::new("go").conversation("c"));
        let mut gates = turn.gates();
        let open = gates.next().await.unwrap();
        let error = answer(&gates, &open.id, value).unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_TURN_GATE_RESOLUTION);
        assert!(gates.answer(&open.id, json!({ "n": [1] })).unwrap());
        assert!(turn.await.is_answered());
        assert_readable(&store, "c").await;
    });
}

#[test]
fn an_answer_that_cannot_be_handled_leaves_its_gate_open() {
    for_each_bad(|value| at_a_gate(value, |gates, id, value| gates.answer(id, value)));
}

#[test]
fn an_edit_at_a_gate_that_cannot_be_handled_leaves_it_open() {
    for_each_bad(|value| {
        at_a_gate(value, |gates, id, value| {
            gates.answer(id, GateAnswer::edit(value))
        });
    });
}

#[test]
fn an_answer_to_a_gate_that_is_not_open_is_dropped_safely() {
    for_each_bad(|value| {
        let model = ScriptedModel::new([Step::say("done")]);
        let runner = runner(model).build().unwrap();
        block_on(async {
            let turn = runner.start("go");
            let error = turn.gates().answer("none", value).unwrap_err();
            assert_eq!(error.code(), ErrorCode::INVALID_TURN_GATE_RESOLUTION);
            assert!(turn.await.is_answered());
        });
    });
}

#[test]
fn a_question_that_cannot_be_handled_is_rejected() {
    for_each_bad(|value| {
        let error = TurnGate::new("any").question(value).build().err().unwrap();
        assert_eq!(error.code(), ErrorCode::INVALID_INITIAL_TURN_GATE_VALUE);
        assert!(error.message().contains("question: has"), "{error}");
    });
}

#[test]
fn a_builder_with_such_a_value_can_be_dropped() {
    for_each_bad(|value| drop(TurnGate::new("any").question(value)));
    for_each_bad(|value| drop(TurnInput::new("go").stash("a", value)));
    for_each_bad(|value| drop(schema::any().default(value)));
    for_each_bad(|value| drop(schema::any().example(value)));
    for_each_bad(|value| drop(schema::any().one_of_values([value])));
    for_each_bad(|value| drop(RawArgs::from(value)));
    for_each_bad(|value| drop(Meta::from(value)));
    for_each_bad(|value| drop(tool_filter_by_meta("a", value)));
}

#[test]
fn a_stash_rejects_values_that_cannot_be_handled() {
    for_each_bad(|value| {
        let stash = Stash::new();
        let error = stash.set("a.b", value).unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_STASH_PATH);
        assert!(
            error.message().contains("was given a value that has"),
            "{error}"
        );
        assert!(!stash.has("a"));
    });
    for_each_bad(|value| {
        let stash = Stash::new();
        stash.set("a", 1).unwrap();
        assert!(stash.update("a", |_| value).is_err());
        assert_eq!(stash.get("a"), Some(json!(1)));
    });
    for key in RESERVED {
        assert!(Stash::new().set(&format!("a.{key}"), 1).is_err());
    }
    // The levels of the path count too.
    let stash = Stash::new();
    assert!(stash.set("a.b", deep(126)).is_ok());
    assert!(stash.set("a.b", deep(127)).is_err());
    assert!(stash.update("a.b", |_| deep(127)).is_err());
}

#[test]
fn a_turn_does_not_start_with_a_stash_that_cannot_be_handled() {
    for_each_bad(|value| {
        let model = ScriptedModel::new([Step::say("done")]);
        let runner = runner(model).build().unwrap();
        let outcome = block_on(runner.run(TurnInput::new("go").stash("a", value)));
        let error = outcome.error().unwrap();
        assert_eq!(error.code(), ErrorCode::INVALID_STASH_PATH);
    });
}

#[test]
fn metadata_that_cannot_be_handled_is_rejected_with_its_tool() {
    for_each_bad(|value| {
        let error = take("take").meta(value).build().unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_INITIAL_TOOL_VALUE);
        assert!(error.message().contains("meta: has"), "{error}");
    });
}

#[test]
fn a_schema_with_such_values_is_rejected() {
    for_each_bad(|value| {
        let object = Schema::object().field("a", schema::any().default(value));
        let error = Error::from(object.build().unwrap_err());
        assert_eq!(error.code(), ErrorCode::INVALID_SCHEMA);
    });
    for_each_bad(|value| {
        let document = Value::Object(Map::from_iter([
            ("type".to_owned(), "object".into()),
            ("default".to_owned(), value),
        ]));
        let error = Error::from(Schema::from_document(document).unwrap_err());
        assert_eq!(error.code(), ErrorCode::INVALID_SCHEMA);
    });
    // Nested by the builder itself.
    let nested = (0..5_000).fold(schema::any(), |inner, _| schema::object().field("a", inner));
    assert!(nested.build().is_err());
}

#[test]
fn edited_arguments_that_cannot_be_stored_are_rejected() {
    let call = ToolCall::builder("t", "{}").edited_args(deep(129));
    let error = call.build().unwrap_err();
    assert!(error.message().contains("edited_args: has"), "{error}");
}

#[test]
fn a_probe_rejects_values_that_cannot_be_handled() {
    for_each_bad(|value| {
        let error = take("take").build().unwrap().probe(&value).unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_TOOL_ARGS);
        drop(schema::admit(value));
    });
}

#[test]
fn a_derived_text_with_a_reserved_name_is_rejected() {
    for name in RESERVED {
        let reader = MemoryReader::new("…");
        let media = Media::tool_generated(MediaKind::Image, "image/png", "a.png", reader);
        let media = media.derived(name, "a text", TrustTier::FirstParty);
        let error = media.build().unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_INITIAL_MEDIA_VALUE);
    }
}

#[test]
fn the_depth_of_output_is_limited_while_it_is_written() {
    #[derive(serde::Serialize)]
    struct Wrapped {
        inner: Value,
    }
    for levels in DEPTHS {
        let thread = thread::Builder::new().stack_size(2 << 20);
        let work = move || {
            let error = Json(deep(levels)).into_tool_result().unwrap_err();
            assert!(error.message().contains("128 levels"));
            assert!(error.model_text().contains("nested too deeply"));
            let inner = deep(levels);
            assert!(Json(Wrapped { inner }).into_tool_result().is_err());
        };
        thread.spawn(work).unwrap().join().unwrap();
    }
    let written = Json(deep(128)).into_tool_result().unwrap();
    assert_eq!(written.as_text(), Some(&*deep(128).to_string()));
    assert!(Json(deep(129)).into_tool_result().is_err());
    // Closed levels do not count.
    let wide = Json(vec![deep(127); 3]).into_tool_result();
    assert!(wide.is_ok());
}

/// The deepest arguments that a tool accepts can be approved in a stored turn.
#[tokio::test]
async fn an_approval_request_can_contain_the_deepest_arguments() {
    let args = json!({ "a": deep(127) });
    let store = MemoryStore::default();
    let model = ScriptedModel::new([Step::call_tool("take", args), Step::say("done")]);
    let runner = runner(model).tool(take("take").build());
    let yes = |_: ApprovalRequest| async { Approval::Granted };
    let runner = runner.policy(always("a test")).approver(yes);
    let runner = runner.storage(storage_of(store.clone())).build().unwrap();
    let outcome = runner.run(TurnInput::new("go").conversation("c")).await;
    assert!(outcome.is_answered(), "{:?}", outcome.error());
    assert!(!outcome.tool_calls().next().unwrap().is_error());
    assert_readable(&store, "c").await;
}

fn name() -> impl Strategy<Value = String> {
    let reserved =
        (0..3_usize, "[a-z]{0,3}").prop_map(|(at, end)| format!("{}{end}", RESERVED[at]));
    prop_oneof![8 => "[a-z$:_.]{0,12}", 1 => reserved]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((name(), inner), 0..5).prop_map(|all| Value::Object(all.into_iter().collect())),
        ]
    });
    // Some are below many levels, around the limit and beyond it.
    let levels = prop_oneof![4 => Just(0_usize), 2 => 118..135_usize, 1 => 500..3_000_usize];
    (tree, levels)
        .prop_map(|(value, levels)| (0..levels).fold(value, |value, _| Value::Array(vec![value])))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// One turn receives a random value at every entry point that leads to the store. Whether it is accepted or not, everything
    /// that was stored can be loaded.
    #[test]
    fn accepted_values_can_be_loaded(
        args in any_value(), stashed in any_value(), answer in any_value(), rewritten in any_value(),
        question in any_value(), derived in name(), edited in any_value(),
    ) {
        let asks = {
            let question = parking_lot::Mutex::new(Some(question));
            move |_: Value, ctx: ToolContext| {
                let question = question.lock().take().unwrap_or_default();
                async move {
                    let gate = TurnGate::new("any").question(question).build();
                    let gate = gate.or_else(|_| TurnGate::new("any").build())?;
                    ctx.wait_for(gate).await?;
                    Ok::<_, ToolError>("answered")
                }
            }
        };
        let ask = Tool::dynamic("ask", json!({ "type": "object" })).description("Asks.").handler(asks).build();
        let rewrite = parking_lot::Mutex::new(Some(rewritten));
        let policy = move |call: &PendingCall<'_>| match call.tool().name() {
            "take" => rewrite.lock().take().map_or(Review::Allow, Review::Rewrite),
            _ => Review::Allow,
        };
        let reader = MemoryReader::new("…");
        let media = Media::tool_generated(MediaKind::Image, "image/png", "a.png", reader);
        let media = media.derived(derived, "a text", TrustTier::FirstParty).build();
        let store = MemoryStore::default();
        let model = ScriptedModel::new([
            Step::call_tool("take", args).call("ask", "{}"), Step::say("done"),
        ]);
        let runner = runner(model).tool(take("take").build()).tool(ask);
        let runner = runner.policy(policy).storage(storage_of(store.clone())).build().unwrap();
        let input = |text: &str| TurnInput::new(text).conversation("c");
        // A turn does not start with a value that a stash rejects.
        let stash = Stash::new();
        let begun = match stash.set("a", stashed) {
            Ok(_) => input("go").stash("a", stash.get("a").unwrap()),
            Err(_) => input("go"),
        };
        let begun = match media {
            Ok(media) => begun.media(media),
            Err(_) => begun,
        };
        block_on(async {
            let turn = runner.start(begun);
            let mut gates = turn.gates();
            let open = gates.next().await.unwrap();
            let taken = gates.answer(&open.id, answer);
            if !taken.unwrap_or(false) {
                assert!(gates.answer(&open.id, json!("short")).unwrap());
            }
            let outcome = turn.await;
            assert!(outcome.is_answered(), "{:?}", outcome.error());
            assert_readable(&store, "c").await;
        });
        if let Ok(call) = ToolCall::builder("t", "{}").edited_args(edited).build() {
            let (record, reopen) = (Record::from(call), ByteResolver::new(Arc::new(MemorySpool::default())));
            let text = record.to_json().unwrap();
            prop_assert_eq!(Record::from_json(record.kind(), &text, &reopen).unwrap().to_json().unwrap(), text);
        }
    }
}
