//! Arguments, rewrites, edits and answers given as values: those that cannot be stored are rejected, and those that are accepted
//! can be stored and loaded.

use std::sync::Arc;
use turnwright_core::gate::GateAnswer;
use turnwright_core::gate::Gates;
use turnwright_core::gate::TurnGate;
use turnwright_core::schema::RawArgs;
use turnwright_core::schema::Schema;
use turnwright_core::tool::approval::ApprovalRequest;
use turnwright_core::tool::approval::PendingCall;
use turnwright_core::tool::approval::Review;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use turnwright_core::record::{ByteResolver, Record};
use turnwright_core::spool::MemorySpool;
use turnwright_core::store::{ConversationId, MemoryStore, Query, Store as _};
use turnwright_core::tool::approval::always;
use turnwright_core::*;
use turnwright_testkit::store::storage_of;

use crate::turn::{ScriptedModel, Step};

const RESERVED: [&str; 3] = [
    "$serde_json::private::Number",
    "$serde_json::private::RawValue",
    "$serde_json::private::",
];

/// Beyond the limit of 128 levels.
const DEPTHS: [usize; 2] = [129, 500];

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

/// Runs a check for each value that must be rejected.
fn for_each_bad(check: fn(Value)) {
    let keyed = RESERVED.into_iter().map(with_key);
    for value in DEPTHS.into_iter().map(deep).chain(keyed) {
        check(value);
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
            async move { GateAnswer::edit(value) }
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
fn a_schema_with_such_values_is_rejected() {
    for_each_bad(|value| {
        let document = Value::Object(Map::from_iter([
            ("type".to_owned(), "object".into()),
            ("default".to_owned(), value),
        ]));
        let error = Error::from(Schema::from_document(document).unwrap_err());
        assert_eq!(error.code(), ErrorCode::INVALID_SCHEMA);
    });
}

#[test]
fn a_probe_rejects_values_that_cannot_be_handled() {
    for_each_bad(|value| {
        let error = take("take").build().unwrap().probe(&value).unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_TOOL_ARGS);
    });
}

/// The deepest arguments that a tool accepts can be approved in a stored turn.
#[tokio::test]
async fn an_approval_request_can_contain_the_deepest_arguments() {
    let args = json!({ "a": deep(127) });
    let store = MemoryStore::default();
    let model = ScriptedModel::new([Step::call_tool("take", args), Step::say("done")]);
    let runner = runner(model).tool(take("take").build());
    let yes = |_: ApprovalRequest| async { GateAnswer::approve() };
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
    let levels = prop_oneof![4 => Just(0_usize), 2 => 118..135_usize, 1 => 500..600_usize];
    (tree, levels)
        .prop_map(|(value, levels)| (0..levels).fold(value, |value, _| Value::Array(vec![value])))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, failure_persistence: None, ..ProptestConfig::default() })]

    /// One turn receives random arguments, rewrites and answers. Whether they are accepted or not, everything that was stored can
    /// be loaded.
    #[test]
    fn accepted_values_can_be_loaded(
        args in any_value(), answer in any_value(), rewritten in any_value(),
    ) {
        let asks = |_: Value, ctx: ToolContext| async move {
            ctx.wait_for(TurnGate::new("any").build()?).await?;
            Ok::<_, ToolError>("answered")
        };
        let ask = Tool::dynamic("ask", json!({ "type": "object" })).description("Asks.").handler(asks).build();
        let rewrite = parking_lot::Mutex::new(Some(rewritten));
        let policy = move |call: &PendingCall<'_>| match call.tool().name() {
            "take" => rewrite.lock().take().map_or(Review::Allow, Review::Rewrite),
            _ => Review::Allow,
        };
        let store = MemoryStore::default();
        let model = ScriptedModel::new([
            Step::call_tool("take", args).call("ask", "{}"), Step::say("done"),
        ]);
        let runner = runner(model).tool(take("take").build()).tool(ask);
        let runner = runner.policy(policy).storage(storage_of(store.clone())).build().unwrap();
        block_on(async {
            let turn = runner.start(TurnInput::new("go").conversation("c"));
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
    }
}
