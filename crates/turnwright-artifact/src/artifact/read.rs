//! Blocking reads on a dedicated thread.
//!
//! If the caller stops waiting, the next read fails and the query ends.

use std::io;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::SpooledArtifact;
use crate::error::{Error, ErrorCode};
use crate::spool::ByteReader;

/// The most bytes to read before the next check whether the query was cancelled.
const AT_ONCE: usize = 1024 * 1024;

/// Blocking access to the bytes of an artifact: `Read` and `Seek` for parsers.
#[derive(Clone)]
pub struct ArtifactRead {
    reader: Arc<dyn ByteReader>,
    runtime: Handle,
    /// Cancelled when the caller drops its future.
    cancelled: CancellationToken,
    at: u64,
}

impl SpooledArtifact {
    /// Runs `work` on a thread for blocking work, with access to the bytes.
    ///
    /// # Cancel safety
    /// If the future is dropped, the next read in `work` fails, so that the thread ends soon.
    ///
    /// ```
    /// use std::io::BufRead as _;
    /// use turnwright_artifact::ToolError;
    /// use turnwright_artifact::artifact::{ArtifactKind, ArtifactRead, SpooledArtifact};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let artifact = SpooledArtifact::in_memory("a\nb\nc\n", ArtifactKind::TEXT);
    /// let longest = artifact
    ///     .read_with(|read: ArtifactRead| {
    ///         let mut longest = 0;
    ///         for line in std::io::BufReader::new(read).lines() {
    ///             longest = longest.max(line?.len());
    ///         }
    ///         Ok::<_, ToolError>(longest)
    ///     })
    ///     .await?;
    /// assert_eq!(longest, 1);
    /// # Ok::<(), ToolError>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns the error of `work`, or an error if `work` panics.
    pub async fn read_with<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: FnOnce(ArtifactRead) -> Result<T, E> + Send + 'static,
    {
        let cancelled = CancellationToken::new();
        let _guard = cancelled.clone().drop_guard();
        let read = ArtifactRead {
            reader: Arc::clone(self.reader()),
            runtime: Handle::current(),
            cancelled,
            at: 0,
        };
        let done = tokio::task::spawn_blocking(move || work(read)).await;
        done.unwrap_or_else(|_| {
            let message = "the artifact query panicked or was aborted";
            Err(Error::new(ErrorCode::ARTIFACT_UNREADABLE, message).into())
        })
    }
}

impl ArtifactRead {
    /// Returns the size in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.reader.len()
    }

    /// Returns whether the artifact is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.reader.is_empty()
    }

    /// Fills `into` from the offset `at`. Reads fewer bytes only at the end of the content.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_UNREADABLE` if the bytes cannot be read or the caller has dropped its future.
    pub(crate) fn read_at(&self, at: u64, into: &mut [u8]) -> Result<usize, Error> {
        let left = self.len().saturating_sub(at);
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        let mut filled = 0;
        // A reader may return less than requested. Only an empty read is a failure.
        while filled < wanted {
            let end = wanted.min(filled + AT_ONCE);
            let rest = into.get_mut(filled..end).unwrap_or_default();
            let place = at + filled as u64;
            filled += self
                .piece(place, rest)
                .map_err(|error| Error::unreadable_artifact(error, place, self.len()))?;
        }
        Ok(filled)
    }

    /// Reads the first `most` bytes, or all bytes if there are fewer.
    #[cfg(feature = "artifact-formats")]
    pub(super) fn first(&self, most: usize) -> Result<Vec<u8>, Error> {
        let length = usize::try_from(self.len()).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(most)];
        let length = self.read_at(0, &mut bytes)?;
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Reads at least one byte into `into`.
    fn piece(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        if self.cancelled.is_cancelled() {
            return Err(io::Error::other("the query was cancelled"));
        }
        let count = match self.reader.read_now(at, into) {
            Some(count) => count?,
            None => {
                let range = at..at + into.len() as u64;
                let bytes = self.runtime.block_on(self.reader.read(range))?;
                let count = bytes.len().min(into.len());
                if let (Some(to), Some(from)) = (into.get_mut(..count), bytes.get(..count)) {
                    to.copy_from_slice(from);
                }
                count
            }
        };
        if count == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the reader returned fewer bytes than its reported length",
            ));
        }
        Ok(count)
    }
}

impl io::Read for ArtifactRead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // Wrap the complete error, so that a parser that propagates it does not lose its details.
        let count = self.read_at(self.at, into).map_err(io::Error::other)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl io::Seek for ArtifactRead {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let place = match to {
            io::SeekFrom::Start(place) => Some(place),
            io::SeekFrom::End(by) => self.len().checked_add_signed(by),
            io::SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

debug_fields!(ArtifactRead { at });
