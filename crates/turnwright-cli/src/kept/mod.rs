//! What outlives the program: a database of conversations, and what stands beside it.
//!
//! Beside `FILE` there are `FILE.results` (the results of calls that are too large for a record), `FILE.secret` (under which
//! the fences in prompts get their codes) and `FILE.chats` (what was typed in each conversation, and who has it open).

mod about;
mod files;
mod name;
mod trouble;

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
use turnwright::sqlite::{SqliteError, SqliteStore, Trouble};
use turnwright::store::{Query, ScopeFilter, Store as _, StoreError};
use turnwright::trust::ConversationSecret;

pub(crate) use about::About;
pub(crate) use files::new_file;
pub(crate) use name::{Desk, Part, check_name, parts_of};
pub(crate) use trouble::{helps, told, trouble_of};

use crate::args::StoreFile;
use crate::exit::misuse;
use crate::terminal::shell_path;

/// Names another folder for what is kept.
const HOME: &str = "TURNWRIGHT_HOME";
/// The database in that folder.
const FILE: &str = "conversations.db";

/// Where a database is, or is to be.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    file: PathBuf,
    /// Whether it was named on the command line. What stands in such a file may be anybody's.
    named: bool,
    /// The file under its own name, where a link was named: what stands beside it is found by that.
    real: PathBuf,
    /// Where its results are, if somebody said so.
    results: Option<PathBuf>,
}

impl Place {
    /// The file that was named, else that of this user.
    pub(crate) fn of(told: &StoreFile) -> anyhow::Result<Self> {
        match &told.store {
            Some(file) if file.file_name().is_none() => {
                let shown = file.display();
                Err(misuse(format!("`--store {shown}` names no file")))
            }
            Some(file) => Ok(Place {
                results: told.results.clone(),
                ..Place::at(file.clone(), true)
            }),
            None => Ok(Place::at(home()?.join(FILE), false)),
        }
    }

    fn at(file: PathBuf, named: bool) -> Self {
        let real = match file.is_symlink() {
            true => file.canonicalize().unwrap_or_else(|_| file.clone()),
            false => file.clone(),
        };
        Place {
            file,
            named,
            real,
            results: None,
        }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Whether it was named on the command line, so that nobody knows who wrote it.
    pub(crate) fn is_named(&self) -> bool {
        self.named
    }

    /// What is added to a command so that it looks at this file too, as a shell reads it.
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

    /// Whether there is a file. One that was named must be there.
    fn is_there(&self) -> anyhow::Result<bool> {
        match fs::metadata(&self.file) {
            Ok(found) => self.check_kind(&found).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.named => Ok(false),
            Err(error) => {
                let shown = self.file.display();
                Err(misuse(format!("`{shown}` cannot be opened: {error}")))
            }
        }
    }

    /// Refuses what would be waited for without end: a pipe, a terminal.
    fn check_kind(&self, found: &fs::Metadata) -> anyhow::Result<()> {
        match found.is_file() || found.is_dir() {
            true => Ok(()),
            false => Err(misuse(format!("`{}` is no file", self.file.display()))),
        }
    }

    fn beside(&self, what: &str) -> PathBuf {
        let mut name = OsString::from(&self.real);
        name.push(".");
        name.push(what);
        name.into()
    }

    fn results(&self) -> PathBuf {
        match &self.results {
            Some(told) => told.clone(),
            None => self.beside("results"),
        }
    }

    fn chats(&self) -> PathBuf {
        self.beside("chats")
    }
}

/// The folder that the environment names, else the one that this system has for data of its users.
fn home() -> anyhow::Result<PathBuf> {
    if let Some(told) = std::env::var_os(HOME).filter(|told| !told.is_empty()) {
        return Ok(told.into());
    }
    let system = etcetera::choose_base_strategy().map_err(|error| {
        misuse(format!(
            "there is no folder to keep conversations in: name one with {HOME}, or a file with `--store FILE`: {error}"
        ))
    })?;
    Ok(system.data_dir().join("turnwright"))
}

/// A database that is open, and what stands beside it.
#[derive(Clone)]
pub(crate) struct Keeping {
    pub(crate) place: Place,
    pub(crate) store: SqliteStore,
    pub(crate) spool: Arc<dyn Spool>,
    /// Whether there is a folder of results. Where there is none, nobody knows where they are.
    pub(crate) has_results: bool,
}

impl Keeping {
    /// Opens it, and makes it if it is not there.
    pub(crate) async fn open(place: Place) -> anyhow::Result<Self> {
        if let Some(folder) = place.file.parent().filter(|_| !place.named) {
            let shown = folder.display();
            files::make_folder(folder).with_context(|| {
                format!("the folder `{shown}` cannot be made; {HOME} names another")
            })?;
        }
        Keeping::to_write(place).await
    }

    /// Opens it for changes, if it is there. Nothing is there before something was said.
    pub(crate) async fn open_existing(place: Place) -> anyhow::Result<Option<Self>> {
        match place.is_there()? {
            true => Keeping::to_write(place).await.map(Some),
            false => Ok(None),
        }
    }

