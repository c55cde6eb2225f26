use rusqlite::params_from_iter;

use super::*;

fn plan(filter: &TurnFilter) -> String {
    let conn = Connection::open_in_memory().unwrap();
    format::create(&conn).unwrap();
    let sql = format!("EXPLAIN QUERY PLAN {}", sql(filter));
    let mut statement = conn.prepare(&sql).unwrap();
    let parameters = vec![0; statement.parameter_count()];
    let rows = statement.query_map(params_from_iter(parameters), |row| row.get::<_, String>(3));
    let rows = rows.unwrap().map(Result::unwrap);
    rows.collect::<Vec<_>>().join("; ")
}

#[test]
fn turns_are_found_by_an_index() {
    let by_state = plan(&TurnFilter::all().state(TurnState::Running));
    let part = "SEARCH r USING INDEX records_by_turn_state (turn_state=? AND began_at>?)";
    assert_eq!(by_state.matches(part).count(), 1, "{by_state}");
    assert!(!by_state.contains("SCAN"), "{by_state}");
    // Only turns that began at the same time are sorted.
    assert!(!by_state.contains("B-TREE FOR ORDER BY"), "{by_state}");

    let by_id = plan(&TurnFilter::all().turn_id("t"));
    assert!(by_id.contains("records_by_id (kind=? AND id=?)"), "{by_id}");
    assert!(!by_id.contains("SCAN"), "{by_id}");

    // All open gates are read, from an index that contains no others.
    let waiting = plan(&TurnFilter::all().waiting());
    let gates = "SCAN records USING COVERING INDEX records_by_open_gate";
    assert!(waiting.contains(gates), "{waiting}");
    let turns = "records_by_id (kind=? AND id=? AND conversation=?)";
    assert!(waiting.contains(turns), "{waiting}");
    assert!(
        !waiting.contains("SCAN r ") && !waiting.contains("SCAN c"),
        "{waiting}"
    );
}
