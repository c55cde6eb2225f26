//! What a summariser reads.

use std::sync::Arc;

use super::estimate::args_text;
use crate::artifact::SpooledArtifact;
use crate::error::Error;
use crate::media::Media;
use crate::record::{
    Author, Message, Record, RecordBuilder, Retrievable, Retrieved, ToolCall, ToolResults,
};
use crate::render::Taint;
use crate::schema::shortened;
use crate::trust::TrustTier;

/// The most bytes of a message that a summariser reads.
const LONGEST_MESSAGE: usize = 16 * 1024;
/// The most bytes of a result or a passage.
const LONGEST_RESULT: usize = 4 * 1024;
/// The most bytes of the arguments of a call.
const LONGEST_ARGUMENTS: usize = 1024;

/// Returns what the records contain.
pub(super) fn taint_of<'r>(
    records: impl Iterator<Item = &'r Record>,
    outer: Option<Taint>,
) -> Taint {
    let mut taint = outer.unwrap_or_default();
    records.for_each(|record| taint.add_record(record));
    taint
}

/// Returns what a summariser reads of a record: each piece with its own trust tier, so that it is in its own envelope. Thoughts
/// are left out.
pub(super) async fn parts_of(record: &Record) -> Result<Vec<Arc<Retrievable>>, Error> {
    let mut parts = Vec::new();
    match record {
        Record::Message(message) if !message.text().is_empty() => {
            parts.push(part(record, 0, message_of(message)));
        }
        Record::ToolCall(call) => parts.push(part(record, 0, call_of(call).await)),
        Record::Retrievable(found) => {
            parts.extend(found_in(found).await.map(|found| part(record, 0, found)));
        }
        _ => {}
    }
    for (index, media) in (1..).zip(record.media()) {
        parts.push(part(record, index, media_of(media)));
    }
    parts.into_iter().map(RecordBuilder::build).collect()
}

/// A piece of text for the summariser.
struct Piece {
    text: String,
    tier: TrustTier,
    source: String,
}

fn part(record: &Record, index: u32, piece: Piece) -> RecordBuilder<Retrievable> {
    let id = format!("{}-{index}-{}", record.kind().as_str(), record.id());
    let text = if piece.text.is_empty() {
        "(empty)".to_owned()
    } else {
        piece.text
    };
    let part = Retrievable::text(text, piece.tier);
    part.id(id).source(piece.source)
}

fn message_of(message: &Message) -> Piece {
    let (tier, source) = match message.author() {
        Author::User => (TrustTier::FirstParty, "user".to_owned()),
        Author::Assistant => (TrustTier::FirstParty, "assistant".to_owned()),
        Author::Framework => (TrustTier::FirstParty, "application".to_owned()),
        Author::Agent { name, tier } => (*tier, format!("agent {name}")),
    };
    Piece {
        text: shortened(message.text(), LONGEST_MESSAGE).into_owned(),
        tier,
        source,
    }
}

async fn call_of(call: &ToolCall) -> Piece {
    let result = match call.results() {
        ToolResults::Nothing => "The call has no result.".to_owned(),
        ToolResults::Text(text) => shortened(text, LONGEST_RESULT).into_owned(),
        ToolResults::Failure(text) => {
            format!("The call failed: {}", shortened(text, LONGEST_RESULT))
        }
        ToolResults::Refusal(text) => {
            format!("The call was not run: {}", shortened(text, LONGEST_RESULT))
        }
        ToolResults::Media(media) => format!("{} media", media.len()),
        ToolResults::Artifacts(_) if call.is_quarantined() => {
            "The result is in quarantine.".to_owned()
        }
        ToolResults::Artifacts(artifacts) => {
            let mut texts = Vec::with_capacity(artifacts.len());
            for artifact in artifacts {
                texts.push(artifact_text(artifact, call.is_inline()).await);
            }
            texts.join("\n")
        }
    };
    let args = args_text(call.args());
    let args = shortened(&args, LONGEST_ARGUMENTS);
    let mut taint = Taint::default();
    taint.add_tool_call(call);
    Piece {
        text: format!("Arguments: {args}\nResult: {result}"),
        tier: taint.least_trusted().unwrap_or(TrustTier::FirstParty),
        source: format!("tool {}", call.tool()),
    }
}

async fn found_in(found: &Retrievable) -> Option<Piece> {
    let covers = found.covers();
    let text = match found.content() {
        // Nothing is left of what was removed without being summarised.
        Retrieved::Text(_) if covers.is_some_and(|covers| covers.summarised == 0) => return None,
        Retrieved::Text(text) if covers.is_some() => text.clone(),
        Retrieved::Text(text) => shortened(text, LONGEST_RESULT).into_owned(),
        Retrieved::Artifact(artifact) => artifact_text(artifact, found.is_inline()).await,
        Retrieved::Media(_) => return None,
    };
    let source = match (covers, found.source()) {
        (Some(_), _) => "summary of the conversation before".to_owned(),
        (None, Some(source)) => format!("document {source}"),
        (None, None) => "document".to_owned(),
    };
    Some(Piece {
        text,
        tier: found.tier(),
        source,
    })
}

fn media_of(media: &Media) -> Piece {
    let mut text = format!("{} {}", media.kind(), media.filename());
    for (name, derived) in &media.descriptor().stash {
        text.push_str(&format!("\n{name}: {}", derived.text));
    }
    let mut taint = Taint::default();
    taint.add_media(media);
    Piece {
        text: shortened(&text, LONGEST_RESULT).into_owned(),
        tier: taint.least_trusted().unwrap_or(media.tier()),
        source: "attachment".to_owned(),
    }
}

/// Returns the beginning of an artifact: more of one that the prompt has shown completely.
async fn artifact_text(artifact: &SpooledArtifact, inline: bool) -> String {
    let text = if inline && artifact.byte_length() <= LONGEST_RESULT as u64 {
        artifact.inline_text().await
    } else {
        artifact.opening().await
    };
    match text {
        Ok(text) => match artifact.byte_length().saturating_sub(text.len() as u64) {
            // A trailing line break, or escapes.
            0 | 1 => text,
            _ => format!("{text}… ({} bytes in total)", artifact.byte_length()),
        },
        Err(_) => "The result cannot be read.".to_owned(),
    }
}
