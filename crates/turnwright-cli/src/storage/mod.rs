//! The database of conversations and the files next to it.
//!
//! Next to `FILE` there are `FILE.results` (results of calls that are too large for a record), `FILE.secret` (the key for the
//! codes of envelopes in prompts) and `FILE.chats` (the input history of each conversation, and a lock for the chat that has it
//! open).

mod chat_lock;
mod chat_note;
mod consents;
mod conversation;
mod error;
mod new_file;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use turnwright::spool::Spool;
use turnwright::spool::{DiskSpool, MemorySpool};
use turnwright::sqlite::{SqliteError, SqliteErrorKind as Kind, SqliteStore};
use turnwright::store::StoreError;

pub(crate) use chat_lock::ChatLock;
pub(crate) use chat_note::{ChatNote, other_server};
pub(crate) use consents::{Consent, Consents};
pub(crate) use conversation::{ConversationPart, check_name, parts_of};
pub(crate) use error::{database_error, explain, remedy};
pub(crate) use new_file::NewFile;

use crate::args::StoreFile;
use crate::exit::misuse;
use crate::terminal::shell_path;

/// The environment variable for another data folder.
const HOME: &str = "TURNWRIGHT_HOME";
/// The database in the data folder.
const FILE: &str = "conversations.db";

/// The location of a database, which need not exist.
#[derive(Clone, Debug)]
pub(crate) struct StorageLocation {
    pub(crate) file: PathBuf,
    /// Whether it was passed on the command line. Another person may have written such a file.
    pub(crate) named: bool,
    /// The target of the file if it is a link. The files next to it are named after the target.
    real: PathBuf,
    /// The folder of results, if it was named.
    results: Option<PathBuf>,
}

impl StorageLocation {
    /// The file that was named, otherwise the default of this user.
    pub(crate) fn of(options: &StoreFile) -> anyhow::Result<Self> {
        let file = match &options.store {
            Some(file) if file.file_name().is_none() => {
                let shown = file.display();
                return Err(misuse(format!(
                    "`--store {shown}` is not the path of a file"
                )));
            }
            Some(file) => file.clone(),
            None => home()?.join(FILE),
        };
        let target = file.is_symlink().then(|| file.canonicalize().ok());
        Ok(StorageLocation {
            named: options.store.is_some(),
            real: target.flatten().unwrap_or_else(|| file.clone()),
            results: options.results.clone(),
            file,
        })
    }

    /// The options that select this file in another command, quoted for a shell.
    pub(crate) fn option(&self) -> String {
        let mut option = if self.named {
            format!(" --store {}", shell_path(&self.file))
        } else {
            String::new()
        };
        if let Some(results) = &self.results {
            option.push_str(&format!(" --results {}", shell_path(results)));
        }
        option
    }

    /// Whether the file exists. A file that was named must exist.
    fn is_there(&self) -> anyhow::Result<bool> {
        match fs::metadata(&self.file) {
            // A pipe or a terminal would block forever.
            Ok(found) if !found.is_file() && !found.is_dir() => {
                Err(misuse(format!("`{}` is not a file", self.file.display())))
            }
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.named => Ok(false),
            Err(error) => {
                let shown = self.file.display();
                Err(misuse(format!(
                    "cannot open `{shown}`: {error}. `--store` takes an existing database; `turnwright chat --store FILE` creates one"
                )))
            }
        }
    }

    fn sibling(&self, what: &str) -> PathBuf {
        self.real.with_added_extension(what)
    }

    fn results(&self) -> PathBuf {
        let named = self.results.clone();
        named.unwrap_or_else(|| self.sibling("results"))
    }
}

/// The file with the tokens of MCP servers.
pub(crate) fn mcp_tokens() -> anyhow::Result<PathBuf> {
    Ok(home()?.join("mcp-tokens.json"))
}

/// The directory in the environment, otherwise the user's data directory.
fn home() -> anyhow::Result<PathBuf> {
    if let Some(options) = std::env::var_os(HOME).filter(|options| !options.is_empty()) {
        return Ok(options.into());
    }
    let system = data_dir().ok_or_else(|| {
        misuse(format!(
            "no data directory for conversations: the user has no home directory. Set {HOME}, or use a file with `--store FILE`"
        ))
    })?;
    Ok(system.join("turnwright"))
}

/// The user's data directory: that of the XDG base directories, or `APPDATA` on Windows.
fn data_dir() -> Option<PathBuf> {
    let name = if cfg!(windows) {
        "APPDATA"
    } else {
        "XDG_DATA_HOME"
    };
    let named = std::env::var_os(name).map(PathBuf::from);
    named
        .filter(|dir| dir.is_absolute())
        .or_else(|| Some(std::env::home_dir()?.join(".local/share")))
}

/// An open database with the files next to it.
#[derive(Clone)]
pub(crate) struct Storage {
    pub(crate) place: StorageLocation,
    pub(crate) store: SqliteStore,
    pub(crate) spool: Arc<dyn Spool>,
    /// Whether the folder of results exists. If not, its location is unknown.
    pub(crate) has_results: bool,
}

impl Storage {
    /// Opens the database, or creates it.
    pub(crate) async fn open(options: &StoreFile) -> anyhow::Result<Self> {
        let place = StorageLocation::of(options)?;
        if let Some(folder) = place.file.parent().filter(|_| !place.named) {
            let shown = folder.display();
            turnwright::files::create_private_folder(folder).with_context(|| {
                format!("cannot create the directory `{shown}`; set {HOME} to use another one")
            })?;
        }
        if place.file.exists() {
            place.is_there()?;
        }
        Storage::open_to_write(place).await
    }

