//! Calls.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::fields::{Fields, json_text, put};
use super::reopen::Reopen;
use super::words::write_stamp;
use super::{artifact, bytes, media, time};
use crate::error::Error;
use crate::record::{RecordKind, ToolCall, ToolResults};
use crate::schema::{Raw, RawArgs};

pub(super) fn write(call: &ToolCall, map: &mut Map<String, Value>) -> Result<(), Error> {
    write_stamp!(call, map);
    if let Some(at) = call.completed_at() {
        put(map, "completedAt", time::format(at));
    }
    if let Some(id) = call.provider_id() {
        put(map, "providerId", id);
    }
    put(map, "tool", call.tool());
    put(map, "args", write_args(call.args()));
    if let Some(edited) = call.edited_args() {
        let edited = json_text(RecordKind::ToolCall, "editedArgs", edited)?;
        put(map, "editedArgs", edited);
    }
    put(map, "checksum", call.checksum());
    if let Some(results) = write_results(call.results())? {
        put(map, "results", results);
    }
    put(map, "trusted", call.is_trusted());
    put(map, "inline", call.is_inline());
    put(map, "fromArtifactTool", call.from_artifact_tool());
    if call.is_truncated() {
        put(map, "truncated", true);
    }
    bytes::write_state(call.provider_state(), map);
    if let Some(ordinal) = call.ordinal() {
        put(map, "ordinal", ordinal);
    }
    if call.is_cut_off() {
        put(map, "cutOff", true);
    }
    Ok(())
}

fn write_args(args: &RawArgs) -> Map<String, Value> {
    let mut map = Map::new();
    match args.raw() {
        Raw::Text(text) => put(&mut map, "text", &**text),
        Raw::NotUtf8 { lossy, valid_up_to } => {
            put(&mut map, "lossyText", &**lossy);
            put(&mut map, "validUpTo", *valid_up_to);
        }
        // A value that is too deep to be written is too deep to run, and nobody can ask for more of it than this.
        Raw::Value(_) => put(&mut map, "json", args.to_value().to_string()),
    }
    map
}

fn write_results(results: &ToolResults) -> Result<Option<Map<String, Value>>, Error> {
    let (name, value) = match results {
        ToolResults::Nothing => return Ok(None),
        ToolResults::Text(text) => ("text", Value::from(text.as_str())),
        ToolResults::Failure(text) => ("failure", text.as_str().into()),
        ToolResults::Refusal(text) => ("refusal", text.as_str().into()),
        ToolResults::Media(all) => ("media", media::write_all(all)?),
        ToolResults::Artifacts(all) => {
            let written = all.iter().map(|it| {
                let written = artifact::write(RecordKind::ToolCall, it);
                written.map(Value::Object)
            });
            ("artifacts", written.collect::<Result<Vec<_>, _>>()?.into())
        }
    };
    let mut map = Map::new();
    put(&mut map, name, value);
    Ok(Some(map))
}

pub(super) fn read(fields: &Fields<'_>, reopen: &Reopen) -> Result<Arc<ToolCall>, Error> {
    let args = read_args(&fields.object("args")?)?;
    let (tool, checksum) = (fields.text("tool")?, fields.sha256("checksum")?);
    let mut builder = ToolCall::stamped(tool.into(), args, checksum, fields.stamp()?)
        .trusted(fields.flag("trusted")?)
        .inline(fields.flag("inline")?)
        .from_artifact_tool(fields.flag("fromArtifactTool")?);
    if let Some(results) = fields.object_if_any("results")? {
        builder = builder.results(read_results(&results, reopen)?);
    }
    if let Some(at) = fields.time_if_any("completedAt")? {
        builder = builder.completed_at(at);
    }
    if let Some(id) = fields.text_if_any("providerId")? {
        builder = builder.provider_id(id);
    }
    if let Some(edited) = fields.json_if_any("editedArgs")? {
        builder = builder.edited_args(edited);
    }
    if let Some(ordinal) = fields.number_if_any("ordinal")? {
        builder = builder.ordinal(ordinal);
    }
    if fields.get("cutOff").is_some() {
        builder = builder.cut_off(fields.flag("cutOff")?);
    }
    if fields.get("truncated").is_some() {
        builder = builder.truncated(fields.flag("truncated")?);
    }
    if let Some(state) = bytes::read_state(fields)? {
        builder = builder.provider_state(state);
    }
    builder.rebuild().map_err(|error| fields.refused(error))
}

fn read_args(args: &Fields<'_>) -> Result<RawArgs, Error> {
    if let Some(text) = args.text_if_any("text")? {
        return Ok(text.into());
    }
    if let Some(lossy) = args.text_if_any("lossyText")? {
        let valid_up_to = args.number("validUpTo")?;
        let valid_up_to = usize::try_from(valid_up_to).unwrap_or(usize::MAX);
        return Ok(RawArgs::not_utf8(lossy, valid_up_to));
    }
    Ok(args.json("json")?.into())
}

fn read_results(results: &Fields<'_>, reopen: &Reopen) -> Result<ToolResults, Error> {
    let text = |name: &str| results.text(name).map(str::to_owned);
    let has = |name: &str| results.get(name).is_some();
    match () {
        () if has("text") => text("text").map(ToolResults::Text),
        () if has("failure") => text("failure").map(ToolResults::Failure),
        () if has("refusal") => text("refusal").map(ToolResults::Refusal),
        () if has("media") => media::read_all(results, "media", reopen).map(ToolResults::Media),
        () if has("artifacts") => {
            let all = results.objects("artifacts")?;
            let all = all.iter().map(|it| artifact::read(it, reopen));
            all.collect::<Result<_, _>>().map(ToolResults::Artifacts)
        }
        () => {
            let why = "is none of `text`, `artifacts`, `media`, `failure`, `refusal`";
            Err(results.wrong_whole(why))
        }
    }
}
