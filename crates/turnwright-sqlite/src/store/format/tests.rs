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
fn empty_database_gets_the_tables() {
    let conn = Connection::open_in_memory().unwrap();
    assert_eq!(look(&conn).unwrap(), Found::Nothing);
    create(&conn).unwrap();
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
    // Doing it again changes nothing.
    create(&conn).unwrap();
    check(&conn).unwrap();
}

#[test]
fn later_format_and_other_program_are_distinguished() {
    let conn = Connection::open_in_memory().unwrap();
    create(&conn).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    let kind = |failure: Failure| match failure {
        Failure::Database(kind, _) => kind,
        other => panic!("{other:?}"),
    };
    let newer = SqliteErrorKind::NewerFormat {
        found: 99,
        known: CURRENT,
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
