//! Reads ranges of a file.
//!
//! A file is opened for each block, so that thousands of results do not exhaust descriptors.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use async_trait::async_trait;
use bytes::Bytes;

use super::ByteReader;
use crate::files::open_regular;

/// A reader of a regular file on a local disk.
///
/// The file is opened for each read and closed again, so a conversation with thousands of results holds no file handles. The
/// length is determined once: data that is appended later is not visible. Reading fails if the file was truncated or replaced.
/// Pipes and devices are rejected, so a read never waits for another process.
///
/// ```no_run
/// use std::sync::Arc;
/// use turnwright_artifact::artifact::{ArtifactKind, SpooledArtifact};
/// use turnwright_artifact::spool::FileReader;
///
/// # async fn read() -> Result<(), Box<dyn std::error::Error>> {
/// let reader = FileReader::open("/var/log/app.log").await?;
/// let log = SpooledArtifact::new(Arc::new(reader), ArtifactKind::TEXT);
/// println!("{}", log.tail(20).await?.to_page());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct FileReader {
    path: PathBuf,
    /// Whether symbolic links are followed.
    follow_links: bool,
    len: u64,
    identity: Identity,
}

/// Identifies the file independently of its name, to detect that it was replaced.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = ();

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Identity {}

impl FileReader {
    /// Opens a file.
    ///
    /// # Errors
    /// Returns an error if the file does not exist, cannot be read or is not a regular file.
    pub async fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        FileReader::open_with(path.into(), true).await
    }

    pub(super) async fn open_with(path: PathBuf, follow_links: bool) -> io::Result<Self> {
        blocking(move || {
            let metadata = open_regular(&path, follow_links)?.metadata()?;
            Ok(FileReader::of(path, follow_links, &metadata))
        })
        .await
    }

    pub(super) fn of(path: PathBuf, follow_links: bool, metadata: &Metadata) -> Self {
        FileReader {
            path,
            follow_links,
            len: metadata.len(),
            identity: identity(metadata),
        }
    }

    fn fill(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.len.saturating_sub(at))
            .unwrap_or(usize::MAX)
            .min(into.len());
        let Some(into) = into.get_mut(..wanted).filter(|into| !into.is_empty()) else {
            return Ok(0);
        };
        let file = open_regular(&self.path, self.follow_links)?;
        if identity(&file.metadata()?) != self.identity {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the file was replaced",
            ));
        }
        read_exact_at(&file, at, into).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file is shorter than it was when it was opened",
            ),
            _ => error,
        })?;
        Ok(wanted)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, at: u64, into: &mut [u8]) -> io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    file.read_exact_at(into, at)
}

#[cfg(not(unix))]
fn read_exact_at(mut file: &File, at: u64, into: &mut [u8]) -> io::Result<()> {
    use std::io::{Read as _, Seek as _};
    file.seek(io::SeekFrom::Start(at))?;
    file.read_exact(into)
}

#[async_trait]
impl ByteReader for FileReader {
    fn len(&self) -> u64 {
        self.len
    }

    async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let reader = self.clone();
        blocking(move || {
            let end = range.end.min(reader.len);
            let wanted = usize::try_from(end.saturating_sub(range.start))
                .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
            let mut bytes = vec![0; wanted];
            reader.fill(range.start, &mut bytes)?;
            Ok(Bytes::from(bytes))
        })
        .await
    }

    fn read_now(&self, at: u64, into: &mut [u8]) -> Option<io::Result<usize>> {
        Some(self.fill(at, into))
    }
}

/// Runs blocking work on a separate thread.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(io::Error::other("the blocking task was cancelled")))
}
