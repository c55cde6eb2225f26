//! Custom artifact kinds after a restart, with the storage that `Storage::sqlite` opens.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::{Value, json};
use turnwright_core::artifact::{ArtifactKind, Query, SpooledArtifact};
use turnwright_core::event::{EventKind, Level};
use turnwright_core::gate::TurnGate;
use turnwright_core::middleware::fetch_tools;
use turnwright_core::record::{Record, ToolCall};
use turnwright_core::runner::TurnRunnerBuilder;
use turnwright_core::store::{ConversationId, StoreExt as _};
use turnwright_core::{
    BoxError, DispatchContext, Error, Storage, Tool, ToolBuilder, ToolContext, ToolOutput,
    TurnInput, TurnRunner, TurnStatus,
};
use turnwright_sqlite::SqliteStorage as _;

use crate::folder::Folder;

static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(|| {
    let size = |ini: SpooledArtifact, _: BTreeMap<String, String>| async move {
        Ok::<_, Error>(format!("{} bytes", ini.byte_length()))
    };
    vec![Query::new("artifact_ini_size", "How long it is.", size)]
});
const INI: ArtifactKind = ArtifactKind::new("ini", || &QUERIES);
const OWN_JSON: ArtifactKind = ArtifactKind::new("json", || &QUERIES);

/// Calls the tool that its input names, for the first result if there is one, and answers with what it returned.
async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    let name = ctx.input().map(|message| message.text().to_owned());
    let name = name.unwrap_or_default();
    let first = ctx.records().all::<ToolCall>();
    let args = match first.first() {
        None => json!({}),
        Some(call) => json!({ "callId": call.id() }),
    };
    let call = ctx.call(&name, args).await;
    ctx.answer(call.text().await.unwrap_or_default()).await?;
    Ok(())
}

type Logged = Arc<Mutex<Vec<String>>>;

fn tool(name: &str) -> ToolBuilder<Value> {
    Tool::dynamic(name, json!({ "type": "object" })).description("Returns a file.")
}

async fn large(_: Value, _: ToolContext) -> String {
    "a=1\n".repeat(2_000)
}

fn declared(kind: ArtifactKind) -> Result<Tool, Error> {
    tool("declared").artifact_kind(kind).handler(large).build()
}

/// Notes the warnings of all turns.
fn observed(runner: TurnRunnerBuilder, logged: &Logged) -> TurnRunnerBuilder {
    let log = Arc::clone(logged);
    runner.observer(move |event| {
        if let EventKind::Log {
            level: Level::Warn,
            message,
            ..
        } = &event.kind
        {
            log.lock().unwrap().push(message.clone());
        }
    })
}

/// A runner whose tool has this kind, and one that returns an artifact of a kind that it does not have.
fn runner(storage: Storage, kind: ArtifactKind) -> (TurnRunner, Logged) {
    let undeclared = tool("undeclared").handler(async |args: Value, ctx: ToolContext| {
        ToolOutput::text(large(args, ctx).await).of_kind(INI)
    });
    let logged = Logged::default();
    let runner = turnwright_core::runner(model)
        .storage(storage)
        .tool(declared(kind))
        .tool(undeclared.build());
    (observed(runner, &logged).build().unwrap(), logged)
}

async fn run(folder: &Folder, kind: ArtifactKind, text: &str) -> (String, Vec<String>) {
    let storage = Storage::sqlite(folder.file()).await.unwrap();
    let (runner, logged) = runner(storage, kind);
    let outcome = runner.run(TurnInput::new(text).conversation("chat")).await;
    let logged = logged.lock().unwrap().clone();
    (outcome.into_answer().unwrap(), logged)
}

#[tokio::test]
async fn kind_of_a_tool_is_known_after_a_restart_without_a_second_registration() {
    let folder = Folder::new();
    run(&folder, INI, "declared").await;
    let (answer, logged) = run(&folder, INI, "artifact_ini_size").await;
    assert_eq!(answer, "8000 bytes");
    assert_eq!(logged, [] as [String; 0]);
}

#[tokio::test]
async fn kind_is_text_by_name_without_its_tool_and_the_conversation_stays_readable() {
    let folder = Folder::new();
    run(&folder, INI, "declared").await;
    let (answer, logged) = run(&folder, ArtifactKind::TEXT, "artifact_byte_length").await;
    assert!(answer.contains("8000"), "{answer}");
    assert_eq!(logged.len(), 1, "{logged:?}");
    assert!(logged[0].contains("`ini`") && logged[0].contains("`ByteResolver::kind`"));
    let storage = Storage::sqlite(folder.file()).await.unwrap();
    let calls = storage.store().tool_calls("chat").await.unwrap();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].artifacts()[0].unknown_kind(), Some("ini"));
}

