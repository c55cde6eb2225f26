//! Reads a file.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::AsyncReadExt as _;
use turnwright::Effects;
use turnwright::Error;
use turnwright::artifact::ArtifactKind;
use turnwright::prelude::*;
use turnwright::schemars::JsonSchema;
use turnwright::spool::{Body, ByteSender, ByteStream};

use super::folder::{Folder, unreadable};
use crate::toolbox::content::{ENOUGH, not_text};
use crate::units::size;

const MAX_BYTES: u64 = 64 << 20;

/// The size of a read. A smaller file is returned in one piece.
const PIECE: usize = 64 << 10;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "turnwright::schemars")]
struct Args {
    /// File to read, as a relative path: `src/main.rs`.
    #[schemars(length(min = 1, max = 1000))]
    path: String,
}

pub(super) fn tool(folder: Folder) -> Result<Tool, Error> {
    Tool::typed::<Args>("read_file")
        .description(
            "Reads a complete text file. For a long file you get a handle, with which you can read lines or search. Binary files \
             and files larger than 64 MiB are refused. Hidden files need approval.",
        )
        .effects(Effects::ReadOnly)
        .reads_private(true)
        .timeout(Duration::from_secs(60))
        .approval(super::asks_for_hidden())
        .handler(move |args: Args, _: ToolContext| {
            let folder = folder.clone();
            async move { read(folder, args.path).await }
        })
        .build()
}

async fn read(folder: Folder, path: String) -> Result<ToolOutput, ToolError> {
    let kind = kind_of(&path);
    let asked = path.clone();
    let opened = tokio::task::spawn_blocking(move || {
        let resolved = folder.resolve(&asked)?;
        let opened = folder.file(&resolved).and_then(|file| {
            let bytes = file.metadata()?.len();
            Ok((file, bytes))
        });
        opened.map_err(|error| unreadable(&asked, &error))
    });
    let (file, bytes) = opened.await??;
    let trouble = |error: io::Error| unreadable(&path, &error);
    if bytes > MAX_BYTES {
        let for_model = format!(
            "`{path}` has {}, which is too large. Use search_files to find lines in it.",
            size(bytes)
        );
        return Err(ToolError::invalid_arguments("the file is too large").for_model(for_model));
    }
    // The file may have grown meanwhile.
    let mut file = tokio::fs::File::from_std(file).take(MAX_BYTES);
    let first = piece(&mut file).await.map_err(trouble)?;
    if let Some(what) = not_text(&first) {
        let for_model = format!("`{path}` is not text but {what}. Only text can be read.");
        return Err(ToolError::invalid_arguments("the file is not text").for_model(for_model));
    }
    if first.len() < PIECE {
        return Ok(ToolOutput::bytes(first).of_kind(kind));
    }
    let (sender, stream) = ByteStream::channel(2);
    tokio::spawn(feed(first, file, sender));
    Ok(ToolOutput::from(Body::Stream(stream)).of_kind(kind))
}

type Bounded = tokio::io::Take<tokio::fs::File>;

/// The next piece; empty at the end.
async fn piece(file: &mut Bounded) -> io::Result<Vec<u8>> {
    let mut piece = Vec::with_capacity(ENOUGH);
    file.take(PIECE as u64).read_to_end(&mut piece).await?;
    Ok(piece)
}

async fn feed(first: Vec<u8>, mut file: Bounded, sender: ByteSender) {
    let mut next = first;
    // Sending fails if the call was cancelled.
    while !next.is_empty() && sender.send(next).await.is_ok() {
        next = match piece(&mut file).await {
            Ok(bytes) => bytes,
            Err(error) => {
                let _ = sender.fail(error).await;
                return;
            }
        };
    }
}

/// The kind of artifact, by the extension of the file.
fn kind_of(path: &str) -> ArtifactKind {
    let ending = Path::new(path).extension().unwrap_or_default();
    match ending.to_string_lossy().to_ascii_lowercase().as_str() {
        "json" => ArtifactKind::JSON,
        "jsonl" | "ndjson" => ArtifactKind::JSON_LINES,
        "md" | "markdown" => ArtifactKind::MARKDOWN,
        _ => ArtifactKind::TEXT,
    }
}
