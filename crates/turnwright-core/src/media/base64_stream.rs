//! Base64, piece by piece.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::BytesMut;

use crate::spool::ByteStream;

/// Three bytes become four letters: only whole threes are encoded before the end.
const GROUP: usize = 3;

/// A media's bytes as base64, as they come: see [`Media::base64_stream`](super::Media::base64_stream).
pub(crate) struct Base64Stream {
    bytes: ByteStream,
    /// What came and makes no whole group yet.
    rest: BytesMut,
    ended: bool,
}

impl Base64Stream {
    pub(super) fn new(bytes: ByteStream) -> Self {
        Base64Stream {
            bytes,
            rest: BytesMut::new(),
            ended: false,
        }
    }

    /// The next piece, never empty, or `None` at the end. After an error there is nothing more.
    pub(crate) async fn next(&mut self) -> Option<io::Result<String>> {
        while !self.ended {
            match self.bytes.next().await {
                Some(Ok(piece)) => self.rest.extend_from_slice(&piece),
                Some(Err(error)) => {
                    self.ended = true;
                    return Some(Err(error));
                }
                None => self.ended = true,
            }
            let encodable = match self.ended {
                true => self.rest.len(),
                false => self.rest.len() - self.rest.len() % GROUP,
            };
            if encodable > 0 {
                let groups = self.rest.split_to(encodable);
                return Some(Ok(STANDARD.encode(groups)));
            }
        }
        None
    }
}

debug_fields!(Base64Stream {});
