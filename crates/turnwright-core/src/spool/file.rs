//! A file, read by range.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use bytes::Bytes;

use super::ByteReader;

/// A file on a local disk. Opened for each read and closed again: a conversation with thousands of results holds no
/// handles. Its length is taken once; what is appended later is not seen, and a file that became shorter, or another file
/// in its place, is an error.
#[derive(Clone, Debug)]
pub struct FileReader {
    path: PathBuf,
    len: u64,
    identity: Identity,
}

/// Which file it is, whatever its name: another file in its place is not read for it.
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
    /// A reader of the file as it is now.
    ///
    /// # Errors
    /// There is no such file, it may not be read, or it is a directory.
    pub async fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        blocking(move || {
            let metadata = File::open(&path)?.metadata()?;
            if metadata.is_dir() {
                return Err(io::Error::new(
                    io::ErrorKind::IsADirectory,
                    "a directory has no bytes to read",
                ));
            }
            Ok(FileReader::of(path, &metadata))
        })
        .await
    }

    pub(super) fn of(path: PathBuf, metadata: &Metadata) -> Self {
        FileReader {
            path,
            len: metadata.len(),
            identity: identity(metadata),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn fill(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.len.saturating_sub(at))
            .unwrap_or(usize::MAX)
            .min(into.len());
        let Some(into) = into.get_mut(..wanted).filter(|into| !into.is_empty()) else {
            return Ok(0);
        };
        let file = File::open(&self.path)?;
        if identity(&file.metadata()?) != self.identity {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "another file has taken its place",
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

/// Runs what may block away from the threads of the runtime.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(io::Error::other("the work was cut off")),
    }
}
