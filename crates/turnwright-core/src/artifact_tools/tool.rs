//! Builds tools that read artifacts, each from a query. Such a tool exists for one dispatch, is used instead of another tool of the
//! same name, is read-only and never trusted. Its answers are text and do not become artifacts.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::readable::{Current, Readable};
use crate::artifact::{Query, SpooledArtifact};
use crate::effects::{Effects, OnCollision};
use crate::error::{Error, ErrorCode, ToolError};
use crate::schema::{ExternalCheck, IntoSchema, Rejection, Schema};
use crate::tool::context::ToolContext;
use crate::tool::{Handler, Tool, ToolBuilder};

/// The argument that selects the result.
pub(super) const CALL_ID: &str = "callId";
/// The argument that selects one of several artifacts of a result.
pub(super) const INDEX: &str = "index";

/// Builds a tool whose schema lists these ids.
pub(super) fn enumerated(
    query: &'static Query,
    ids: &[impl Serialize],
    current: &Arc<Current>,
) -> Result<Tool, Error> {
    let schema = document(query, &("enum", json!(ids)))?.into_schema()?;
    let current = Arc::clone(current);
    definition(query, schema)
        .handler(move |args: Value, ctx: ToolContext| answer(query, current.now(), args, ctx))
        .build()
}

/// Builds a tool that looks up the readable artifacts when it is called.
pub(super) fn stable(query: &'static Query, current: &Arc<Current>) -> Result<Tool, Error> {
    // Built once per query.
    let definition = match query.memo(|| stable_definition(query)) {
        Some(made) => made.as_ref().map_err(Error::clone)?,
        None => return Err(invalid(query, "its memo has another type")),
    };
    // The schema does not list the readable ids, so they are checked separately.
    let readable = Arc::clone(current);
    let check = ExternalCheck::new("readable_call".into(), move |args| {
        let readable = readable.now();
        let id = args.get(CALL_ID).and_then(Value::as_str);
        let checked = if id.is_some_and(|id| readable.answers(query, id)) {
            Ok(())
        } else {
            let why = readable.for_query(query).refusal();
            Err(Rejection::at(format!("/{CALL_ID}"), why))
        };
        std::future::ready(checked)
    });
    let readable = Arc::clone(current);
    let handler =
        Handler::from_async(move |args: Value, ctx| answer(query, readable.now(), args, ctx));
    Ok(definition.reaching(check, handler))
}
fn definition(query: &Query, schema: Schema) -> ToolBuilder<Value> {
    Tool::dynamic(query.name(), schema)
        .description(query.description())
        .effects(Effects::ReadOnly)
        .ephemeral(true)
        .on_collision(OnCollision::Replace)
        .artifact_tool()
}

/// Builds the part that is the same for all tools of a query under [`ArtifactToolPolicy::Stable`](super::ArtifactToolPolicy::Stable).
fn stable_definition(query: &Query) -> Result<Tool, Error> {
    let schema = document(query, &("minLength", json!(1)))?.into_schema();
    let schema = schema.map_err(|error| invalid(query, &error.to_string()))?;
    let nothing_yet =
        |_: Value, _: ToolContext| std::future::ready(Err::<String, _>(no_artifact(0, 0)));
    definition(query, schema).handler(nothing_yet).build()
}

async fn answer(
    query: &Query,
    readable: Readable,
    mut args: Value,
    ctx: ToolContext,
) -> Result<String, ToolError> {
    let mut own = |name: &str| {
        args.as_object_mut()
            .and_then(|args| args.shift_remove(name))
    };
    let (id, index) = (own(CALL_ID), own(INDEX));
    let source = id.as_ref().and_then(|id| readable.source(id.as_str()?));
    if source.is_some_and(|source| source.private) {
        ctx.reads().add_private();
    }
    let artifacts = source.map_or(&[][..], |source| &source.artifacts);
    let artifact = chosen(artifacts, index.as_ref())?;
    if !query.fits(artifact.kind()) {
        let kind = artifact.kind();
        let text = format!("This artifact has kind {kind}, which this tool cannot read.");
        return Err(ToolError::invalid_arguments(text.clone()).for_model(text));
    }
    let limit = artifact.limits().page;
    match query.run(artifact, args).await {
        Ok(text) => Ok(bounded(text, limit)),
        Err(error) => {
            let text = bounded(error.model_text().to_owned(), limit);
            Err(error.for_model(text))
        }
    }
}

fn chosen(
    artifacts: &[SpooledArtifact],
    index: Option<&Value>,
) -> Result<SpooledArtifact, ToolError> {
    let index = index.and_then(Value::as_u64).unwrap_or(0);
    let chosen = usize::try_from(index).ok().and_then(|at| artifacts.get(at));
    chosen
        .cloned()
        .ok_or_else(|| no_artifact(index, artifacts.len()))
}

fn no_artifact(index: u64, of: usize) -> ToolError {
    let text = format!("Artifact {index} does not exist. The result has {of}, numbered from 0.");
    ToolError::not_found(text.clone()).for_model(text)
}

/// Bytes reserved for the note that an answer was truncated.
const CUT_NOTE: usize = 128;

/// Truncates an answer that the query did not limit itself: at a line, or at a character boundary within a very long line.
fn bounded(mut text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let room = text.floor_char_boundary(limit.saturating_sub(CUT_NOTE));
    let end = match text.get(..room).and_then(|text| text.rfind('\n')) {
        Some(line_end) if line_end > 0 => line_end,
        _ => room,
    };
    let omitted = text.len() - end;
    text.truncate(end);
    text.push_str(&format!(
        "\n[{omitted} more bytes omitted: an answer can have at most {limit} bytes. Request less at once.]"
    ));
    text
}

/// The schema of the query's own arguments plus those that select the artifact. `limit` is the constraint on `callId`.
fn document(query: &Query, limit: &(&str, Value)) -> Result<Value, Error> {
    let own = query.own_document();
    let mut document = own
        .map_err(|error| invalid(query, &error.to_string()))?
        .clone();
    let own = |keyword: &str| document.get(keyword).cloned().unwrap_or_default();
    let (own_properties, own_required) = (own("properties"), own("required"));
    let own_properties = own_properties.as_object();
    let is_own = |name: &&str| own_properties.is_some_and(|own| own.contains_key(*name));
    if let Some(taken) = [CALL_ID, INDEX].into_iter().find(is_own) {
        let why = format!("the argument name `{taken}` is reserved");
        return Err(invalid(query, &why));
    }
    let call_id_schema = json!({
        "type": "string", limit.0: limit.1,
        "description": "The callId of the result to read, as shown in its handle.",
    });
    let index_schema = json!({
        "type": "integer", "minimum": 0, "default": 0,
        "description": "Which artifact to read, if the result has several.",
    });
    let mut properties = Map::from_iter([(CALL_ID.to_owned(), call_id_schema)]);
    properties.extend(
        own_properties
            .into_iter()
            .flatten()
            .map(|(k, v)| (k.clone(), v.clone())),
    );
    properties.insert(INDEX.to_owned(), index_schema);
    let mut required = vec![json!(CALL_ID)];
    required.extend(own_required.as_array().into_iter().flatten().cloned());
    if let Some(document) = document.as_object_mut() {
        document.insert("properties".to_owned(), Value::Object(properties));
        document.insert("required".to_owned(), Value::Array(required));
    }
    Ok(document)
}

fn invalid(query: &Query, why: &str) -> Error {
    Error::new(
        ErrorCode::INVALID_INITIAL_TOOL_VALUE,
        format!("invalid query `{}`: {why}", query.name()),
    )
}
