//! SHA-256 digests of stored bytes, so that bytes that were replaced on disk are not read as the result of a tool.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::file::blocking;
use super::{ByteReader, Spool};
use crate::checksum::{HashSink, Hex, Sink as _};
use crate::spool::{Body, ByteStream};

/// How many bytes are hashed at once.
const BLOCK: usize = 256 * 1024;

/// Where a spool stores content.
#[derive(Clone, Debug)]
pub struct Spooled {
    /// The id in the spool.
    pub id: Box<str>,
    /// SHA-256 of the bytes, if known.
    pub digest: Option<Hex>,
}

impl Spooled {
    /// Writes content to a spool. Hashes it on the way if the spool is persistent; other programs cannot replace bytes in memory.
    pub async fn put(
        spool: &dyn Spool,
        id: &str,
        content: Body,
    ) -> io::Result<(Self, Arc<dyn ByteReader>)> {
        let hashing = Hashing::default();
        let content = match content {
            content if !spool.is_persistent() => content,
            Body::Text(text) => Body::Text(hashing.all(text).await?),
            Body::Bytes(bytes) => Body::Bytes(hashing.all(bytes).await?),
            Body::Stream(stream) => Body::Stream(stream.hashed(hashing.clone())),
        };
        let reader = spool.put(id, content).await?;
        let spooled = Spooled {
            id: id.into(),
            digest: hashing.finish(reader.len()),
        };
        Ok((spooled, reader))
    }
}

/// A digest in progress. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Hashing(Arc<Mutex<Option<(HashSink, u64)>>>);

impl Hashing {
    pub(crate) fn put(&self, piece: &[u8]) {
        let mut hashing = self.0.lock();
        let (sink, length) = hashing.get_or_insert_with(|| (HashSink::new(), 0));
        sink.put(piece);
        *length += piece.len() as u64;
    }

    async fn all<T: AsRef<[u8]> + Send + 'static>(&self, content: T) -> io::Result<T> {
        let hashing = self.clone();
        blocking(move || {
            hashing.put(content.as_ref());
            Ok(content)
        })
        .await
    }

    /// Returns the digest if exactly this many bytes were hashed. A spool may have stopped reading a stream before its end.
    fn finish(&self, length: u64) -> Option<Hex> {
        let (sink, hashed) = self.0.lock().take()?;
        (hashed == length).then(|| sink.finish())
    }
}

/// Returns the digest of all bytes of a reader.
pub async fn digest_of(reader: &Arc<dyn ByteReader>) -> io::Result<Hex> {
    let near = Arc::clone(reader);
    if let Some(digest) = blocking(move || digest_now(&*near)).await? {
        return Ok(digest);
    }
    let mut sink = HashSink::new();
    let mut stream = ByteStream::of_reader(Arc::clone(reader));
    while let Some(piece) = stream.next().await {
        sink.put(&piece?);
    }
    Ok(sink.finish())
}

/// Like [`digest_of`], for a reader that does not need to be awaited.
fn digest_now(reader: &dyn ByteReader) -> io::Result<Option<Hex>> {
    let mut sink = HashSink::new();
    let mut block = vec![0; BLOCK];
    let mut at = 0;
    while at < reader.len() {
        let Some(came) = reader.read_now(at, &mut block) else {
            return Ok(None);
        };
        let came = came?;
        match block.get(..came).filter(|piece| !piece.is_empty()) {
            Some(piece) => sink.put(piece),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        at += came as u64;
    }
    Ok(Some(sink.finish()))
}
