//! The database of conversations and the files next to it.
//!
//! Next to `FILE` there are `FILE.results` (results of calls that are too large for a record), `FILE.secret` (the key for the
//! codes of fences in prompts) and `FILE.chats` (the input history of each conversation, and a lock for the chat that has it
//! open).

mod chat_note;
mod conversation;
mod error;
mod files;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use etcetera::BaseStrategy as _;
use turnwright::RecordKind;
use turnwright::Spool;
use turnwright::spool::{DiskSpool, MemorySpool};
use turnwright::sqlite::{SqliteError, SqliteErrorKind as Trouble, SqliteStore};
use turnwright::store::{ConversationFilter, Query, Store as _, StoreError};
use turnwright::trust::ConversationSecret;

pub(crate) use chat_note::{ChatNote, other_server};
pub(crate) use conversation::{ChatLock, ConversationPart, check_name, parts_of};
pub(crate) use error::{explain, helps, trouble_of};
pub(crate) use files::new_file;

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
    file: PathBuf,
    /// Whether it was named on the command line. Another person may have written such a file.
    named: bool,
    /// The target of the file if it is a link. The files next to it are named after the target.
    real: PathBuf,
    /// The folder of results, if it was named.
    results: Option<PathBuf>,
}

impl StorageLocation {
    /// The file that was named, otherwise the default of this user.
    pub(crate) fn of(options: &StoreFile) -> anyhow::Result<Self> {
        match &options.store {
            Some(file) if file.file_name().is_none() => {
                let shown = file.display();
                Err(misuse(format!("`--store {shown}` names no file")))
            }
            Some(file) => Ok(StorageLocation {
                results: options.results.clone(),
                ..StorageLocation::at(file.clone(), true)
            }),
            None => Ok(StorageLocation::at(home()?.join(FILE), false)),
        }
    }

    fn at(file: PathBuf, named: bool) -> Self {
        let real = match file.is_symlink() {
            true => file.canonicalize().unwrap_or_else(|_| file.clone()),
            false => file.clone(),
        };
        StorageLocation {
            file,
            named,
            real,
            results: None,
        }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Whether it was named on the command line, so that its author is unknown.
    pub(crate) fn is_named(&self) -> bool {
        self.named
    }

    /// The options that select this file in another command, quoted for a shell.
    pub(crate) fn option(&self) -> String {
        let mut option = match self.named {
            true => format!(" --store {}", shell_path(&self.file)),
            false => String::new(),
        };
        if let Some(results) = &self.results {
            option.push_str(&format!(" --results {}", shell_path(results)));
        }
        option
    }

    /// Whether the file exists. A file that was named must exist.
    fn is_there(&self) -> anyhow::Result<bool> {
        match fs::metadata(&self.file) {
            Ok(found) => self.check_kind(&found).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.named => Ok(false),
            Err(error) => {
                let shown = self.file.display();
                Err(misuse(format!(
                    "`{shown}` cannot be opened: {error}. `--store` takes the path of an existing database; `turnwright chat --store FILE` creates one"
                )))
            }
        }
    }

    /// Rejects pipes and terminals, which would block forever.
    fn check_kind(&self, found: &fs::Metadata) -> anyhow::Result<()> {
        match found.is_file() || found.is_dir() {
            true => Ok(()),
            false => Err(misuse(format!("`{}` is no file", self.file.display()))),
        }
    }

    fn sibling(&self, what: &str) -> PathBuf {
        let mut name = OsString::from(&self.real);
        name.push(".");
        name.push(what);
        name.into()
    }

    fn results(&self) -> PathBuf {
        match &self.results {
            Some(options) => options.clone(),
            None => self.sibling("results"),
        }
    }

    fn chats(&self) -> PathBuf {
        self.sibling("chats")
    }
}

/// The folder of the environment, otherwise the user's data folder.
fn home() -> anyhow::Result<PathBuf> {
    if let Some(options) = std::env::var_os(HOME).filter(|options| !options.is_empty()) {
        return Ok(options.into());
    }
    let system = etcetera::choose_base_strategy().map_err(|error| {
        misuse(format!(
            "there is no folder to keep conversations in: name one with {HOME}, or a file with `--store FILE`: {error}"
        ))
    })?;
    Ok(system.data_dir().join("turnwright"))
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
    pub(crate) async fn open(place: StorageLocation) -> anyhow::Result<Self> {
        if let Some(folder) = place.file.parent().filter(|_| !place.named) {
            let shown = folder.display();
            files::make_folder(folder).with_context(|| {
                format!("the folder `{shown}` cannot be made; {HOME} names another")
            })?;
        }
        Storage::to_write(place).await
    }

    /// Opens the database for changes, if it exists.
    pub(crate) async fn open_existing(place: StorageLocation) -> anyhow::Result<Option<Self>> {
        match place.is_there()? {
            true => Storage::to_write(place).await.map(Some),
            false => Ok(None),
        }
    }

    /// Opens the database to delete from it, if it exists. Does not create a folder of results: the results may be elsewhere.
    pub(crate) async fn open_to_delete(place: StorageLocation) -> anyhow::Result<Option<Self>> {
        if !place.is_there()? || place.results().is_dir() {
            return Storage::open_existing(place).await;
        }
        match open(&place, None, false).await {
            Ok(store) => Ok(Some(Storage {
                place,
                store,
                spool: Arc::new(MemorySpool::default()),
                has_results: false,
            })),
            Err(error) => Err(explain(error, &place)),
        }
    }

    /// Opens the database read-only, if it exists.
    pub(crate) async fn open_to_read(place: StorageLocation) -> anyhow::Result<Option<Self>> {
        if !place.is_there()? {
            return Ok(None);
        }
        let has_results = place.results().is_dir();
        let spool: Arc<dyn Spool> = match has_results {
            true => Arc::new(open_spool(&place).await?),
            false => Arc::new(MemorySpool::default()),
        };
        let store = open(&place, Some(&spool), true).await;
        match store {
            Ok(store) => Ok(Some(Storage {
                place,
                store,
                spool,
                has_results,
            })),
            // An earlier release wrote it: migrate it.
            Err(error) if is_older(&error) => Storage::to_write(place).await.map(Some),
            Err(error) => Err(error::explain_to_reader(error, &place)),
        }
    }

    async fn to_write(place: StorageLocation) -> anyhow::Result<Self> {
        check_folder(&place)?;
        if let Ok(found) = fs::metadata(&place.file) {
            place.check_kind(&found)?;
        }
        let results = place.results();
        let was_there = results.exists();
        let spool: Arc<dyn Spool> = Arc::new(open_spool(&place).await?);
        match open(&place, Some(&spool), false).await {
            Ok(store) => Ok(Storage {
                place,
                store,
                spool,
                has_results: true,
            }),
            Err(error) => {
                // Leaves nothing next to a file that is not ours. Only an empty folder is removed.
                if !was_there {
                    let _ = fs::remove_dir(&results);
                }
                Err(explain(error, &place))
            }
        }
    }

    /// Explains an error of the store to the user.
    pub(crate) fn explain(&self, error: StoreError) -> anyhow::Error {
        explain(error, &self.place)
    }

    /// The secret of the database, which is created if it does not exist.
    pub(crate) async fn secret(&self) -> anyhow::Result<ConversationSecret> {
        let file = self.place.sibling("secret");
        tokio::task::spawn_blocking(move || files::secret(&file)).await?
    }

    /// Reads what a user would read first, to find a damaged database.
    pub(crate) async fn check(&self) -> anyhow::Result<()> {
        let conversation_ids = self.store.conversations(&ConversationFilter::all()).await;
        for conversation_id in conversation_ids.map_err(|error| self.explain(error))? {
            // One damaged record does not make a file useless.
            let turns = Query::all().kind(RecordKind::Turn);
            let read = self.store.load(&conversation_id, &turns).await;
            read.map_err(|error| self.explain(error))?;
        }
        Ok(())
    }

    /// Closes the database.
    pub(crate) async fn close(&self) -> anyhow::Result<()> {
        self.store
            .close()
            .await
            .map_err(|error| self.explain(error))
    }
}

/// Rejects a file in a folder that does not exist, which is a typing error.
fn check_folder(place: &StorageLocation) -> anyhow::Result<()> {
    let folder = match place.file.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => return Ok(()),
    };
    match folder.is_dir() {
        true => Ok(()),
        false => Err(misuse(format!(
            "the folder of `{}` does not exist: make it, or name another file",
            place.file.display()
        ))),
    }
}