    /// Opens the database for changes. Fails with `nothing_to` if nothing is stored yet.
    pub(crate) async fn open_existing(
        options: &StoreFile,
        nothing_to: &str,
    ) -> anyhow::Result<Self> {
        let place = StorageLocation::of(options)?;
        if place.is_there()? {
            Storage::open_to_write(place).await
        } else {
            Err(nothing_yet(nothing_to))
        }
    }

    /// Opens the database to delete from it. Does not create a folder of results: the results may be elsewhere.
    pub(crate) async fn open_to_delete(options: &StoreFile) -> anyhow::Result<Self> {
        let place = StorageLocation::of(options)?;
        if !place.is_there()? {
            Err(nothing_yet("nothing to delete"))
        } else if place.results().is_dir() {
            Storage::open_to_write(place).await
        } else {
            Ok(Storage::with(place, None, false).await?)
        }
    }

    /// Opens the database read-only.
    pub(crate) async fn open_to_read(
        options: &StoreFile,
        nothing_to: &str,
    ) -> anyhow::Result<Self> {
        let storage = Storage::open_if_there(options).await?;
        storage.ok_or_else(|| nothing_yet(nothing_to))
    }

    /// Opens the database read-only, if it exists.
    pub(crate) async fn open_if_there(options: &StoreFile) -> anyhow::Result<Option<Self>> {
        let place = StorageLocation::of(options)?;
        if !place.is_there()? {
            return Ok(None);
        }
        let spool: Arc<dyn Spool> = if place.results().is_dir() {
            Arc::new(open_spool(&place).await?)
        } else {
            Arc::new(MemorySpool::default())
        };
        let file = place.file.clone();
        match Storage::with(place, Some(spool), true).await {
            Ok(storage) => Ok(Some(storage)),
            Err(error)
                if SqliteError::of(&error).is_some_and(|error| error.kind() == Kind::ReadOnly) =>
            {
                Err(misuse(format!(
                    "cannot read `{}` where it is: SQLite must create a file next to it, and its directory is read-only. Copy \
                     it elsewhere, and use the copy with `--store FILE`",
                    file.display()
                )))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn open_to_write(place: StorageLocation) -> anyhow::Result<Self> {
        let folder = Path::new(".").join(place.file.parent().unwrap_or(Path::new("/")));
        if !folder.is_dir() {
            return Err(misuse(format!(
                "the directory of `{}` does not exist. Create it, or use another file",
                place.file.display()
            )));
        }
        let results = place.results();
        let was_there = results.exists();
        let spool = Arc::new(open_spool(&place).await?);
        let opened = Storage::with(place, Some(spool), false).await;
        if opened.is_err() && !was_there {
            // Leaves nothing next to a file that is not ours. Only an empty folder is removed.
            let _ = fs::remove_dir(&results);
        }
        Ok(opened?)
    }

    async fn with(
        place: StorageLocation,
        spool: Option<Arc<dyn Spool>>,
        to_read: bool,
    ) -> Result<Self, StoreError> {
        let mut store = SqliteStore::builder(&place.file);
        if let Some(spool) = &spool {
            store = store.spool(Arc::clone(spool));
        }
        if to_read {
            store = store.read_only();
        }
        Ok(Storage {
            store: store.open().await?,
            spool: spool.unwrap_or_else(|| Arc::new(MemorySpool::default())),
            has_results: place.results().is_dir(),
            place,
        })
    }

    /// The storage for a runner. Creates the secret of the database if it does not exist.
    pub(crate) async fn of_runner(&self) -> Result<turnwright::Storage, StoreError> {
        self.store.storage().await
    }
}

fn nothing_yet(nothing_to: &str) -> anyhow::Error {
    misuse(format!("nothing is stored yet, so there is {nothing_to}"))
}

async fn open_spool(place: &StorageLocation) -> anyhow::Result<DiskSpool> {
    let folder = place.results();
    // The author of a file that was named could point to the results of another one.
    if place.named && place.results.is_none() && folder.is_symlink() {
        return Err(misuse(format!(
            "`{}` is a link. If its target is right, pass it with `--results DIR`",
            folder.display()
        )));
    }
    let spool = DiskSpool::open(&folder).await;
    spool.map_err(|error| error::sibling(&folder, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_a_suggested_command_are_quoted() {
        let place = |file: &str| {
            let store = Some(file.into());
            let options = StoreFile {
                store,
                results: None,
            };
            StorageLocation::of(&options).unwrap()
        };
        assert_eq!(place("/a/b-1.db").option(), " --store /a/b-1.db");
        assert_eq!(
            place("it's here.db").option(),
            r" --store 'it'\''s here.db'"
        );
        assert_eq!(place("-\n").option(), r" --store $'./-\012'");
        let unnamed = StorageLocation {
            named: false,
            ..place("/x")
        };
        assert_eq!(unnamed.option(), "");
        let options = StoreFile {
            store: Some("a.db".into()),
            results: Some("my results".into()),
        };
        assert_eq!(
            StorageLocation::of(&options).unwrap().option(),
            " --store a.db --results 'my results'"
        );
    }

    #[test]
    fn other_files_are_next_to_the_database() {
        let options = StoreFile {
            store: Some("/a/shop.db".into()),
            results: None,
        };
        let place = StorageLocation::of(&options).unwrap();
        assert_eq!(place.results(), Path::new("/a/shop.db.results"));
        assert!(place.named);
        let options = StoreFile {
            store: Some("/".into()),
            results: None,
        };
        assert!(StorageLocation::of(&options).is_err());
    }
}