#[tokio::test]
async fn kind_of_a_tool_that_a_layer_fetches_is_known_after_a_restart() {
    let folder = Folder::new();
    run(&folder, INI, "declared").await;
    let storage = Storage::sqlite(folder.file()).await.unwrap();
    let logged = Logged::default();
    let fetched = fetch_tools(async |_| Ok(vec![declared(INI)?]));
    let runner = observed(turnwright_core::runner(model).storage(storage), &logged)
        .turn_input(fetched)
        .build()
        .unwrap();
    let input = TurnInput::new("artifact_ini_size").conversation("chat");
    assert_eq!(runner.run(input).await.text, "8000 bytes");
    assert_eq!(*logged.lock().unwrap(), [] as [String; 0]);
}

#[tokio::test]
async fn kind_of_a_tool_is_known_to_a_resumed_turn_and_to_an_attached_one() {
    async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
        if ctx.records().all::<ToolCall>().is_empty() {
            ctx.call("declared", "{}").await;
        }
        let gate = TurnGate::new("go_on").question("Go on?").build()?;
        ctx.turn().wait_for(gate).await?;
        let first = ctx.records().all::<ToolCall>()[0].id().to_owned();
        let size = ctx.call("artifact_ini_size", json!({ "callId": first }));
        ctx.answer(size.await.text().await.unwrap_or_default())
            .await?;
        Ok(())
    }
    let folder = Folder::new();
    let open = async || {
        let storage = Storage::sqlite(folder.file()).await.unwrap();
        let runner = turnwright_core::runner(model).storage(storage);
        runner
            .tool(declared(INI))
            .suspend_at_gates()
            .build()
            .unwrap()
    };
    let outcome = open()
        .await
        .run(TurnInput::new("go").conversation("chat"))
        .await;
    let TurnStatus::Suspended { gates, .. } = &outcome.status else {
        panic!("{outcome:?}");
    };
    let runner = open().await;
    let resumed = runner.answer_gate("chat", &*gates[0].id, json!("yes"));
    assert_eq!(resumed.await.unwrap().await.text, "8000 bytes");

    let attached = open()
        .await
        .attach("chat", &*outcome.turn_id)
        .await
        .unwrap();
    let records = attached.await.records;
    let artifacts = records.iter().flat_map(Record::artifacts);
    let kinds: Vec<_> = artifacts
        .map(|one| (one.kind(), one.unknown_kind()))
        .collect();
    assert_eq!(kinds, [(INI, None)]);
}

#[tokio::test]
async fn kind_with_the_name_of_another_one_fails_in_build() {
    const OTHER_INI: ArtifactKind = ArtifactKind::new("ini", || &[]);
    let build = |kinds: &[ArtifactKind]| {
        let runner = turnwright_core::runner(model);
        let tools = kinds.iter().zip(["one", "two"]);
        let tools =
            tools.map(|(kind, name)| tool(name).artifact_kind(*kind).handler(large).build());
        tools.fold(runner, |runner, tool| runner.tool(tool)).build()
    };
    build(&[INI, INI]).unwrap();
    build(&[ArtifactKind::JSON, INI]).unwrap();
    for (kinds, named) in [
        (&[OWN_JSON][..], "`json` of the tool `one`"),
        (&[INI, OTHER_INI], "`ini` of the tool `two`"),
    ] {
        let error = build(kinds).unwrap_err();
        assert_eq!(error.code().as_str(), "E_INVALID_TURN_RUNNER_CONFIG");
        assert!(error.message().contains(named), "{error}");
    }
}

#[tokio::test]
async fn kind_with_the_name_of_another_one_fails_the_turn_that_its_tool_joins() {
    let runner = || turnwright_core::runner(model);
    let input = || TurnInput::new("declared");
    let fetched = fetch_tools(async |_| Ok(vec![declared(OWN_JSON)?]));
    let fetches = runner().turn_input(fetched).build().unwrap();
    let given = input().tool(declared(OWN_JSON));
    for (runner, input) in [(fetches, input()), (runner().build().unwrap(), given)] {
        let outcome = runner.run(input).await;
        let error = outcome.error().unwrap();
        assert_eq!(error.code().as_str(), "E_INVALID_TURN_CONTEXT");
        assert!(
            error.message().contains("`json` of the tool `declared`"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn unknown_kind_is_read_as_text_and_reported_by_name() {
    let folder = Folder::new();
    run(&folder, ArtifactKind::TEXT, "undeclared").await;
    let (answer, logged) = run(&folder, ArtifactKind::TEXT, "artifact_byte_length").await;
    assert!(answer.contains("8000"), "{answer}");
    assert_eq!(logged.len(), 1, "{logged:?}");
    assert!(logged[0].contains("`ini`") && logged[0].contains("`ByteResolver::kind`"));

    let storage = Storage::sqlite(folder.file()).await.unwrap();
    let (store, chat) = (storage.store(), ConversationId::new("chat"));
    let calls = store.tool_calls(&chat).await.unwrap();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].artifacts()[0].unknown_kind(), Some("ini"));
    // Stored again, it is still of its kind, for a runner that knows it.
    store.put(&chat, Arc::clone(&calls[0])).await.unwrap();
    let (answer, logged) = run(&folder, INI, "artifact_ini_size").await;
    assert_eq!((answer.as_str(), logged.len()), ("8000 bytes", 0));
}
