//! The tools that are built in, and those that files describe.
//!
//! A stand-in until they are written.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use turnwright::prelude::*;

pub(crate) fn tools(_folder: &Path, _fetch: bool) -> anyhow::Result<Vec<Tool>> {
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": { "expression": { "type": "string" } }, "required": ["expression"],
    });
    let calculate = Tool::dynamic("calculate", schema)
        .description("Calculates.")
        .effects(Effects::ReadOnly)
        .handler(|_: Value, _: ToolContext| async move { "42" })
        .build()?;
    Ok(vec![calculate])
}

pub(crate) fn gather(
    folder: &Path,
    fetch: bool,
    own: Vec<Tool>,
    files: &[PathBuf],
) -> anyhow::Result<Vec<Tool>> {
    let mut all = tools(folder, fetch)?;
    all.extend(own);
    for file in files {
        let text = crate::text::file(file, "the file of tools")?;
        for told in serde_json::from_str::<Vec<Value>>(&text)? {
            all.push(command(told)?);
        }
    }
    Ok(all)
}

fn command(told: Value) -> anyhow::Result<Tool> {
    let text = |name: &str| {
        told.get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let command: Vec<String> =
        serde_json::from_value(told.get("command").cloned().unwrap_or_default())?;
    let effects = match text("effects").as_str() {
        "read_only" => Effects::ReadOnly,
        _ => Effects::Writes,
    };
    let parameters = told.get("parameters").cloned().unwrap_or_default();
    let tool = Tool::dynamic(text("name"), parameters)
        .description(text("description"))
        .effects(effects)
        .handler(move |args: Value, _: ToolContext| {
            let command = command.clone();
            async move {
                let (program, rest) = command
                    .split_first()
                    .ok_or_else(|| std::io::Error::other("there is no command"))?;
                let mut child = tokio::process::Command::new(program)
                    .args(rest)
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .kill_on_drop(true)
                    .spawn()?;
                if let Some(mut input) = child.stdin.take() {
                    input.write_all(args.to_string().as_bytes()).await?;
                }
                let output = child.wait_with_output().await?;
                Ok::<_, ToolError>(String::from_utf8_lossy(&output.stdout).into_owned())
            }
        })
        .build()?;
    Ok(tool)
}
