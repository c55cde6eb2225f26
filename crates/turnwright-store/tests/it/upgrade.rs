//! Files of earlier formats: the first one, made by hand as the first release made it, and the fourth, written by its release.

use std::path::Path;

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use turnwright_core::record::TurnState;
use turnwright_core::store::{
    Changes, ConversationId, Query, Revision, Store as _, StoreExt as _, TurnFilter,
};
use turnwright_core::tool::approval::always;
use turnwright_core::tool::approval::{Approval, ApprovalRequest};
use turnwright_core::{BoxError, DispatchContext, Tool, ToolContext, TurnInput};
use turnwright_store::sqlite::{Retention, SqliteErrorKind, SqliteStore};
use turnwright_testkit::store::storage_of;

use crate::folder::Folder;
use crate::{kind, line, note};

fn first_format(folder: &Folder) {
    let conn = Connection::open(folder.file()).unwrap();
    conn.execute_batch(include_str!("../../src/sqlite/format/1.sql"))
        .unwrap();
    conn.pragma_update(None, "application_id", 0x5457_5354)
        .unwrap();
    conn.pragma_update(None, "user_version", 1).unwrap();
    for (row, name) in [(1, "quiet"), (2, "busy"), (3, "emptied")] {
        conn.execute(
            "INSERT INTO scopes VALUES (?1, ?2, 3, 7, 2, 0)",
            params![row, name],
        )
        .unwrap();
    }
    let records = [
        (1, 1, note("a", "kept")),
        (1, 2, line("k", "done")),
        (2, 1, note("a", "kept")),
        (2, 2, line("k", "begun")),
    ];
    for (conversation_id, place, record) in records {
        let body = record.to_value().unwrap().to_string();
        let values = params![
            conversation_id,
            place,
            record.kind().as_str(),
            record.id(),
            body.len(),
            crc32fast::hash(body.as_bytes()),
            body
        ];
        conn.execute(
            "INSERT INTO records (scope, position, kind, id, written_at, bytes, checksum, body)
             VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7)",
            values,
        )
        .unwrap();
    }
}

#[tokio::test]
async fn an_earlier_format_is_upgraded_with_all_that_is_in_it() {
    let folder = Folder::new();
    first_format(&folder);

    // For reading only it stays what it is.
    let error = SqliteStore::builder(folder.file())
        .read_only()
        .open()
        .await
        .unwrap_err();
    assert_eq!(kind(&error), SqliteErrorKind::OlderFormat { found: 1 });

    let store = SqliteStore::open(folder.file()).await.unwrap();
    store.integrity_check().await.unwrap();
    let (quiet, busy) = (ConversationId::new("quiet"), ConversationId::new("busy"));
    let loaded = store.load(&quiet, &Query::all()).await.unwrap();
    assert_eq!((loaded.revision, loaded.records.len()), (Revision(3), 2));
    assert_eq!(
        store.put(&quiet, note("b", "new")).await.unwrap(),
        Revision(4)
    );
    let late = turnwright_core::store::Batch::new().fencing_token(6);
    assert_eq!(
        store.apply(&quiet, late).await.unwrap_err().fenced_by(),
        Some(7)
    );

    // Nor is a name kept that an earlier release kept; its numbers are.
    let conn = Connection::open(folder.file()).unwrap();
    let stored: i64 = conn
        .query_row(
            "SELECT count(*) FROM conversations WHERE conversation_id = 'emptied'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let emptied = store
        .load(&ConversationId::new("emptied"), &Query::all())
        .await;
    assert_eq!((stored, emptied.unwrap().revision), (0, Revision(3)));

    // What the new format knows is true of the old records.
    let report = store
        .apply_retention(&Retention::default().max_bytes(0))
        .await
        .unwrap();
    assert_eq!(
        (report.conversations, report.unfinished),
        (vec![quiet], vec![busy])
    );
    store.close().await.unwrap();
    let conn = Connection::open(folder.file()).unwrap();
    let format: i64 = conn
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(format, 6);
}

#[tokio::test]
async fn stores_that_open_an_earlier_format_at_once_upgrade_it_once() {
    let folder = Folder::new();
    first_format(&folder);
    let file = folder.file();
    let (a, b, c) = tokio::join!(
        SqliteStore::open(&file),
        SqliteStore::open(&file),
        SqliteStore::open(&file)
    );
    for store in [a, b, c] {
        let store = store.unwrap();
        assert_eq!(
            store
                .records(&ConversationId::new("busy"))
                .await
                .unwrap()
                .len(),
            2
        );
    }
}

/// A database that the release before format 5 wrote: the turn `turn-1` has ended and has a result in the spool. The process
/// died while `turn-2` waited at a gate.
fn fourth_format(folder: &Folder) -> std::path::PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let (file, results) = (
        folder.path().join("format-4.db"),
        folder.path().join("format-4.db.results"),
    );
    std::fs::copy(from.join("format-4.db"), &file).unwrap();
    std::fs::create_dir(&results).unwrap();
    for entry in std::fs::read_dir(from.join("format-4.db.results")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), results.join(entry.file_name())).unwrap();
    }
    file
}

