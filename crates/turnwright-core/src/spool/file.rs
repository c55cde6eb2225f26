//! A file, read by range.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use bytes::Bytes;

use super::ByteReader;

/// A file on a local disk. Opened for each read and closed again: a conversation with thousands of results holds no
/// handles. Its length is taken once; what is appended later is not seen, and a file that became shorter is an error.
#[derive(Clone, Debug)]
pub struct FileReader {
    path: PathBuf,
    len: u64,
}

impl FileReader {
    /// A reader of the file as it is now.
    ///
    /// # Errors
    /// There is no such file, it may not be read, or it is a directory.
    pub async fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let (path, len) = blocking(move || {
            let metadata = File::open(&path)?.metadata()?;
            if metadata.is_dir() {
                return Err(io::Error::new(
                    io::ErrorKind::IsADirectory,
                    "a directory has no bytes to read",
                ));
            }
            Ok((path, metadata.len()))
        })
        .await?;
        Ok(FileReader { path, len })
    }

    pub(super) fn of_length(path: PathBuf, len: u64) -> Self {
        FileReader { path, len }
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
        read_exact_at(&self.path, at, into).map_err(|error| match error.kind() {
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
fn read_exact_at(path: &Path, at: u64, into: &mut [u8]) -> io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    File::open(path)?.read_exact_at(into, at)
}

#[cfg(not(unix))]
fn read_exact_at(path: &Path, at: u64, into: &mut [u8]) -> io::Result<()> {
    use std::io::{Read as _, Seek as _};
    let mut file = File::open(path)?;
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
