use rusqlite::Connection;

use super::super::encode::checksum;
use super::*;

fn plan(conn: &Connection, sql: &str) -> String {
    let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let asked = statement.parameter_count();
    let rows = statement.query_map(params_from_iter(vec![1; asked]), |row| {
        row.get::<_, String>(3)
    });
    let rows = rows.unwrap().map(Result::unwrap);
    rows.collect::<Vec<_>>().join("; ")
}

/// A page of a long conversation is read through an index, without sorting or skipping.
#[test]
fn page_is_read_through_an_index_without_sorting() {
    let conn = Connection::open_in_memory().unwrap();
    format::create(&conn).unwrap();
    for kinds in 0..=RecordKind::ALL.len() {
        for newest in [false, true] {
            let plan = plan(&conn, &by_position_sql(kinds, newest));
            let (part, parts) = match kinds {
                0 => (
                    "records_by_position (conversation=? AND position>? AND position<?)",
                    1,
                ),
                kinds => (
                    "records_by_kind (conversation=? AND kind=? AND position>? AND position<?)",
                    kinds,
                ),
            };
            assert_eq!(plan.matches(part).count(), parts, "{plan}");
            assert_eq!(plan.matches("SEARCH").count(), parts, "{plan}");
            assert!(!plan.contains("B-TREE") && !plan.contains("SCAN"), "{plan}");
        }
    }
}

/// The other statements that a turn reads and writes with.
#[test]
fn record_is_found_by_kind_and_id_through_an_index() {
    let conn = Connection::open_in_memory().unwrap();
    format::create(&conn).unwrap();
    let plan = plan(&conn, BY_ID);
    let by_id = "SEARCH records USING INDEX records_by_id (kind=? AND id=? AND conversation=?)";
    assert_eq!(plan, by_id);
}

#[test]
fn load_stops_when_the_caller_no_longer_waits() {
    let mut conn = Connection::open_in_memory().unwrap();
    format::create(&conn).unwrap();
    conn.execute_batch("INSERT INTO conversations (conversation, conversation_id, revision, fencing_token, last_position, written_at) VALUES (1, 'chat', 1, 0, 1000, 0)")
        .unwrap();
    let nothing = ByteResolver::new(std::sync::Arc::new(
        turnwright_core::spool::MemorySpool::default(),
    ));
    for place in 1..=1_000 {
        let record = turnwright_core::record::Memory::new("x").id(place.to_string());
        let record = turnwright_core::record::Record::from(record.build().unwrap());
        let body = record.to_json().unwrap();
        conn.execute(
            "INSERT INTO records (record, conversation, position, kind, id, written_at, bytes, checksum, body) VALUES (?1, 1, ?1, 'memory', ?2, 0, 0, ?3, ?4)",
            params![place, record.id(), checksum(body.as_bytes()), body],
        )
        .unwrap();
    }
    let conversation_id = ConversationId::new("chat");
    let mut read = |query: &Query, waits: bool| {
        let loaded = load(&mut conn, &conversation_id, query, &nothing, &|| waits);
        loaded.map(|loaded| loaded.records.len()).ok()
    };
    assert_eq!(read(&Query::all(), true), Some(1_000));
    assert_eq!(read(&Query::all(), false), None);
    assert_eq!(read(&Query::all().limit(100), false), Some(100));
}
