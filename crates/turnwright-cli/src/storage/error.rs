//! Explains errors of a database: what is wrong and what to do.

use std::io;
use std::path::Path;

use turnwright::Error;
use turnwright::sqlite::{SqliteError, SqliteErrorKind as Kind};
use turnwright::store::StoreError;

use crate::exit::misuse;

/// Explains an error of a database to the user. Other errors stay as they are.
pub(crate) fn explain(error: anyhow::Error) -> anyhow::Error {
    let mut causes = error.chain();
    let database = causes.find_map(|cause| cause.downcast_ref::<StoreError>());
    let database = database.and_then(SqliteError::of);
    let Some((database, file)) = database.and_then(|database| Some((database, database.path()?)))
    else {
        return error;
    };
    let (kind, file) = (database.kind(), file.display());
    let what = match kind {
        Kind::NoFolder => "its folder does not exist".to_owned(),
        Kind::CannotOpen => format!("it cannot be opened{}", detail(database)),
        Kind::NoDatabase => "it is not a database".to_owned(),
        Kind::OtherProgram => "it is a database of another program".to_owned(),
        Kind::NewerFormat { found, known } => {
            format!(
                "a later release wrote it in format {found}, and this release knows formats up to {known}"
            )
        }
        Kind::Corrupt => format!("it is damaged{}", detail(database)),
        Kind::ReadOnly => "it is read-only".to_owned(),
        Kind::Locked => "another process keeps it locked".to_owned(),
        Kind::Secret => format!("its secret cannot be used{}", detail(database)),
        Kind::Full => "the disk is full".to_owned(),
        Kind::Disk => format!(
            "the disk failed, or the process reached a limit{}",
            detail(database)
        ),
        _ => return error,
    };
    let sentence = match remedy(kind) {
        Some(remedy) => format!("cannot use `{file}`: {what}. {}", capital(remedy)),
        None => format!("cannot use `{file}`: {what}"),
    };
    match kind {
        // The same command may succeed later.
        Kind::Locked | Kind::Full | Kind::Disk => anyhow::anyhow!("{sentence}"),
        _ => misuse(sentence),
    }
}

/// Explains an error of a directory next to the database.
pub(super) fn sibling(folder: &Path, error: &io::Error) -> anyhow::Error {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Kind::ReadOnly,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Kind::Full,
        _ => Kind::CannotOpen,
    };
    let remedy = capital(remedy(kind).unwrap_or_default());
    let sentence = format!("cannot use `{}`: {error}. {remedy}", folder.display());
    match kind {
        Kind::Full => anyhow::anyhow!("{sentence}"),
        _ => misuse(sentence),
    }
}

/// The message of the system or of SQLite, if there is one.
fn detail(error: &SqliteError) -> String {
    let detail = error.detail().map(|detail| format!(" ({detail})"));
    detail.unwrap_or_default()
}

/// The database error that caused an error of a turn, if any.
pub(crate) fn database_error(error: &Error) -> Option<Kind> {
    error.find_cause::<SqliteError>().map(SqliteError::kind)
}

/// What to do about it.
pub(crate) fn remedy(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::NoFolder => "create it, or use another file with `--store FILE`",
        Kind::CannotOpen | Kind::NoDatabase | Kind::OtherProgram => {
            "it was not changed; use another file with `--store FILE`"
        }
        Kind::NewerFormat { .. } => {
            "it was not changed; use the later release, or another file with `--store FILE`"
        }
        Kind::Corrupt => {
            "keep a copy of it and of its -wal file, and restore a backup; or use another file with `--store FILE`"
        }
        Kind::ReadOnly => {
            "`turns list`, `turns show` and `turns export` work all the same; to write, make the file and its directory writable, \
             or use another file with `--store FILE`"
        }
        Kind::Locked => "try again when that process has ended",
        Kind::Full => {
            "free some space; `turnwright turns delete --older-than 30d` deletes old conversations with their results"
        }
        Kind::Disk => "check the disk and `ulimit -f`",
        _ => return None,
    })
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