    /// Opens it to delete something of it, if it is there. A folder of results that is not there is not made: those that are
    /// named may be elsewhere.
    pub(crate) async fn open_to_delete(place: Place) -> anyhow::Result<Option<Self>> {
        if !place.is_there()? || place.results().is_dir() {
            return Keeping::open_existing(place).await;
        }
        match open(&place, None, false).await {
            Ok(store) => Ok(Some(Keeping {
                place,
                store,
                spool: Arc::new(MemorySpool::default()),
                has_results: false,
            })),
            Err(error) => Err(told(error, &place)),
        }
    }

    /// Opens it to look at it, if it is there.
    pub(crate) async fn open_to_read(place: Place) -> anyhow::Result<Option<Self>> {
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
            Ok(store) => Ok(Some(Keeping {
                place,
                store,
                spool,
                has_results,
            })),
            // An earlier release wrote it: whoever may write it makes it one of this release.
            Err(error) if is_older(&error) => Keeping::to_write(place).await.map(Some),
            Err(error) => Err(trouble::told_to_reader(error, &place)),
        }
    }

    async fn to_write(place: Place) -> anyhow::Result<Self> {
        check_folder(&place)?;
        if let Ok(found) = fs::metadata(&place.file) {
            place.check_kind(&found)?;
        }
        let results = place.results();
        let was_there = results.exists();
        let spool: Arc<dyn Spool> = Arc::new(open_spool(&place).await?);
        match open(&place, Some(&spool), false).await {
            Ok(store) => Ok(Keeping {
                place,
                store,
                spool,
                has_results: true,
            }),
            Err(error) => {
                // Nothing is left beside a file that is not ours. It goes only if nothing is in it.
                if !was_there {
                    let _ = fs::remove_dir(&results);
                }
                Err(told(error, &place))
            }
        }
    }

    /// What went wrong with it, in the words of the program.
    pub(crate) fn told(&self, error: StoreError) -> anyhow::Error {
        told(error, &self.place)
    }

    /// The secret that belongs to the file, which is made if there is none.
    pub(crate) async fn secret(&self) -> anyhow::Result<ConversationSecret> {
        let file = self.place.beside("secret");
        tokio::task::spawn_blocking(move || files::secret(&file)).await?
    }

    /// Reads what whoever looks at it would read first.
    pub(crate) async fn check(&self) -> anyhow::Result<()> {
        let scopes = self.store.scopes(&ScopeFilter::all()).await;
        for scope in scopes.map_err(|error| self.told(error))? {
            // One record that cannot be read does not make a file useless.
            let turns = Query::all().kind(RecordKind::Turn);
            let read = self.store.load(&scope, &turns).await;
            read.map_err(|error| self.told(error))?;
        }
        Ok(())
    }

    /// Ends it in good order.
    pub(crate) async fn close(&self) -> anyhow::Result<()> {
        self.store.close().await.map_err(|error| self.told(error))
    }
}

/// Whoever names a file in a folder that is not there has mistyped.
fn check_folder(place: &Place) -> anyhow::Result<()> {
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
    place: &Place,
    spool: Option<&Arc<dyn Spool>>,
    to_read: bool,
) -> Result<SqliteStore, StoreError> {
    let store = SqliteStore::builder(&place.file);
    let store = match spool {
        Some(spool) => store.spool(Arc::clone(spool)),
        None => store,
    };
    // What is not known here is shown as text, and not lost.
    let store = store.reopen(|reopen| reopen.unknown_kinds_as_text());
    match to_read {
        true => store.read_only().open().await,
        false => store.open().await,
    }
}

async fn open_spool(place: &Place) -> anyhow::Result<DiskSpool> {
    let folder = place.results();
    // Whoever wrote a file that was named could mean the results of another one by it.
    if place.named && place.results.is_none() && folder.is_symlink() {
        return Err(misuse(format!(
            "`{}` is a link: if what it leads to is right, say so with `--results FOLDER`",
            folder.display()
        )));
    }
    match DiskSpool::open(&folder).await {
        Ok(spool) => Ok(spool),
        Err(error) => Err(trouble::beside(&folder, &error)),
    }
}

fn is_older(error: &StoreError) -> bool {
    let trouble = SqliteError::of(error).map(SqliteError::trouble);
    matches!(trouble, Some(Trouble::OlderFormat { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_suggested_can_be_typed() {
        let place = |file: &str| Place::at(file.into(), true);
        assert_eq!(place("/a/b-1.db").option(), " --store /a/b-1.db");
        assert_eq!(
            place("it's here.db").option(),
            r" --store 'it'\''s here.db'"
        );
        assert_eq!(place("-\n").option(), r" --store $'./-\012'");
        assert_eq!(Place::at("/x".into(), false).option(), "");
        let told = StoreFile {
            store: Some("a.db".into()),
            results: Some("my results".into()),
        };
        assert_eq!(
            Place::of(&told).unwrap().option(),
            " --store a.db --results 'my results'"
        );
    }

    #[test]
    fn everything_stands_beside_its_file() {
        let told = StoreFile {
            store: Some("/a/shop.db".into()),
            results: None,
        };
        let place = Place::of(&told).unwrap();
        assert_eq!(place.results(), Path::new("/a/shop.db.results"));
        assert!(place.is_named());
        let told = StoreFile {
            store: Some("/".into()),
            results: None,
        };
        assert!(Place::of(&told).is_err());
    }
}
