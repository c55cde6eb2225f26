//! A spool in a directory.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};

use super::file::{FileReader, blocking};
use super::{ByteReader, Spool};
use crate::files::{create_private_file, create_private_folder};
use crate::spool::{Body, ByteStream};

/// The suffix of result files.
const SUFFIX: &str = ".spool";
/// The prefix of files that are still being written. No encoded id starts like this.
const UNFINISHED: &str = ".unfinished-";
/// The longest file name that all common file systems support.
const MAX_NAME_LEN: usize = 255;
/// Pieces of a stream are collected up to this size before they are written.
const BLOCK: usize = 256 * 1024;
/// After this time, an unfinished file no longer has a writer.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// A spool that stores each result as a file in one directory. A file is written under a temporary name, flushed to disk and then
/// renamed, so a reader sees either the complete content or none.
///
/// Files are accessible only to their owner. Ids are encoded so that they cannot escape the directory or collide on a
/// case-insensitive file system. One directory can be used for any number of conversations: the runner assigns ids that differ
/// between turns.
///
/// ```
/// use turnwright_artifact::spool::Body;
/// use turnwright_artifact::spool::{ByteReader, DiskSpool, Spool};
///
/// # let temporary = tempfile::tempdir().unwrap();
/// # let folder = temporary.path();
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let spool = DiskSpool::open(folder).await?;
/// spool.put("../../etc/passwd", Body::Text("harmless".to_owned())).await?;
/// let reader = spool.open("../../etc/passwd").await?.expect("it was stored");
/// assert_eq!(&reader.read(0..4).await?[..], b"harm");
/// assert_eq!(spool.list().await?, ["../../etc/passwd"]);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct DiskSpool {
    folder: Arc<Path>,
}

impl DiskSpool {
    /// Opens the directory and creates it if necessary. Removes unfinished files that are older than a day.
    ///
    /// # Errors
    /// Returns an error if the path is not a directory, or if it cannot be created or read.
    pub async fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        let folder = blocking(move || {
            create_private_folder(&folder)?;
            sweep(&folder)?;
            Ok(folder)
        })
        .await?;
        Ok(DiskSpool {
            folder: folder.into(),
        })
    }

    /// Returns a spool in this directory, which is created when the first result is stored. [`DiskSpool::open`] creates it
    /// immediately and so reports errors early.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        DiskSpool {
            folder: folder.into().into(),
        }
    }

    fn path_of(&self, id: &str) -> io::Result<PathBuf> {
        Ok(self.folder.join(encode(id)?))
    }
}

#[async_trait]
impl Spool for DiskSpool {
    async fn put(&self, id: &str, content: Body) -> io::Result<Arc<dyn ByteReader>> {
        let path = self.path_of(id)?;
        let unfinished = Unfinished::new(&self.folder);
        match content {
            Body::Text(text) => unfinished.write_all(Bytes::from(text), path).await,
            Body::Bytes(bytes) => unfinished.write_all(bytes, path).await,
            Body::Stream(stream) => unfinished.write_stream(stream, path).await,
        }
        .map(|reader| Arc::new(reader) as Arc<dyn ByteReader>)
    }

    async fn open(&self, id: &str) -> io::Result<Option<Arc<dyn ByteReader>>> {
        // Do not follow a symbolic link in the directory: it could point to any file.
        match FileReader::open_with(self.path_of(id)?, false).await {
            Ok(reader) => Ok(Some(Arc::new(reader))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn delete(&self, id: &str) -> io::Result<bool> {
        let path = self.path_of(id)?;
        blocking(move || match fs::remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        })
        .await
    }

    async fn list(&self) -> io::Result<Vec<String>> {
        let folder = Arc::clone(&self.folder);
        blocking(move || {
            let mut ids = Vec::new();
            let entries = match fs::read_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ids),
                entries => entries?,
            };
            for entry in entries {
                let entry = entry?;
                if entry.file_type()?.is_file() {
                    ids.extend(entry.file_name().to_str().and_then(decode));
                }
            }
            Ok(ids)
        })
        .await
    }

