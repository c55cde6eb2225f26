//! What went wrong with a database, in the words of the program: what it is, and what helps.

use std::error::Error as _;
use std::io;
use std::path::Path;

use turnwright::Error;
use turnwright::sqlite::{SqliteError, SqliteErrorKind as Trouble};
use turnwright::store::StoreError;

use super::StorageLocation;
use crate::exit::misuse;

/// A store's error, for whoever gave the command.
pub(crate) fn explain(error: StoreError, place: &StorageLocation) -> anyhow::Error {
    let Some(database) = SqliteError::of(&error) else {
        return anyhow::Error::new(error);
    };
    let trouble = database.kind();
    let file = place.file().display();
    let what = match trouble {
        Trouble::NoFolder => "its folder does not exist".to_owned(),
        Trouble::CannotOpen => format!("it cannot be opened{}", detail(database)),
        Trouble::NoDatabase => "it is no database".to_owned(),
        Trouble::OtherProgram => "it is a database of another program".to_owned(),
        Trouble::NewerFormat { found, known } => {
            format!(
                "a later release wrote it, in format {found}: this one knows formats up to {known}"
            )
        }
        Trouble::OlderFormat { .. } => "an earlier release wrote it".to_owned(),
        Trouble::Corrupt => format!("it is damaged{}", detail(database)),
        Trouble::ReadOnly => "it may only be read".to_owned(),
        Trouble::Locked => "another program writes to it, and does not come to its end".to_owned(),
        Trouble::Full => "there is no room left".to_owned(),
        Trouble::Disk => format!(
            "the disk failed, or a limit of the process was met{}",
            detail(database)
        ),
        _ => return anyhow::Error::new(error),
    };
    let sentence = match helps(trouble) {
        Some(helps) => format!("`{file}` cannot be used: {what}. {}", capital(helps)),
        None => format!("`{file}` cannot be used: {what}"),
    };
    match trouble {
        // Nothing is wrong with the command: it may work the next time.
        Trouble::Locked | Trouble::Full | Trouble::Disk => anyhow::anyhow!("{sentence}"),
        _ => misuse(sentence),
    }
}

/// The same for whoever wants no more than to look.
pub(super) fn explain_to_reader(error: StoreError, place: &StorageLocation) -> anyhow::Error {
    match SqliteError::of(&error).map(SqliteError::kind) {
        Some(Trouble::ReadOnly) => misuse(format!(
            "`{}` cannot be looked at where it is: to read it, a file must be made beside it, and its folder may only be \
             read. Copy it elsewhere, and name the copy with `--store FILE`",
            place.file().display()
        )),
        _ => explain(error, place),
    }
}

/// What went wrong with a folder beside the database, for whoever gave the command.
pub(super) fn sibling(folder: &Path, error: &io::Error) -> anyhow::Error {
    let trouble = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Trouble::ReadOnly,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Trouble::Full,
        _ => Trouble::CannotOpen,
    };
    let helps = capital(helps(trouble).unwrap_or_default());
    let sentence = format!("`{}` cannot be used: {error}. {helps}", folder.display());
    match trouble {
        Trouble::Full => anyhow::anyhow!("{sentence}"),
        _ => misuse(sentence),
    }
}

/// What the system or the database itself says of it, if it says something.
fn detail(error: &SqliteError) -> String {
    let at = error.path().map(|path| path.display().to_string());
    let begins = format!("{}: {} (", at.unwrap_or_default(), error.kind());
    let full = error.to_string();
    let reason = full.strip_prefix(&begins);
    match reason.and_then(|reason| reason.strip_suffix(')')) {
        Some(reason) => format!(" ({reason})"),
        None => String::new(),
    }
}

/// What went wrong with the database behind an error of a turn, if it was that.
pub(crate) fn trouble_of(error: &Error) -> Option<Trouble> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<SqliteError>() {
            return Some(error.kind());
        }
        cause = error.source();
    }
    None
}

/// What helps against it.
pub(crate) fn helps(trouble: Trouble) -> Option<&'static str> {
    Some(match trouble {
        Trouble::NoFolder => "make it, or name another file with `--store FILE`",
        Trouble::CannotOpen | Trouble::NoDatabase | Trouble::OtherProgram => {
            "it was left as it is; `--store FILE` names another file"
        }
        Trouble::NewerFormat { .. } => {
            "it was left as it is: use that release, or name another file with `--store FILE`"
        }
        Trouble::OlderFormat { .. } => "a chat that may write to it makes it one of this release",
        Trouble::Corrupt => {
            "keep a copy of it and of its -wal file, and go on with a backup; `--store FILE` names another file"
        }
        Trouble::ReadOnly => {
            "`turns list`, `turns show` and `turns export` need no more; to write, make it writable with its folder, or name \
             another file with `--store FILE`"
        }
        Trouble::Locked => "try again when it has ended",
        Trouble::Full => {
            "make room; `turnwright turns delete --older-than 30d` deletes old conversations with their results"
        }
        Trouble::Disk => "look after the disk, and at `ulimit -f`",
        _ => return None,
    })
}

fn capital(text: &str) -> String {
    let mut signs = text.chars();
    match signs.next() {
        Some(first) => first.to_uppercase().chain(signs).collect(),
        None => String::new(),
    }
}
