//! What went wrong with a database, as a program can ask for it.

use std::error::Error as StdError;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use turnwright_core::store::StoreError;

/// What went wrong with a database. Within a [`StoreError`]: see [`SqliteError::of`].
///
/// ```
/// use turnwright_store::sqlite::{SqliteError, SqliteStore, Trouble};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let error = SqliteStore::open("no/such/folder/chat.db").await.unwrap_err();
/// let error = SqliteError::of(&error).expect("a database says what is wrong");
/// assert_eq!(error.trouble(), Trouble::NoFolder);
/// # });
/// ```
pub struct SqliteError {
    /// Where the database is, unless it is in memory.
    at: Option<Arc<Path>>,
    trouble: Trouble,
    /// What there is to say besides.
    said: Option<Box<dyn StdError + Send + Sync + 'static>>,
}

/// The sorts of what can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trouble {
    /// The folder of the file does not exist.
    NoFolder,
    /// There is no such file, or it cannot be opened.
    CannotOpen,
    /// The file is no database.
    NoDatabase,
    /// The file is a database, but not one of ours.
    OtherProgram,
    /// The file was written by a later release.
    NewerFormat {
        /// Its format.
        found: u32,
        /// The newest format that this release knows.
        known: u32,
    },
    /// The file was written by an earlier release, and may not be upgraded since it is opened for reading only.
    OlderFormat {
        /// Its format.
        found: u32,
    },
    /// What is in the file cannot be right: something else has written to it, or the disk is failing.
    Corrupt,
    /// The file, its folder or this store may only be read.
    ReadOnly,
    /// Another process writes, and did not come to its end in time.
    Locked,
    /// There is no room left: on the disk, or within the bound that was set.
    Full,
    /// The disk failed, or there is no more of it than a limit of the process allows.
    Disk,
    /// The store was closed.
    Closed,
    /// What was asked for cannot be done: a name with a NUL, a number beyond 2⁶³ − 1, bytes in a spool that the store does
    /// not know.
    Refused,
    /// Anything else.
    Other,
}

impl SqliteError {
    pub(super) fn new(
        at: Option<Arc<Path>>,
        trouble: Trouble,
        said: Option<Box<dyn StdError + Send + Sync + 'static>>,
    ) -> Self {
        SqliteError { at, trouble, said }
    }

    /// What a store's error says of its database, if it is one of a database.
    #[must_use]
    pub fn of(error: &StoreError) -> Option<&Self> {
        error.source()?.downcast_ref()
    }

    /// What sort of trouble it is.
    #[must_use]
    pub fn trouble(&self) -> Trouble {
        self.trouble
    }

    /// Where the database is, unless it is in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.at.as_deref()
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Trouble::NoFolder => "its folder does not exist: make it first",
            Trouble::CannotOpen => "it cannot be opened",
            Trouble::NoDatabase => "it is no database, and was left as it is: name another file",
            Trouble::OtherProgram => {
                "it is a database of another program, and was left as it is: name another file"
            }
            Trouble::NewerFormat { found, known } => {
                return write!(
                    f,
                    "it has format {found}, a later release wrote it: this one knows formats up to {known}, use that one"
                );
            }
            Trouble::OlderFormat { found } => {
                return write!(
                    f,
                    "it has format {found}, of an earlier release: open it once for writing, which upgrades it"
                );
            }
            Trouble::Corrupt => {
                "it is damaged: keep a copy of it and of its -wal file, and go on with a backup"
            }
            Trouble::ReadOnly => {
                "it may only be read: open it with `read_only`, or let this user write the file and its folder"
            }
            Trouble::Locked => {
                "another process writes to it, and did not end in time: try again, or wait longer with `busy_timeout`"
            }
            Trouble::Full => {
                "there is no room left, and nothing of this was written: make room, and try again"
            }
            Trouble::Disk => {
                "the disk failed or a limit of the process was met, and nothing of this was written"
            }
            Trouble::Closed => "the store is closed: open it again",
            Trouble::Refused => "this cannot be done",
            Trouble::Other => "the database failed",
        };
        f.write_str(text)
    }
}

impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(path) => write!(f, "{}: {}", path.display(), self.trouble)?,
            None => write!(f, "the database in memory: {}", self.trouble)?,
        }
        match &self.said {
            Some(said) => write!(f, " ({said})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteError")
            .field("path", &self.at)
            .field("trouble", &self.trouble)
            .field("said", &self.said.as_ref().map(ToString::to_string))
            .finish()
    }
}

impl StdError for SqliteError {}
