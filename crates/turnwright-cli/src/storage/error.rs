//! What went wrong with a database, in the words of the program: what it is, and what helps.

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
        Kind::NoDatabase => "it is no database".to_owned(),
        Kind::OtherProgram => "it is a database of another program".to_owned(),
        Kind::NewerFormat { found, known } => {
            format!(
                "a later release wrote it, in format {found}: this one knows formats up to {known}"
            )
        }
        Kind::OlderFormat { .. } => "an earlier release wrote it".to_owned(),
        Kind::Corrupt => format!("it is damaged{}", detail(database)),
        Kind::ReadOnly => "it may only be read".to_owned(),
        Kind::Locked => "another program writes to it, and does not come to its end".to_owned(),
        Kind::Secret => format!("its secret cannot be used{}", detail(database)),
        Kind::Full => "there is no room left".to_owned(),
        Kind::Disk => format!(
            "the disk failed, or a limit of the process was met{}",
            detail(database)
        ),
        _ => return error,
    };
    let sentence = match remedy(kind) {
        Some(remedy) => format!("`{file}` cannot be used: {what}. {}", capital(remedy)),
        None => format!("`{file}` cannot be used: {what}"),
    };
    match kind {
        // Nothing is wrong with the command: it may work the next time.
        Kind::Locked | Kind::Full | Kind::Disk => anyhow::anyhow!("{sentence}"),
        _ => misuse(sentence),
    }
}

/// What went wrong with a folder beside the database, for the user.
pub(super) fn sibling(folder: &Path, error: &io::Error) -> anyhow::Error {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Kind::ReadOnly,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Kind::Full,
        _ => Kind::CannotOpen,
    };
    let remedy = capital(remedy(kind).unwrap_or_default());
    let sentence = format!("`{}` cannot be used: {error}. {remedy}", folder.display());
    match kind {
        Kind::Full => anyhow::anyhow!("{sentence}"),
        _ => misuse(sentence),
    }
}

/// What the system or the database itself says of it, if it says something.
fn detail(error: &SqliteError) -> String {
    let detail = error.detail().map(|detail| format!(" ({detail})"));
    detail.unwrap_or_default()
}

/// What went wrong with the database behind an error of a turn, if it was that.
pub(crate) fn database_error(error: &Error) -> Option<Kind> {
    error.find_cause::<SqliteError>().map(SqliteError::kind)
}

/// What helps against it.
pub(crate) fn remedy(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::NoFolder => "make it, or name another file with `--store FILE`",
        Kind::CannotOpen | Kind::NoDatabase | Kind::OtherProgram => {
            "it was left as it is; `--store FILE` names another file"
        }
        Kind::NewerFormat { .. } => {
            "it was left as it is: use that release, or name another file with `--store FILE`"
        }
        Kind::OlderFormat { .. } => "a chat that may write to it makes it one of this release",
        Kind::Corrupt => {
            "keep a copy of it and of its -wal file, and go on with a backup; `--store FILE` names another file"
        }
        Kind::ReadOnly => {
            "`turns list`, `turns show` and `turns export` need no more; to write, make it writable with its folder, or name \
             another file with `--store FILE`"
        }
        Kind::Locked => "try again when it has ended",
        Kind::Full => {
            "make room; `turnwright turns delete --older-than 30d` deletes old conversations with their results"
        }
        Kind::Disk => "look after the disk, and at `ulimit -f`",
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
