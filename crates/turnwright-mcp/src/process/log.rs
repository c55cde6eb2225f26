//! The last lines that a program wrote to standard error.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use turnwright_models::redact::Redactor;

/// The most bytes that are kept.
const MAX_BYTES: usize = 64 << 10;

/// The most characters of a line in a message.
const MAX_SHOWN: usize = 300;

/// A bounded log. What is read from it does not contain the secrets of the program. A handle: clones share the content.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessLog(Arc<Mutex<Content>>);

#[derive(Debug, Default)]
struct Content {
    bytes: VecDeque<u8>,
    redactor: Option<Redactor>,
}

impl ProcessLog {
    /// Does not show these secrets, also of what was added before.
    pub(crate) fn hide(&self, secrets: &Redactor) {
        self.0.lock().redactor = Some(secrets.clone());
    }

    /// Reads until the end of the stream.
    pub(crate) async fn read(self, mut stream: impl AsyncRead + Unpin) {
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut piece).await {
            self.add(piece.get(..length).unwrap_or_default());
        }
    }

    /// Adds bytes. The oldest ones are dropped.
    pub(crate) fn add(&self, bytes: &[u8]) {
        let log = &mut self.0.lock().bytes;
        log.extend(bytes);
        let excess = log.len().saturating_sub(MAX_BYTES);
        log.drain(..excess);
    }

    /// Returns the content as text.
    pub(crate) fn text(&self) -> String {
        let log = self.0.lock();
        let bytes: Vec<u8> = log.bytes.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        match &log.redactor {
            Some(redactor) => redactor.text(&text),
            None => text.into_owned(),
        }
    }

    /// Returns the beginning of the last line that is not empty, for a message.
    pub(crate) fn last_line(&self) -> Option<String> {
        let text = self.text();
        let mut lines = text.lines().map(str::trim);
        let line = lines.rfind(|line| !line.is_empty())?;
        Some(line.chars().take(MAX_SHOWN).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_log_keeps_the_last_bytes_and_finds_the_last_line() {
        let log = ProcessLog::default();
        assert_eq!(log.last_line(), None);
        let long = "x".repeat(MAX_BYTES);
        let text = format!("{long}\nfirst\nlast \n\n");
        log.clone().read(text.as_bytes()).await;
        assert_eq!(log.text().len(), MAX_BYTES);
        assert_eq!(log.last_line().as_deref(), Some("last"));
        log.add("y".repeat(1_000).as_bytes());
        assert_eq!(log.last_line(), Some("y".repeat(MAX_SHOWN)));
    }
}
