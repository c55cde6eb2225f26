//! Text queries on readers that count, fail and are slow.

mod grep;
mod lines;
mod long_lines;
mod paging;
mod queries;
mod readers;
mod reading;
mod tokens;

use std::future::Future;
use std::sync::LazyLock;

use tokio::runtime::Runtime;

use crate::artifact::{ArtifactKind, ArtifactLimits, SpooledArtifact};

/// Runs a future to completion.
fn wait<T>(future: impl Future<Output = T>) -> T {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap()
    });
    RUNTIME.block_on(future)
}

fn text(content: impl Into<Vec<u8>>) -> SpooledArtifact {
    SpooledArtifact::in_memory(content.into(), ArtifactKind::TEXT)
}

/// Sets the maximum size of answers.
fn answering(artifact: SpooledArtifact, bytes: usize) -> SpooledArtifact {
    artifact.with_limits(ArtifactLimits::default().page(bytes))
}

/// Splits content into lines by the specification.
fn lines_of(content: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let mut line = Vec::new();
    let mut open = false;
    for byte in content {
        open = true;
        if *byte == b'\n' {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            lines.push(std::mem::take(&mut line));
            open = false;
        } else {
            line.push(*byte);
        }
    }
    if open {
        lines.push(line);
    }
    lines
}

/// Text, binary data, all line endings, and lines longer than an answer.
fn hostile() -> impl proptest::strategy::Strategy<Value = Vec<u8>> {
    use proptest::prelude::*;
    let short = prop_oneof![
        8 => Just(b"\n".to_vec()),
        3 => Just(b"\r\n".to_vec()),
        1 => Just(b"\r".to_vec()),
        4 => Just(b"abc".to_vec()),
        2 => Just(b"ERROR 7".to_vec()),
        2 => Just("\u{e9}\u{65e5}\u{1f980}".as_bytes().to_vec()),
        1 => Just(b"\0\x1b\t".to_vec()),
        1 => Just(b"\xff\xc3\xe6\x97".to_vec()),
        1 => Just("\u{85}\u{2028}".as_bytes().to_vec()),
    ];
    let long = prop_oneof![
        Just("x".repeat(700).into_bytes()),
        Just("\u{65e5}".repeat(400).into_bytes()),
        Just(b"\xff\0".repeat(150)),
        Just("ab\u{1f980}".repeat(120).into_bytes()),
    ];
    let piece = prop_oneof![12 => short, 1 => long];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}
