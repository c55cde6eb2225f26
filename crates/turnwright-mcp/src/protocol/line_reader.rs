//! Reads lines of bounded length.

use std::io;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How many bytes are kept of each end of a line that is too long.
const ENDS: usize = 256;

/// How many times the limit, and how many bytes at least, a line may have before it counts as endless.
const ENDLESS: (usize, usize) = (8, 16 << 20);

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Complete(Vec<u8>),
    /// Its first and last bytes. The rest was read and dropped.
    TooLong {
        head: Vec<u8>,
        tail: Vec<u8>,
    },
}

/// Reads lines. Memory is bounded by the limit for a line.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    input: R,
    limit: usize,
    buffer: BytesMut,
    /// How much of the buffer has been searched for a line end.
    searched: usize,
    /// Set while the rest of a line that is too long is skipped.
    skipping: Option<(Vec<u8>, Vec<u8>)>,
    /// How many bytes of it were skipped.
    skipped: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(input: R, limit: usize) -> Self {
        LineReader {
            input,
            limit,
            buffer: BytesMut::new(),
            searched: 0,
            skipping: None,
            skipped: 0,
        }
    }

    /// Returns the next line, or `None` at the end of the stream. A last line without an end is dropped: it may be incomplete.
    ///
    /// # Errors
    /// The stream fails, or a line does not end.
    ///
    /// Cancel safe: what was read stays in the reader.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Some(line));
            }
            if self.skipped > self.limit.saturating_mul(ENDLESS.0).max(ENDLESS.1) {
                let message = format!("a line has more than {} bytes", self.skipped);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            self.buffer.reserve(8 << 10);
            if self.input.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }

    fn take_line(&mut self) -> Option<Line> {
        let unseen = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(at) = unseen.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            if self.buffer.len() > self.limit || self.skipping.is_some() {
                self.skip_buffer();
            }
            return None;
        };
        let mut line = self.buffer.split_to(self.searched + at);
        self.buffer.advance(1);
        self.searched = 0;
        self.skipped = 0;
        if self.skipping.is_some() || line.len() > self.limit {
            let (head, tail) = self.skipping.take().unwrap_or_default();
            let (head, tail) = ends(head, tail, &line);
            return Some(Line::TooLong { head, tail });
        }
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        Some(Line::Complete(line.to_vec()))
    }

    /// Drops what is in the buffer, except for the ends of the line.
    fn skip_buffer(&mut self) {
        let (head, tail) = self.skipping.take().unwrap_or_default();
        self.skipping = Some(ends(head, tail, &self.buffer));
        self.skipped = self.skipped.saturating_add(self.buffer.len());
        self.buffer.clear();
        self.searched = 0;
    }
}

/// Returns the first and last bytes of a line of which `more` follows.
fn ends(mut head: Vec<u8>, mut tail: Vec<u8>, more: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let missing = ENDS.saturating_sub(head.len()).min(more.len());
    head.extend(more.iter().take(missing));
    tail.extend(more.iter().skip(more.len().saturating_sub(ENDS)));
    tail.drain(..tail.len().saturating_sub(ENDS));
    (head, tail)
}
