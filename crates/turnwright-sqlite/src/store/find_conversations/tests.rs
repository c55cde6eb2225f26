use super::*;

fn plan(filter: &ConversationFilter) -> String {
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
fn conversations_are_found_by_an_index_and_nothing_is_sorted() {
    let all = ConversationFilter::all;
    let label = |filter: ConversationFilter, key| filter.label(key, "x");
    let cases = [
        (
            all(),
            "SEARCH c USING INDEX sqlite_autoindex_conversations_1 (conversation_id>?)",
        ),
        (
            all().owner("ada"),
            "SEARCH c USING INDEX conversations_by_owner (owner=? AND conversation_id>?)",
        ),
        (
            label(all().owner("ada"), "a"),
            "SEARCH c USING INDEX conversations_by_owner (owner=? AND conversation_id>?)",
        ),
        (
            label(label(all(), "a"), "b"),
            "SEARCH l USING PRIMARY KEY (key=? AND value=? AND conversation_id>?)",
        ),
    ];
    for (filter, first) in cases {
        let plan = plan(&filter).replace("COVERING INDEX", "INDEX");
        assert!(plan.starts_with(first), "{plan}");
        let info =
            "SEARCH r USING INDEX records_by_id (kind=? AND id=? AND conversation=?) LEFT-JOIN";
        assert!(plan.contains(info), "{plan}");
        assert!(!plan.contains("SCAN") && !plan.contains("B-TREE"), "{plan}");
        let probes = plan.matches("PRIMARY KEY (key=? AND value=? AND conversation_id=?)");
        assert_eq!(probes.count(), filter.labels.len(), "{plan}");
    }
}
