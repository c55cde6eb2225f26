//! Large results that clients read in pieces.

use std::collections::VecDeque;
use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{MetaObject, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};
use turnwright_core::artifact::SpooledArtifact;
use url::Url;

use super::limits::ServeLimits;

/// The beginning of the URI of a result.
pub(super) const PREFIX: &str = "turnwright://results/";

/// The results that can be read. The oldest is dropped first.
#[derive(Default)]
pub(super) struct Results(Mutex<VecDeque<Stored>>);

#[derive(Clone)]
struct Stored {
    id: String,
    content: SpooledArtifact,
    mime_type: String,
}

impl Results {
    /// Keeps a result and returns a link to it.
    pub(super) fn add(
        &self,
        tool: &str,
        content: SpooledArtifact,
        mime_type: &str,
        limits: &ServeLimits,
    ) -> io::Result<Resource> {
        let id = new_id()?;
        let size = content.byte_length();
        let description = format!(
            "The result of `{tool}`: {size} bytes. One resources/read returns at most {} bytes. Add ?offset=BYTES&length=BYTES \
             to read a part.",
            limits.read_bytes
        );
        let mut link = Resource::new(format!("{PREFIX}{id}"), format!("{tool} result"))
            .with_description(description)
            .with_mime_type(mime_type);
        link.size = Some(size);
        let mut kept = self.0.lock();
        kept.push_back(Stored {
            id,
            content,
            mime_type: mime_type.to_owned(),
        });
        let total = |kept: &VecDeque<Stored>| -> u64 {
            kept.iter().map(|stored| stored.content.byte_length()).sum()
        };
        while kept.len() > 1 && (kept.len() > limits.results || total(&kept) > limits.results_bytes)
        {
            kept.pop_front();
        }
        Ok(link)
    }

    /// Reads a piece of a result.
    pub(super) async fn read(
        &self,
        uri: &str,
        limits: &ServeLimits,
    ) -> Result<ReadResourceResult, ErrorData> {
        let range = Range::parse(uri)?;
        let found = self.0.lock().iter().find(|it| it.id == range.id).cloned();
        let stored = found.ok_or_else(|| not_found(uri))?;
        let size = stored.content.byte_length();
        let length = range.length.unwrap_or(u64::MAX).min(limits.read_bytes);
        let end = range.offset.saturating_add(length).min(size);
        if range.offset > size {
            let message = format!("`offset` must be at most {size} (got {})", range.offset);
            return Err(ErrorData::invalid_params(message, None));
        }
        let bytes = read_range(&stored.content, range.offset..end).await;
        let bytes = bytes.map_err(|error| {
            tracing::error!(%error, "a result could not be read");
            ErrorData::internal_error("The result could not be read.", None)
        })?;
        Ok(ReadResourceResult::new(vec![piece(
            &range, &stored, &bytes,
        )]))
    }
}

/// The piece of a result that a URI names.
#[derive(Debug, PartialEq, Eq)]
struct Range {
    id: String,
    offset: u64,
    length: Option<u64>,
}

impl Range {
    fn parse(uri: &str) -> Result<Self, ErrorData> {
        let url = Url::parse(uri).map_err(|_| not_found(uri))?;
        let id = url.path().trim_start_matches('/').to_owned();
        let mut range = Range {
            id,
            offset: 0,
            length: None,
        };
        for (name, value) in url.query_pairs() {
            let number = value.parse::<u64>().map_err(|_| {
                let message = format!("`{name}` must be a number of bytes (got {value:?})");
                ErrorData::invalid_params(message, None)
            });
            match &*name {
                "offset" => range.offset = number?,
                "length" => range.length = Some(number?),
                _ => return Err(not_found(uri)),
            }
        }
        if range.length == Some(0) {
            let message = "`length` must be at least 1".to_owned();
            return Err(ErrorData::invalid_params(message, None));
        }
        Ok(range)
    }
}

fn piece(range: &Range, stored: &Stored, bytes: &Bytes) -> ResourceContents {
    let size = stored.content.byte_length();
    let is_last = range.offset + bytes.len() as u64 >= size;
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        // The rest of the last character follows in the next piece.
        Err(cut) if cut.error_len().is_none() && !is_last && cut.valid_up_to() > 0 => bytes
            .get(..cut.valid_up_to())
            .and_then(|text| std::str::from_utf8(text).ok()),
        Err(_) => None,
    };
    let length = text.map_or(bytes.len(), str::len) as u64;
    let end = range.offset + length;
    let base = format!("{PREFIX}{}", range.id);
    let uri = match (range.offset, end >= size) {
        (0, true) => base.clone(),
        (offset, _) => format!("{base}?offset={offset}&length={length}"),
    };
    let mut meta = MetaObject::default();
    meta.0.insert("turnwright/size".to_owned(), json!(size));
    if end < size {
        let next = format!("{base}?offset={end}");
        meta.0.insert("turnwright/next".to_owned(), json!(next));
    }
    let contents = match text {
        Some(text) => ResourceContents::text(text, uri),
        None => ResourceContents::blob(BASE64_STANDARD.encode(bytes), uri),
    };
    contents.with_mime_type(&stored.mime_type).with_meta(meta)
}

/// Reads a range completely.
async fn read_range(content: &SpooledArtifact, range: std::ops::Range<u64>) -> io::Result<Bytes> {
    let mut all = BytesMut::new();
    let mut at = range.start;
    while at < range.end {
        let more = content.reader().read(at..range.end).await?;
        if more.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        at += more.len() as u64;
        all.extend_from_slice(&more);
    }
    Ok(all.freeze())
}

/// How results are read, as a template.
pub(super) fn template() -> ResourceTemplate {
    let uri = format!("{PREFIX}{{id}}{{?offset,length}}");
    ResourceTemplate::new(uri, "Large tool result").with_description(
        "A part of a large tool result: `length` bytes from `offset`. The URI without parameters is in the result of the call.",
    )
}

pub(super) fn not_found(uri: &str) -> ErrorData {
    let shown: String = uri.chars().take(500).collect();
    let data: Value = json!({ "uri": shown });
    ErrorData::resource_not_found("Resource not found", Some(data))
}

/// Returns an id that cannot be guessed.
pub(super) fn new_id() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
