//! Results in a folder.

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
use crate::spool::{Body, ByteStream};

/// What a result's file name ends in.
const SUFFIX: &str = ".spool";
/// What the name of a file that is still written begins with: no id is ever encoded like that.
const UNFINISHED: &str = ".unfinished-";
/// The longest file name that every common file system takes.
const LONGEST_NAME: usize = 255;
/// Pieces of a stream are gathered to this before they are written.
const BLOCK: usize = 256 * 1024;
/// An unfinished file of this age has no writer any more.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// Keeps results in one folder, a file each. A file is written under another name, flushed to the disk and then renamed:
/// whoever opens an id finds all of its content or none.
///
/// Files are for their owner alone. Ids are written so that they cannot leave the folder, nor meet each other on a file system that does not know case.
/// One folder serves any number of conversations: the ids that a runner gives differ from turn to turn.
///
/// ```
/// use turnwright_core::spool::Body;
/// use turnwright_core::spool::{ByteReader, DiskSpool, Spool};
///
/// # let folder = std::env::temp_dir().join(format!("turnwright-doc-{}", std::process::id()));
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let spool = DiskSpool::open(&folder).await?;
/// spool.put("../../etc/passwd", Body::Text("harmless".to_owned())).await?;
/// let reader = spool.open("../../etc/passwd").await?.expect("it was kept");
/// assert_eq!(&reader.read(0..4).await?[..], b"harm");
/// assert_eq!(spool.list().await?, ["../../etc/passwd"]);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct DiskSpool {
    folder: Arc<Path>,
}

impl DiskSpool {
    /// Opens the folder, which is made if it is not there, and clears away what a crash left unfinished a day or more ago.
    ///
    /// # Errors
    /// It cannot be made or read, or it is no folder.
    pub async fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        let folder = blocking(move || {
            make_folder(&folder)?;
            sweep(&folder)?;
            Ok(folder)
        })
        .await?;
        Ok(DiskSpool {
            folder: folder.into(),
        })
    }

    /// The spool in this folder, which is created when the first result is stored. [`DiskSpool::open`] creates it at once, and so
    /// reports early if that fails.
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
        // A link in the folder must not have other files read.
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

    fn reopens(&self) -> bool {
        true
    }

    fn is_persistent(&self) -> bool {
        true
    }
}

/// A file that is still written. Gone when it is dropped before it was renamed.
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

    /// Writes pieces as they come; no thread waits while none does.
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
            none => none.insert(match make_file(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.path.parent().map_or(Ok(()), make_folder)?;
                    make_file(&self.path)?
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
            // Best effort: what stays is swept when the folder is next opened.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A rename is on the disk once its folder is.
#[cfg(unix)]
fn flush_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "a folder cannot be flushed here")]
fn flush_folder_of(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Results may be nobody else's business.
fn make_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
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
            // Another process may have been faster.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// The file name of an id: lower-case letters, digits, `-` and `_` stand for themselves, every other byte is `%` and two
/// hex digits.
fn encode(id: &str) -> io::Result<String> {
    let mut name = String::with_capacity(id.len() + SUFFIX.len());
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => _ = write!(name, "%{byte:02x}"),
        }
    }
    name.push_str(SUFFIX);
    if id.is_empty() || name.len() > LONGEST_NAME {
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
    // Another spelling is somebody else's file.
    let id = String::from_utf8(id).ok()?;
    encode(&id)
        .is_ok_and(|spelled| spelled == name)
        .then_some(id)
}
