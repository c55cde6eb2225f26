//! External programs as tools.
#![cfg(unix)]

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use turnwright::artifact::ArtifactKind;
use turnwright::event::EventKind;
use turnwright::prelude::*;
use turnwright::{Cancellation, Effects};

use super::tools;
use crate::exit::Misuse;
use crate::toolbox::tests::{Scratch, result_of};

/// A tools file with a shell script, and more fields.
fn script(text: &str, more: &Value) -> Value {
    let mut described = json!({
        "name": "it",
        "description": "Does it.",
        "parameters": { "type": "object", "properties": { "n": { "type": "integer" } } },
        "command": ["sh", "-c", text],
    });
    for (name, value) in more.as_object().unwrap() {
        described[name] = value.clone();
    }
    json!([described])
}

fn made(folder: &Scratch, described: &Value) -> Vec<Tool> {
    let file = folder.write("tools.json", described.to_string());
    tools(&file).unwrap()
}

fn refused(folder: &Scratch, text: &str) -> String {
    let file = folder.write("tools.json", text);
    let error = tools(&file).unwrap_err();
    assert!(error.is::<Misuse>());
    let text = error.to_string();
    assert!(text.contains("tools.json"), "{text}");
    text
}

#[tokio::test]
async fn a_program_gets_its_arguments_as_json_and_its_output_is_the_result() {
    let folder = Scratch::new();
    let tools = made(
        &folder,
        &script("cat", &json!({ "effects": "read_only", "kind": "json" })),
    );
    assert_eq!(tools[0].effects(), Effects::ReadOnly);
    assert_eq!(tools[0].artifact_kind(), ArtifactKind::JSON);
    assert_eq!(tools[0].timeout(), Some(Duration::from_secs(60)));
    assert_eq!(
        result_of(tools, "it", json!({ "n": "7" })).await.unwrap(),
        r#"{"n":7}"#
    );
}

#[tokio::test]
async fn invalid_arguments_do_not_reach_the_program() {
    let folder = Scratch::new();
    let tools = made(&folder, &script("touch ran; exit 0", &json!({})));
    turnwright_testkit::contract::fuzz(&tools[0]);
    let message = result_of(tools, "it", json!({ "n": "seven" }))
        .await
        .unwrap_err();
    assert!(message.contains("/n"), "{message}");
    assert!(!Path::new("ran").exists());
}

#[tokio::test]
async fn effects_default_to_writes() {
    let folder = Scratch::new();
    assert_eq!(
        made(&folder, &script("true", &json!({})))[0].effects(),
        Effects::Writes
    );
}

#[tokio::test]
async fn a_failure_has_the_exit_code_and_the_last_output() {
    let folder = Scratch::new();
    let tools = made(
        &folder,
        &script("echo half; echo no disk >&2; exit 3", &json!({})),
    );
    let message = result_of(tools, "it", json!({})).await.unwrap_err();
    assert_eq!(
        message,
        "The tool failed: exit code 3. Its last output:\nno disk"
    );
    let tools = made(&folder, &script("exit 1", &json!({})));
    let message = result_of(tools, "it", json!({})).await.unwrap_err();
    assert!(message.ends_with("without a message."), "{message}");
    let tools = made(
        &folder,
        &script("yes 0123456789 | head -c 100000 >&2; exit 1", &json!({})),
    );
    let message = result_of(tools, "it", json!({})).await.unwrap_err();
    assert!(message.len() < 2_200, "{}", message.len());
    let mut described = script("", &json!({}));
    described[0]["command"] = json!(["no-such-program-anywhere"]);
    let message = result_of(made(&folder, &described), "it", json!({}))
        .await
        .unwrap_err();
    assert_eq!(message, "The program of this tool cannot be started.");
}

#[tokio::test]
async fn a_program_may_ignore_its_arguments() {
    let folder = Scratch::new();
    let tools = made(&folder, &script("exec <&-; echo done", &json!({})));
    let mut args = json!({});
    args["more"] = json!("x".repeat(500_000));
    assert_eq!(result_of(tools, "it", args).await.unwrap(), "done\n");
}

#[tokio::test]
async fn a_relative_path_starts_at_the_tools_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Scratch::new();
    let script_file = folder.write("bin/say.sh", "#!/bin/sh\necho \"said $1\"\n");
    std::fs::set_permissions(script_file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut described = script("", &json!({}));
    described[0]["command"] = json!(["bin/say.sh", "a b; c"]);
    let tools = made(&folder, &described);
    assert_eq!(
        result_of(tools, "it", json!({})).await.unwrap(),
        "said a b; c\n"
    );
}

