//! `export`.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use turnwright::record::RecordKind;
use turnwright::record::{ByteResolver, Record, ToolCall};
use turnwright::spool::MemorySpool;
use turnwright_testkit::server::model;

use super::{database, newest, talked, turns};
use crate::chat::run_piped;
use crate::folder::Folder;
use crate::model::Model;
use crate::stored;

#[test]
fn a_turn_is_exported_as_its_records() {
    let home = Folder::new();
    talked(&home, &[], &[("one", "1."), ("two", "2.")]);
    let ran = turns(&home, &["export", &newest(&home)]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let records = ran.json();
    let kinds: Vec<&str> = records
        .iter()
        .map(|item| item["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["turn", "message", "message"]);
    assert_eq!(
        (&records[1]["text"], &records[2]["text"]),
        (&"two".into(), &"2.".into())
    );
}

#[test]
fn a_conversation_is_exported_completely() {
    let home = Folder::new();
    talked(&home, &[], &[("one", "1.")]);
    talked(&home, &["--new"], &[("two", "2.")]);
    let ran = turns(&home, &["export", "--conversation", "default"]);
    let mut stored = stored::records(&database(&home), "default");
    stored.append(&mut stored::records(&database(&home), "default~2"));
    stored.retain(|item| item["kind"] != "lease");
    assert_eq!(ran.json(), stored);
    let ran = turns(&home, &["export", "--conversation", "default~2"]);
    assert!(
        ran.out.contains("\"two\"") && !ran.out.contains("\"one\""),
        "{}",
        ran.out
    );
    let ran = turns(&home, &["export", "--conversation", "nobody"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("no conversation `nobody`"), "{}", ran.err);
}

#[test]
fn an_existing_file_is_overwritten_only_with_force() {
    let home = Folder::new();
    talked(&home, &[], &[("one", "1.")]);
    let file = home.write("out.jsonl", "precious\n");
    let id = newest(&home);
    let ran = turns(&home, &["export", &id, "--output", &file]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(
        ran.err.contains("already exists") && ran.err.contains("--force"),
        "{}",
        ran.err
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious\n");
    let ran = turns(&home, &["export", &id, "--output", &file, "--force"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "3 records written\n"),
        "{ran:?}"
    );
    let message = turns(&home, &["export", &id]).out;
    assert_eq!(fs::read_to_string(&file).unwrap(), message);
    let fresh = home.file("fresh.jsonl");
    let ran = turns(&home, &["export", &id, "--output", fresh.to_str().unwrap()]);
    assert_eq!(ran.code, 0);
    assert_eq!(fs::read_to_string(&fresh).unwrap(), message);
    let ran = turns(&home, &["export", &id, "--output", "/no/such/folder/x"]);
    assert_eq!(ran.code, 2);
    // Nothing is left beside them.
    let left = fs::read_dir(home.path()).unwrap();
    let left = left.filter(|item| {
        item.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .ends_with("tmp")
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn an_export_with_results_is_complete() {
    let home = Folder::new();
    let tools = json!([{
        "name": "numbers", "description": "Many numbers.",
        "parameters": { "type": "object", "properties": {} },
        "command": ["seq", "1", "10000"], "effects": "read_only",
    }]);
    let tools = home.write("tools.json", &tools.to_string());
    let model = Model::plays([
        model::calls([("call_1", "numbers", "{}")]),
        model::text("Many.", 1),
    ]);
    assert_eq!(
        run_piped(&model, &home, &["--tools", &tools], "count\n").code,
        0
    );
    let id = newest(&home);
    let call_of = |args: &[&str]| -> (i32, Value) {
        let ran = turns(&home, &[&["export", &id], args].concat());
        let call = ran
            .json()
            .into_iter()
            .find(|item| item["kind"] == "tool_call");
        (ran.code, call.unwrap())
    };
    let (_, bare) = call_of(&[]);
    assert!(
        bare["settled"]["results"]["artifacts"][0]["spool"].is_string(),
        "{bare}"
    );
    let (code, complete) = call_of(&["--with-results"]);
    assert_eq!(code, 0);
    // It is read like any other record, from no spool.
    let reopen = ByteResolver::new(Arc::new(MemorySpool::default()));
    let record = Record::from_value(RecordKind::ToolCall, &complete, &reopen).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let text = runtime
        .block_on(record.downcast::<ToolCall>().unwrap().text())
        .unwrap();
    assert!(text.starts_with("1\n2\n") && text.ends_with("10000\n"));

    fs::remove_dir_all(home.file("conversations.db.results")).unwrap();
    let ran = turns(&home, &["export", &id, "--with-results"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains("the bytes of 1 result are missing"),
        "{}",
        ran.err
    );
    assert_eq!(call_of(&["--with-results"]).1, bare);
}
