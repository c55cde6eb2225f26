use rusqlite::Connection;

use super::*;

fn tables(conn: &Connection) -> Vec<String> {
    let mut statement = conn
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        .unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn empty_database_goes_through_all_steps() {
    let conn = Connection::open_in_memory().unwrap();
    assert_eq!(look(&conn).unwrap(), Found::Nothing);
    upgrade(&conn).unwrap();
    assert_eq!(look(&conn).unwrap(), Found::Current);
    assert_eq!(
        tables(&conn),
        [
            "artifacts",
            "batches",
            "conversations",
            "deleted_conversations",
            "deletions",
            "labels",
            "media",
            "orphans",
            "records",
            "salt"
        ]
    );
    // Upgrading again changes nothing.
    upgrade(&conn).unwrap();
    check(&conn).unwrap();
}

#[test]
fn later_format_and_other_program_are_distinguished() {
    let conn = Connection::open_in_memory().unwrap();
    upgrade(&conn).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    let kind = |failure: Failure| match failure {
        Failure::Database(kind, _) => kind,
        other => panic!("{other:?}"),
    };
    let newer = SqliteErrorKind::NewerFormat {
        found: 99,
        known: current(),
    };
    assert_eq!(kind(look(&conn).unwrap_err()), newer);
    assert_eq!(kind(check(&conn).unwrap_err()), newer);
    conn.pragma_update(None, "application_id", 1).unwrap();
    assert_eq!(
        kind(look(&conn).unwrap_err()),
        SqliteErrorKind::OtherProgram
    );

    let other = Connection::open_in_memory().unwrap();
    other.execute_batch("CREATE TABLE mine (x)").unwrap();
    assert_eq!(
        kind(look(&other).unwrap_err()),
        SqliteErrorKind::OtherProgram
    );
    assert_eq!(tables(&other), ["mine"]);
}

/// A file of the first format, with a call that was begun and one that ended.
#[test]
fn first_format_is_upgraded_with_its_records() {
    let conn = Connection::open_in_memory().unwrap();
    upgrade_by(&conn, &STEPS[..1]).unwrap();
    assert_eq!(look(&conn).unwrap(), Found::Older(1));
    conn.execute_batch(
        r#"INSERT INTO scopes VALUES (1, 'chat', 2, 0, 2, 0);
           INSERT INTO records VALUES (1, 1, 1, 'ledger', 'a', 0, 2, 0, '{"state": "begun"}');
           INSERT INTO records VALUES (2, 1, 2, 'ledger', 'b', 0, 2, 0, '{"state": "done"}');"#,
    )
    .unwrap();
    upgrade(&conn).unwrap();
    assert_eq!(look(&conn).unwrap(), Found::Current);
    let begun: String = conn
        .query_row(
            "SELECT group_concat(id) FROM records WHERE begun = 1",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(begun, "a");
}

#[test]
fn refused_turn_of_format_5_becomes_nacked() {
    let conn = Connection::open_in_memory().unwrap();
    for step in &STEPS[..5] {
        conn.execute_batch(step.sql).unwrap();
    }
    conn.execute_batch(
        "INSERT INTO conversations (conversation, conversation_id, revision, fencing_token, last_position, written_at)
             VALUES (1, 'chat', 1, 1, 1, 0);
         INSERT INTO records (conversation, position, kind, id, written_at, bytes, checksum, body, turn_state)
             VALUES (1, 1, 'turn', 't', 0, 2, 0, '{}', 'refused');",
    )
    .unwrap();
    conn.pragma_update(None, "application_id", APPLICATION)
        .unwrap();
    conn.pragma_update(None, "user_version", 5).unwrap();
    upgrade(&conn).unwrap();
    let state: String = conn
        .query_row("SELECT turn_state FROM records", [], |row| row.get(0))
        .unwrap();
    assert_eq!(state, "nacked");
}
