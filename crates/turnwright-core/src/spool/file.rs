//! A file, read by range.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use bytes::Bytes;

use super::ByteReader;

/// A regular file on a local disk. Opened for each read and closed again: a conversation with thousands of results holds no
/// handles. Its length is taken once; what is appended later is not seen, and a file that became shorter, or another file
/// in its place, is an error. So is a pipe or a device: a read never waits for another process.
#[derive(Clone, Debug)]
pub struct FileReader {
    path: PathBuf,
    /// Whether a symbolic link in its place is followed.
    follow_links: bool,
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
    /// There is no such file, it may not be read, or it is not a regular file.
    pub async fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        FileReader::open_with(path.into(), true).await
    }

    pub(super) async fn open_with(path: PathBuf, follow_links: bool) -> io::Result<Self> {
        blocking(move || {
            let (_, metadata) = open_file(&path, follow_links)?;
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
        let (file, metadata) = open_file(&self.path, self.follow_links)?;
        if identity(&metadata) != self.identity {
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

/// Opens a regular file. What is opened is judged, not its name: another process may replace the file at any time.
fn open_file(path: &Path, follow_links: bool) -> io::Result<(File, Metadata)> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Without the first, opening a pipe waits for a writer.
        let no_follow = if follow_links { 0 } else { libc::O_NOFOLLOW };
        options.custom_flags(libc::O_NONBLOCK | no_follow);
    }
    #[cfg(not(unix))]
    if !follow_links && std::fs::symlink_metadata(path)?.is_symlink() {
        return Err(not_a_file());
    }
    let file = options.open(path).map_err(|error| match is_link(&error) {
        true if !follow_links => not_a_file(),
        _ => error,
    })?;
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok((file, metadata)),
        false if metadata.is_dir() => Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "a directory has no bytes to read",
        )),
        false => Err(not_a_file()),
    }
}

/// Whether a file was not opened because its name is a symbolic link.
#[cfg(unix)]
fn is_link(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ELOOP | libc::EMLINK))
}

#[cfg(not(unix))]
fn is_link(_: &io::Error) -> bool {
    false
}

fn not_a_file() -> io::Error {
    let message = "it is not a regular file: a link, a pipe or a device has taken its place";
    io::Error::new(io::ErrorKind::InvalidData, message)
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
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return work();
    };
    match runtime.spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(io::Error::other("the work was cut off")),
    }
}
