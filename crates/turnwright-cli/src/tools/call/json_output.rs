//! The result of a call as JSON.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use turnwright::record::ToolResults;
use turnwright::{Media, ToolCall};

use super::Facts;
use crate::terminal::with_fields;

/// The call and its result.
pub(super) async fn render(call: &ToolCall, facts: Facts) -> anyhow::Result<Value> {
    let failed = call.is_error() || !call.is_complete();
    let ended = if failed {
        failure(call, &facts).await
    } else {
        result(call).await?
    };
    let asked = json!({
        "ok": !failed,
        "checksum": call.checksum(),
        "tool": call.tool(),
        "args": facts.args.unwrap_or_else(|| call.args().to_value()),
        "repairs": facts.repairs,
    });
    let took = json!({
        "durationMs": facts.took.map(|took| took.as_secs_f64() * 1e3),
        "events": facts.events,
    });
    Ok(with_fields(with_fields(asked, ended), took))
}

async fn result(call: &ToolCall) -> anyhow::Result<Value> {
    let (mut text, mut bytes, mut media, mut kind) = (None, None, None, None);
    match call.results() {
        ToolResults::Media(all) => media = Some(all.iter().map(media_value).collect::<Vec<_>>()),
        ToolResults::Artifacts(artifacts) => {
            kind = artifacts.first().map(|artifact| artifact.kind());
            let mut all = Vec::new();
            for artifact in artifacts {
                all.extend_from_slice(&artifact.as_bytes().await?);
            }
            // JSON cannot contain bytes that are not UTF-8.
            match String::from_utf8(all) {
                Ok(all) => text = Some(all),
                Err(all) => bytes = Some(BASE64_STANDARD.encode(all.as_bytes())),
            }
        }
        _ => text = call.text().await,
    }
    Ok(json!({
        "kind": kind,
        "inline": call.is_inline(),
        "truncated": call.is_truncated(),
        "trusted": call.is_trusted(),
        "result": text,
        "resultBase64": bytes,
        "media": media,
    }))
}

async fn failure(call: &ToolCall, facts: &Facts) -> Value {
    let ended = match call.results() {
        ToolResults::Failure(_) => "failed",
        ToolResults::Refusal(_) => "refused",
        _ => "notRun",
    };
    json!({
        "ended": ended,
        "code": facts.code,
        "message": facts.message,
        "faults": facts.faults,
        "modelText": call.text().await,
    })
}

fn media_value(media: &Media) -> Value {
    json!({
        "mimeType": media.mime_type(),
        "filename": media.filename(),
        "bytes": media.byte_length(),
    })
}
