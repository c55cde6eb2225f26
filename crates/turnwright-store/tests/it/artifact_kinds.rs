//! Custom artifact kinds after a restart, with the storage that `Storage::sqlite` opens.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::{Value, json};
use turnwright_core::artifact::{ArtifactKind, Query, SpooledArtifact};
use turnwright_core::event::{EventKind, Level};
use turnwright_core::record::ToolCall;
use turnwright_core::store::{ConversationId, StoreExt as _};
use turnwright_core::{
    BoxError, DispatchContext, Error, Storage, Tool, ToolContext, ToolOutput, TurnInput, TurnRunner,
};
use turnwright_store::sqlite::SqliteStorage as _;

use crate::folder::Folder;

static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(|| {
    let size = |ini: SpooledArtifact, _: BTreeMap<String, String>| async move {
        Ok::<_, Error>(format!("{} bytes", ini.byte_length()))
    };
    vec![Query::new("artifact_ini_size", "How long it is.", size)]
});
const INI: ArtifactKind = ArtifactKind::new("ini", || &QUERIES);

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

/// A runner whose tool has this kind, and one that returns an artifact of a kind that it does not have.
fn runner(storage: Storage, kind: ArtifactKind) -> (TurnRunner, Logged) {
    let tool = |name: &str| {
        Tool::dynamic(name, json!({ "type": "object" })).description("Returns a file.")
    };
    let large = || "a=1\n".repeat(2_000);
    let declared = tool("declared")
        .artifact_kind(kind)
        .handler(move |_: Value, _: ToolContext| async move { large() });
    let undeclared = tool("undeclared").handler(move |_: Value, _: ToolContext| async move {
        ToolOutput::text(large()).of_kind(INI)
    });
    let logged = Logged::default();
    let log = Arc::clone(&logged);
    let runner = turnwright_core::runner(model)
        .storage(storage)
        .tool(declared.build())
        .tool(undeclared.build())
        .observer(move |event| {
            if let EventKind::Log {
                level: Level::Warn,
                message,
                ..
            } = &event.kind
            {
                log.lock().unwrap().push(message.clone());
            }
        });
    (runner.build().unwrap(), logged)
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