    fn can_reopen(&self) -> bool {
        true
    }

    fn is_persistent(&self) -> bool {
        true
    }
}

/// A file that is still being written. Deleted on drop unless it was renamed.
struct Unfinished {
    path: PathBuf,
    file: Option<File>,
    finished: bool,
}

impl Unfinished {
    fn new(folder: &Path) -> Self {
        let name = format!("{UNFINISHED}{}", uuid::Uuid::now_v7().simple());
        Unfinished {
            path: folder.join(name),
            file: None,
            finished: false,
        }
    }

    async fn write_all(mut self, bytes: Bytes, to: PathBuf) -> io::Result<FileReader> {
        blocking(move || {
            self.write(&bytes)?;
            self.finish(to)
        })
        .await
    }

    /// Writes pieces as they arrive. Does not block a thread while waiting for one.
    async fn write_stream(mut self, mut stream: ByteStream, to: PathBuf) -> io::Result<FileReader> {
        let mut block = BytesMut::new();
        while let Some(piece) = stream.next().await {
            block.extend_from_slice(&piece?);
            if block.len() >= BLOCK {
                let full = block.split().freeze();
                self = blocking(move || self.write(&full).map(|()| self)).await?;
            }
        }
        self.write_all(block.freeze(), to).await
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(match create_private_file(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.path.parent().map_or(Ok(()), create_private_folder)?;
                    create_private_file(&self.path)?
                }
                made => made?,
            }),
        };
        file.write_all(bytes)
    }

    fn finish(mut self, to: PathBuf) -> io::Result<FileReader> {
        let Some(file) = self.file.take() else {
            return Err(io::Error::other("nothing was written"));
        };
        file.sync_all()?;
        let metadata = file.metadata()?;
        drop(file);
        fs::rename(&self.path, &to)?;
        self.finished = true;
        flush_folder_of(&to)?;
        Ok(FileReader::of(to, false, &metadata))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.finished {
            drop(self.file.take());
            // Best effort: remaining files are removed when the directory is opened the next time.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A rename is durable once its directory has been flushed.
#[cfg(unix)]
fn flush_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(not(unix))]
#[allow(
    clippy::unnecessary_wraps,
    reason = "a directory cannot be flushed on this platform"
)]
fn flush_folder_of(_path: &Path) -> io::Result<()> {
    Ok(())
}

fn sweep(folder: &Path) -> io::Result<()> {
    let now = SystemTime::now();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let unfinished = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(UNFINISHED));
        let age = || {
            now.duration_since(entry.metadata().ok()?.modified().ok()?)
                .ok()
        };
        if unfinished && age().is_some_and(|age| age > ABANDONED) {
            // Another process may have deleted it already.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Encodes an id as a file name: lower-case letters, digits, `-` and `_` stay the same, every other byte becomes `%` and two hex
/// digits.
fn encode(id: &str) -> io::Result<String> {
    let mut name = String::with_capacity(id.len() + SUFFIX.len());
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            // Writing to a string cannot fail.
            _ => _ = write!(name, "%{byte:02x}"),
        }
    }
    name.push_str(SUFFIX);
    if id.is_empty() || name.len() > MAX_NAME_LEN {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "an id must be 1 to 249 bytes long, where a byte other than a-z, 0-9, - and _ counts three times",
        ));
    }
    Ok(name)
}

fn decode(name: &str) -> Option<String> {
    let mut bytes = name.strip_suffix(SUFFIX)?.bytes();
    let mut id = Vec::new();
    while let Some(byte) = bytes.next() {
        id.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                u8::try_from(digit(bytes.next())? * 16 + digit(bytes.next())?).ok()?
            }
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => byte,
            _ => return None,
        });
    }
    // A different spelling was not written by this spool.
    let id = String::from_utf8(id).ok()?;
    encode(&id)
        .is_ok_and(|spelled| spelled == name)
        .then_some(id)
}
