//! Loading of many records.

use rusqlite::Connection;
use turnwright_core::record::RecordKind;
use turnwright_core::store::{ConversationId, Position, Query, Store as _, StoreExt as _};
use turnwright_sqlite::SqliteStore;

use crate::folder::Folder;
use crate::{line, note};

const RECORDS: u64 = 3_000;

fn conversation_id() -> ConversationId {
    ConversationId::new("chat")
}

/// Writes records, some of them large; every tenth is a ledger entry.
async fn filled(folder: &Folder) -> SqliteStore {
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let records = (1..=RECORDS).map(|n| match n {
        _ if n % 10 == 0 => line(&n.to_string(), "done"),
        _ if n % 501 == 0 => note(&n.to_string(), &"x".repeat(300_000)),
        _ => note(&n.to_string(), "x"),
    });
    store.put_all(&conversation_id(), records).await.unwrap();
    store
}

#[tokio::test]
async fn records_are_loaded_in_order_for_every_query() {
    let folder = Folder::new();
    let store = filled(&folder).await;
    let all: Vec<u64> = (1..=RECORDS).collect();
    let of_kind: Vec<u64> = all.iter().copied().filter(|n| n % 10 != 0).collect();
    let memories = || Query::all().kind(RecordKind::Memory);
    let between = Query::all().after(Position(100)).before(Position(2_900));
    let cases: [(Query, &[u64]); 7] = [
        (Query::all(), &all),
        (Query::all().limit(256), &all[..256]),
        (Query::all().limit(257), &all[..257]),
        (Query::all().newest(1_000), &all[2_000..]),
        (between, &all[100..2_899]),
        (memories(), &of_kind),
        (memories().newest(600), &of_kind[2_100..]),
    ];
    for (query, promised) in cases {
        let loaded = store.load(&conversation_id(), &query).await.unwrap();
        let found = loaded.records.iter();
        let found: Vec<u64> = found
            .map(|entry| {
                assert_eq!(entry.record.id(), entry.position.0.to_string());
                entry.position.0
            })
            .collect();
        assert_eq!(found, promised, "{query:?}");
    }
}

#[tokio::test]
async fn damaged_records_are_reported_in_order() {
    let folder = Folder::new();
    let store = filled(&folder).await;
    let conn = Connection::open(folder.file()).unwrap();
    let damage =
        "UPDATE records SET body = replace(body, 'x', 'y') WHERE position IN (777, 1999, 2999)";
    assert_eq!(conn.execute(damage, []).unwrap(), 3);
    let cases: [(Query, &[u64]); 4] = [
        (Query::all(), &[777, 1999, 2999]),
        (Query::all().after(Position(777)), &[1999, 2999]),
        (Query::all().newest(900), &[2999]),
        (Query::all().limit(776), &[]),
    ];
    for (query, damaged) in cases {
        let loaded = store.load(&conversation_id(), &query).await.unwrap();
        let found: Vec<u64> = loaded
            .damaged
            .iter()
            .map(|entry| entry.position.0)
            .collect();
        assert_eq!(found, damaged, "{query:?}");
        let places = loaded.records.iter().map(|entry| entry.position);
        assert!(places.is_sorted());
        let most = query.limit.unwrap_or(RECORDS as usize);
        let after = query.after.map_or(0, |after| after.0 as usize);
        assert_eq!(loaded.count(), most.min(RECORDS as usize - after));
    }
}