#[tokio::test]
async fn cancelling_kills_the_program_and_its_children() {
    let folder = Scratch::new();
    let ids = folder.path().join("ids");
    // The file appears atomically.
    let text = format!(
        "sleep 600 & echo $! $$ > '{0}.new'; mv '{0}.new' '{0}'; wait",
        ids.display()
    );
    let registry = ToolRegistry::new(made(&folder, &script(&text, &json!({})))).unwrap();
    let cancellation = Cancellation::new();
    let ctx = DispatchContext::builder()
        .tools(registry)
        .cancellation(cancellation.clone())
        .build();
    let cancel = async {
        while !ids.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancellation.cancel();
    };
    let (call, ()) = tokio::join!(ctx.call("it", json!({})), cancel);
    assert!(call.is_error());
    let ids = std::fs::read_to_string(ids).unwrap();
    for id in ids.split_whitespace() {
        until_gone(id).await;
    }
}

#[tokio::test]
async fn children_are_killed_when_the_program_ends() {
    let folder = Scratch::new();
    let leaves = "sleep 60 > /dev/null 2>&1 < /dev/null & echo $!";
    let tools = made(&folder, &script(leaves, &json!({})));
    let left = result_of(tools, "it", json!({})).await.unwrap();
    until_gone(left.trim()).await;
}

/// Waits until no process has this id, or only a zombie.
async fn until_gone(id: &str) {
    for _ in 0..3_000 {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
        match stat {
            Err(_) => return,
            Ok(stat) if stat.contains(") Z ") => return,
            Ok(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    panic!("process {id} is still running");
}

#[tokio::test]
async fn lines_on_standard_error_are_progress() {
    let folder = Scratch::new();
    let tools = made(
        &folder,
        &script("echo one >&2; echo two >&2; echo done", &json!({})),
    );
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let hears = std::sync::Arc::clone(&heard);
    let runner = turnwright::runner(|ctx: DispatchContext| async move {
        ctx.call("it", "{}").await;
        ctx.ack()?;
        Ok(())
    })
    .tools(tools)
    .observer(move |event| {
        if let EventKind::ToolExecutionProgress { message, .. } = &event.kind {
            hears.lock().unwrap().push(message.clone());
        }
    })
    .build()
    .unwrap();
    runner.run("go").await.into_answer().unwrap();
    assert_eq!(*heard.lock().unwrap(), ["one", "two"]);
}

#[test]
fn an_invalid_tools_file_is_refused_with_the_place() {
    let folder = Scratch::new();
    let text = refused(&folder, "[\n  { \"name\": \"x\", \"nmae\": 1 }\n]");
    assert!(
        text.contains("unknown field `nmae`") && text.contains("line 2"),
        "{text}"
    );
    let text = refused(&folder, "{");
    assert!(text.contains("line 1"), "{text}");
    let text = refused(&folder, "[{ \"name\": \"x\" }]");
    assert!(text.contains("missing field `description`"), "{text}");
    let text = refused(
        &folder,
        &script("true", &json!({ "effects": "none" })).to_string(),
    );
    assert!(text.contains("unknown variant `none`"), "{text}");
    let text = refused(
        &folder,
        &script("true", &json!({ "command": [] })).to_string(),
    );
    assert!(text.contains("the `command` of `it` is empty"), "{text}");
    let text = refused(
        &folder,
        &script("true", &json!({ "name": "a b" })).to_string(),
    );
    assert!(text.contains("tool 1:") && text.contains("name"), "{text}");
    let text = refused(
        &folder,
        &script("true", &json!({ "env": ["KEY=hunter2"] })).to_string(),
    );
    assert!(
        text.contains("the `env` of `it`: `KEY=…` is not the name") && !text.contains("hunter2"),
        "{text}"
    );
    let text = refused(
        &folder,
        &script("true", &json!({ "timeout_secs": 0 })).to_string(),
    );
    assert!(text.contains("timeout"), "{text}");
    let wrong = json!({ "parameters": { "type": "object", "minLenght": 3 } });
    let text = refused(&folder, &script("true", &wrong).to_string());
    assert!(text.contains("minLenght"), "{text}");
    let error = tools(Path::new("/no/such/file.json")).unwrap_err();
    assert!(error.is::<Misuse>());
}
