//! Tests of pins.

use serde_json::{Value, json};

use super::compare::compare;
use super::*;
use crate::definition::Definition;
use crate::limits::Limits;

fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
}

fn server(tools: &[Value]) -> LockedServer {
    let definitions: Vec<Definition> = tools
        .iter()
        .map(|tool| Definition::read(tool.clone(), &Limits::default()).unwrap())
        .collect();
    LockedServer::of("source".into(), Some("Be careful.".into()), &definitions)
}

#[test]
fn every_kind_of_change_is_found() {
    let pinned = server(&[
        tool("a", "A"),
        tool("b", "B"),
        tool("c", "C"),
        tool("d", "D"),
    ]);
    assert_eq!(compare(&pinned, &pinned), []);
    let seen = server(&[
        tool("a", "A"),
        tool("b", "B\u{200b}"),
        tool("x", "C"),
        tool("new", "N"),
    ]);
    let shown: Vec<String> = compare(&pinned, &seen)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        shown,
        [
            "the definition of `b` has changed",
            "`new` was added",
            "`c` was renamed to `x`",
            "`d` was removed",
        ]
    );
    let moved = LockedServer {
        source: "other".into(),
        instructions: None,
        ..pinned.clone()
    };
    assert_eq!(compare(&pinned, &moved).len(), 2);
}

#[test]
fn a_tool_is_renamed_to_one_other_only() {
    let pinned = server(&[tool("a", "A")]);
    let seen = server(&[tool("x", "A"), tool("y", "A")]);
    let shown: Vec<String> = compare(&pinned, &seen)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(shown, ["`a` was renamed to `x`", "`y` was added"]);
}

/// Comparing each new tool with each one that is gone would take hours.
#[test]
fn many_tools_that_are_alike_are_renamed() {
    let named = |name: &str| {
        let tools = (0..5_000).map(|number| tool(&format!("{name}{number:04}"), "same"));
        server(&tools.collect::<Vec<_>>())
    };
    let differences = compare(&named("old"), &named("new"));
    assert_eq!(differences.len(), 5_000);
    for (number, difference) in differences.iter().enumerate() {
        let expected = format!("`old{number:04}` was renamed to `new{number:04}`");
        assert_eq!(difference.to_string(), expected);
    }
}

#[test]
fn a_change_in_metadata_alone_is_a_change() {
    let mut changed = tool("a", "A");
    changed["_meta"] = json!({ "x": 1 });
    let differences = compare(&server(&[tool("a", "A")]), &server(&[changed]));
    assert!(matches!(differences[0].change, Change::Changed { .. }));
}

#[test]
fn a_lock_file_is_read_back_and_an_edited_one_is_refused() {
    let mut lock = LockFile::default();
    lock.servers
        .insert("files".into(), server(&[tool("a", "A")]));
    let text = lock.to_json();
    assert_eq!(LockFile::from_json(&text).unwrap(), lock);
    let edited = text.replace("\"A\"", "\"B\"");
    let error = LockFile::from_json(&edited).unwrap_err().to_string();
    assert!(
        error.contains("the definition of `a` does not fit its pin"),
        "{error}"
    );
    let edited = text.replace("Be careful.", "Be bold.");
    let error = LockFile::from_json(&edited).unwrap_err().to_string();
    assert!(
        error.contains("its pin does not fit its content"),
        "{error}"
    );
}

#[test]
fn a_missing_lock_file_is_none_and_a_written_one_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.lock.json");
    assert_eq!(LockFile::read(&path).unwrap(), None);
    let mut lock = LockFile::default();
    lock.servers
        .insert("files".into(), server(&[tool("a", "A")]));
    lock.write(&path).unwrap();
    assert_eq!(LockFile::read(&path).unwrap(), Some(lock));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn invisible_characters_are_visible_in_a_lock_file() {
    let mut lock = LockFile::default();
    let description = "a\u{200b}\u{202e}\u{e0041}\u{9b}b";
    lock.servers
        .insert("files".into(), server(&[tool("a", description)]));
    let text = lock.to_json();
    assert!(text.contains(r"a\u200b\u202e\udb40\udc41\u009bb"), "{text}");
    assert_eq!(LockFile::from_json(&text).unwrap(), lock);
}

#[cfg(unix)]
#[test]
fn a_lock_file_that_is_no_regular_file_is_refused() {
    let error = LockFile::read("/dev/zero").unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
}