/// Calls the tool that its input names, then answers.
async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    let asked = ctx.input().map(|message| message.text().to_owned());
    match asked.as_deref() {
        Some(tool) if ctx.records().own_tool_calls().is_empty() => drop(ctx.call(tool, "{}").await),
        _ => drop(ctx.answer("Done.").await?),
    }
    Ok(())
}

#[tokio::test]
async fn a_conversation_of_the_fourth_format_is_found_and_resumed() {
    let folder = Folder::new();
    let store = SqliteStore::open(fourth_format(&folder)).await.unwrap();
    store.integrity_check().await.unwrap();
    let chat = ConversationId::new("chat");

    let waiting = store
        .find_turns(&TurnFilter::all().waiting())
        .await
        .unwrap();
    let [turn] = waiting.as_slice() else {
        panic!("{waiting:?}");
    };
    assert_eq!((&turn.conversation, &*turn.turn_id), (&chat, "turn-2"));
    assert_eq!((turn.open_gates.len(), turn.damaged.len()), (1, 0));
    assert!(turn.lease.is_some());
    let ended = TurnFilter::all().state(TurnState::Answered);
    let ended = store.find_turns(&ended).await.unwrap();
    assert_eq!(ended[0].turn_id, "turn-1");

    // Nothing is known of changes before the upgrade.
    let revision = store
        .load(&chat, &Query::all().limit(0))
        .await
        .unwrap()
        .revision;
    let before = store
        .changed(&chat, Revision(revision.0 - 1))
        .await
        .unwrap();
    assert!(matches!(before, Changes::Unknown));
    let calls = store.tool_calls(&chat).await.unwrap();
    assert_eq!(calls[0].text().await.unwrap(), "x".repeat(70_000));

    let pay = Tool::dynamic("pay", json!({ "type": "object" }))
        .description("Pays.")
        .approval(always("it costs"))
        .handler(|_: Value, _: ToolContext| async { "paid" })
        .build()
        .unwrap();
    let runner = turnwright_core::runner(model)
        .storage(storage_of(store.clone()))
        .tool(pay)
        .approver(|_: ApprovalRequest| async { Approval::Granted })
        .build()
        .unwrap();
    let outcome = runner.resume("turn-2").await.unwrap().await;
    assert!(outcome.is_answered(), "{outcome:?}");
    let input = TurnInput::new("pay").conversation("chat");
    assert!(runner.run(input).await.is_answered());

    let Changes::Since { put, .. } = store.changed(&chat, revision).await.unwrap() else {
        panic!("the changes since the upgrade are known");
    };
    assert!(!put.records.is_empty());
    let waiting = store
        .find_turns(&TurnFilter::all().waiting())
        .await
        .unwrap();
    assert!(waiting.is_empty(), "{waiting:?}");
    store.integrity_check().await.unwrap();
}

#[tokio::test]
async fn the_integrity_check_finds_indexes_and_numbers_that_cannot_be_right() {
    for damage in [
        "UPDATE conversations SET revision = -1",
        "UPDATE conversations SET changes_from = -5",
        "UPDATE conversations SET last_batch_id = x'00'",
        "UPDATE batches SET records = '['",
        "UPDATE records SET turn_state = 'lost' WHERE kind = 'turn'",
        "UPDATE records SET turn_state = NULL WHERE kind = 'turn'",
        "UPDATE records SET began_at = NULL WHERE kind = 'turn'",
    ] {
        let folder = Folder::new();
        let file = fourth_format(&folder);
        let store = SqliteStore::open(&file).await.unwrap();
        let other = ConversationId::new("other");
        store.put(&other, note("a", "x")).await.unwrap();
        store.integrity_check().await.unwrap();
        Connection::open(&file)
            .unwrap()
            .execute(damage, [])
            .unwrap();
        let error = store.integrity_check().await.unwrap_err();
        assert_eq!(kind(&error), SqliteErrorKind::Corrupt, "{damage}");
    }
}