async fn open(
    place: &StorageLocation,
    spool: Option<&Arc<dyn Spool>>,
    to_read: bool,
) -> Result<SqliteStore, StoreError> {
    let store = SqliteStore::builder(&place.file);
    let store = match spool {
        Some(spool) => store.spool(Arc::clone(spool)),
        None => store,
    };
    // Unknown kinds are shown as text, and not lost.
    let store = store.reopen(|reopen| reopen.unknown_kinds_as_text());
    match to_read {
        true => store.read_only().open().await,
        false => store.open().await,
    }
}

async fn open_spool(place: &StorageLocation) -> anyhow::Result<DiskSpool> {
    let folder = place.results();
    // The author of a file that was named could point to the results of another one.
    if place.named && place.results.is_none() && folder.is_symlink() {
        return Err(misuse(format!(
            "`{}` is a link: if what it leads to is right, say so with `--results FOLDER`",
            folder.display()
        )));
    }
    match DiskSpool::open(&folder).await {
        Ok(spool) => Ok(spool),
        Err(error) => Err(error::sibling(&folder, &error)),
    }
}

fn is_older(error: &StoreError) -> bool {
    let trouble = SqliteError::of(error).map(SqliteError::kind);
    matches!(trouble, Some(Trouble::OlderFormat { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_suggested_can_be_typed() {
        let place = |file: &str| StorageLocation::at(file.into(), true);
        assert_eq!(place("/a/b-1.db").option(), " --store /a/b-1.db");
        assert_eq!(
            place("it's here.db").option(),
            r" --store 'it'\''s here.db'"
        );
        assert_eq!(place("-\n").option(), r" --store $'./-\012'");
        assert_eq!(StorageLocation::at("/x".into(), false).option(), "");
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
    fn everything_stands_beside_its_file() {
        let options = StoreFile {
            store: Some("/a/shop.db".into()),
            results: None,
        };
        let place = StorageLocation::of(&options).unwrap();
        assert_eq!(place.results(), Path::new("/a/shop.db.results"));
        assert!(place.is_named());
        let options = StoreFile {
            store: Some("/".into()),
            results: None,
        };
        assert!(StorageLocation::of(&options).is_err());
    }
}
