//! Results of calls as content.

use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::{Bytes, BytesMut};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;
use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
use turnwright_core::media::MediaKind;
use turnwright_core::record::ToolResults;
use turnwright_core::schema::Limits;
use turnwright_core::{Media, Tool, ToolCall};

use super::server::Server;

impl Server {
    /// Converts the record of a call to the result that the client reads.
    pub(super) async fn content(&self, tool: &Tool, record: &ToolCall) -> CallToolResult {
        let converted = match record.results() {
            ToolResults::Failure(text) | ToolResults::Refusal(text) => return failed(text),
            ToolResults::Text(text) => Ok(vec![ContentBlock::text(text)]),
            ToolResults::Artifacts(artifacts) => self.artifacts(record, artifacts).await,
            ToolResults::Media(media) => self.media(tool, media).await,
            _ => Ok(Vec::new()),
        };
        let mut content = match converted {
            Ok(content) => content,
            Err(error) => {
                tracing::error!(tool = tool.name(), %error, "a result could not be read");
                return failed("The tool ran, but its result could not be read.");
            }
        };
        if record.is_truncated() {
            let note = "The result is too large. Only its beginning was kept.";
            content.push(ContentBlock::text(note));
        }
        let mut result = CallToolResult::success(content);
        if tool.output_schema().is_some() {
            match structured(tool, record).await {
                Some(value) => result.structured_content = Some(value),
                None => {
                    tracing::error!(
                        tool = tool.name(),
                        "a result does not match the output schema"
                    );
                    return failed(
                        "The tool ran, but its result does not match its output schema.",
                    );
                }
            }
        }
        result
    }

    async fn artifacts(
        &self,
        record: &ToolCall,
        artifacts: &[SpooledArtifact],
    ) -> io::Result<Vec<ContentBlock>> {
        let mut content = Vec::new();
        for artifact in artifacts {
            if record.is_inline() {
                let bytes = artifact.as_bytes().await.map_err(io::Error::other)?;
                if let Ok(text) = String::from_utf8(bytes.into()) {
                    content.push(ContentBlock::text(text));
                    continue;
                }
            }
            let opening = artifact.opening().await.map_err(io::Error::other)?;
            let opening = format!("\nIt begins with:\n{opening}");
            let mime_type = mime_type(artifact).await?;
            let artifact = artifact.clone();
            content.extend(self.link("result", record.tool(), artifact, mime_type, &opening)?);
        }
        Ok(content)
    }

    /// A link to a large result, in words too.
    fn link(
        &self,
        what: &str,
        tool: &str,
        artifact: SpooledArtifact,
        mime_type: &str,
        opening: &str,
    ) -> io::Result<[ContentBlock; 2]> {
        let size = artifact.byte_length();
        let limits = &self.service.limits;
        let link = self.results.add(tool, artifact, mime_type, limits)?;
        let text = format!(
            "The {what} has {size} bytes and was not included. Read it with resources/read: {}{opening}",
            link.uri
        );
        Ok([ContentBlock::text(text), ContentBlock::resource_link(link)])
    }

    async fn media(&self, tool: &Tool, media: &[Media]) -> io::Result<Vec<ContentBlock>> {
        let mut content = Vec::new();
        for item in media {
            for derived in item.descriptor().stash.values() {
                content.push(ContentBlock::text(&derived.text));
            }
            self.medium(tool, item, &mut content).await?;
        }
        Ok(content)
    }

    async fn medium(
        &self,
        tool: &Tool,
        media: &Media,
        content: &mut Vec<ContentBlock>,
    ) -> io::Result<()> {
        let limits = &self.service.limits;
        let bytes = read(media, limits.result_bytes).await?;
        let mime_type = media.mime_type();
        if bytes.len() as u64 > limits.media_bytes {
            let artifact = SpooledArtifact::in_memory(bytes, ArtifactKind::TEXT);
            content.extend(self.link(mime_type, tool.name(), artifact, mime_type, "")?);
            return Ok(());
        }
        content.push(match media.kind() {
            MediaKind::Image => ContentBlock::image(BASE64_STANDARD.encode(bytes), mime_type),
            MediaKind::Audio => ContentBlock::audio(BASE64_STANDARD.encode(bytes), mime_type),
            _ => ContentBlock::resource(embedded(media, &bytes)),
        });
        Ok(())
    }
}

fn failed(text: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// A document or video as an embedded resource.
fn embedded(media: &Media, bytes: &Bytes) -> ResourceContents {
    let source = media.descriptor().source.as_ref();
    let uri = match source.filter(|source| url::Url::parse(source).is_ok()) {
        Some(source) => source.clone(),
        None => format!("turnwright://media/{}", media.id()),
    };
    let is_text = media.mime_type().starts_with("text/") || media.mime_type().ends_with("json");
    let text = std::str::from_utf8(bytes).ok().filter(|_| is_text);
    let contents = match text {
        Some(text) => ResourceContents::text(text, uri),
        None => ResourceContents::blob(BASE64_STANDARD.encode(bytes), uri),
    };
    contents.with_mime_type(media.mime_type())
}

/// Reads media up to a limit.
async fn read(media: &Media, most: u64) -> io::Result<Bytes> {
    let mut stream = media.stream().await?;
    let mut all = BytesMut::new();
    while let Some(piece) = stream.next().await {
        all.extend_from_slice(&piece?);
        if all.len() as u64 > most {
            return Err(io::Error::other("it is larger than `result_bytes`"));
        }
    }
    Ok(all.freeze())
}

/// Returns the result as JSON that matches the output schema.
async fn structured(tool: &Tool, record: &ToolCall) -> Option<Value> {
    let text = record.text().await?;
    let limits = Limits::default().max_bytes(text.len().saturating_mul(2));
    let schema = tool.output_schema()?.clone().with_limits(limits);
    let checked = schema.check(text).ok()?;
    Some(checked.into_value())
}

async fn mime_type(artifact: &SpooledArtifact) -> io::Result<&'static str> {
    Ok(match artifact.kind().as_str() {
        "json" => "application/json",
        "jsonl" => "application/jsonl",
        "markdown" => "text/markdown",
        _ => {
            let first = artifact
                .reader()
                .read(0..artifact.byte_length().min(1024))
                .await?;
            match std::str::from_utf8(&first) {
                Err(error) if error.error_len().is_some() => "application/octet-stream",
                _ => "text/plain",
            }
        }
    })
}
