use rusqlite::Connection;

use super::super::apply::checksum;
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

/// Whoever asks for a page of a million records waits for that page.
#[test]
fn a_page_is_read_in_the_order_of_places_and_nothing_is_sorted() {
    let conn = Connection::open_in_memory().unwrap();
    format::upgrade(&conn).unwrap();
    for kinds in 0..=RecordKind::ALL.len() {
        for newest in [false, true] {
            let plan = plan(&conn, &by_place_sql(kinds, newest));
            let by_place =
                "USING INDEX records_by_position (scope=? AND position>? AND position<?)";
            assert!(plan.contains(by_place), "{plan}");
            assert!(!plan.contains("B-TREE"), "{plan}");
        }
    }
}

#[test]
fn a_record_is_found_in_whatever_scopes_hold_it_without_looking_at_others() {
    let conn = Connection::open_in_memory().unwrap();
    format::upgrade(&conn).unwrap();
    let plan = plan(&conn, HOLDING);
    let by_id = "records USING COVERING INDEX records_by_id (kind=? AND id=?)";
    assert!(plan.contains(by_id), "{plan}");
    let by_row = "scopes USING INTEGER PRIMARY KEY";
    assert!(plan.contains(by_row), "{plan}");
}

#[test]
fn what_nobody_waits_for_any_more_is_not_read_to_its_end() {
    let mut conn = Connection::open_in_memory().unwrap();
    format::upgrade(&conn).unwrap();
    conn.execute_batch("INSERT INTO scopes VALUES (1, 'chat', 1, 0, 1000, 0)")
        .unwrap();
    let nothing = Reopen::new(std::sync::Arc::new(
        turnwright_core::spool::MemorySpool::default(),
    ));
    for place in 1..=1_000 {
        let record = turnwright_core::record::Memory::new("x").id(place.to_string());
        let record = turnwright_core::record::Record::from(record.build().unwrap());
        let body = record.to_json().unwrap();
        conn.execute(
            "INSERT INTO records VALUES (?1, 1, ?1, 'memory', ?2, 0, 0, ?3, ?4, 0)",
            params![place, record.id(), checksum(body.as_bytes()), body],
        )
        .unwrap();
    }
    let scope = Scope::new("chat");
    let mut read = |query: &Query, waits: bool| {
        let loaded = load(&mut conn, &scope, query, &nothing, &|| waits);
        loaded.map(|it| it.records.len()).ok()
    };
    assert_eq!(read(&Query::all(), true), Some(1_000));
    assert_eq!(read(&Query::all(), false), None);
    assert_eq!(read(&Query::all().limit(100), false), Some(100));
}
