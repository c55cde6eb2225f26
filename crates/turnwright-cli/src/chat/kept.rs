//! A conversation that outlives the program: a folder of its own, which only one program uses at a time.
//!
//! It holds `records.jsonl` (what was said and done), `results` (the artifacts of calls), `secret` (under which the fences in
//! prompts get their codes), `server` (whom it is held with), `history` (what was typed) and `lock`. What is set aside goes to `1.bak`, `2.bak` and so on.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use etcetera::BaseStrategy as _;
use turnwright::record::Reopen;
use turnwright::spool::DiskSpool;
use turnwright::trust::ConversationSecret;

use super::records::Records;
use crate::exit::misuse;

/// Names another folder for what is kept.
const HOME: &str = "TURNWRIGHT_HOME";
/// The longest name of a conversation.
const LONGEST_NAME: usize = 64;

const RECORDS: &str = "records.jsonl";
const RESULTS: &str = "results";
const SECRET: &str = "secret";
const SERVER: &str = "server";

/// Where everything is kept.
pub(super) struct Home(PathBuf);

impl Home {
    /// The folder that the environment names, else the one that this system has for data of its users.
    pub(super) fn find() -> anyhow::Result<Self> {
        if let Some(told) = std::env::var_os(HOME).filter(|told| !told.is_empty()) {
            return Ok(Home(told.into()));
        }
        let nowhere = || {
            format!(
                "there is no folder to keep the conversation in: name one with {HOME}, or give `--forget`"
            )
        };
        let system = etcetera::choose_base_strategy()
            .map_err(|error| misuse(format!("{}: {error}", nowhere())))?;
        Ok(Home(system.data_dir().join("turnwright")))
    }
}

/// A conversation in its folder. Nobody else has it meanwhile.
pub(super) struct Kept {
    folder: PathBuf,
    /// Held as long as this lives.
    _lock: File,
}

/// What a runner needs to go on with a conversation.
pub(super) struct Recalled {
    pub(super) records: Records,
    pub(super) spool: Arc<DiskSpool>,
    pub(super) secret: ConversationSecret,
    /// Whether the last line that was written was not whole, and was left out.
    pub(super) torn: bool,
}

impl Kept {
    /// Opens the folder of this conversation, which is made if it is not there.
    pub(super) fn open(home: &Home, name: &str) -> anyhow::Result<Self> {
        check_name(name)?;
        let folder = home.0.join("conversations").join(name);
        let shown = folder.display();
        make_folder(&folder).with_context(|| {
            format!("the folder `{shown}` cannot be made; {HOME} names another")
        })?;
        let lock = own_file(&folder.join("lock")).with_context(|| {
            format!("the folder `{shown}` cannot be written to; {HOME} names another")
        })?;
        match lock.try_lock() {
            Ok(()) => Ok(Kept {
                folder,
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(misuse(format!(
                "the conversation `{name}` is in use by another program: name another one with `--conversation NAME`, \
                 or keep nothing with `--forget`"
            ))),
            Err(TryLockError::Error(error)) => Err(error).with_context(|| {
                format!("the folder `{shown}` cannot be locked; {HOME} names another")
            }),
        }
    }

    /// Refuses to go on with a conversation that another server knows: what was said to one is not sent to another unasked.
    pub(super) fn check_server(&self, server: &str) -> anyhow::Result<()> {
        let file = self.folder.join(SERVER);
        let before = match fs::read_to_string(&file) {
            Ok(before) => before,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(broken(&file, error)),
        };
        match before.trim() == server {
            true => Ok(()),
            false => Err(misuse(format!(
                "this conversation was held with {}: all of it would be sent to {server}. If you want that, delete `{}`; \
                 else name another one with `--conversation NAME`, or begin anew with `--new`",
                before.trim(),
                file.display()
            ))),
        }
    }

    /// Notes which server knows the conversation.
    pub(super) fn note_server(&self, server: &str) -> anyhow::Result<()> {
        replace(&self.folder.join(SERVER), format!("{server}\n").as_bytes())
    }

    /// Where the lines are kept that were typed.
    pub(super) fn history(&self) -> PathBuf {
        self.folder.join("history")
    }

    /// Sets aside what was said and done so far. Where it is now; none if there was nothing.
    pub(super) fn set_aside(&self) -> anyhow::Result<Option<PathBuf>> {
        let there = |name: &&str| self.folder.join(name).symlink_metadata().is_ok();
        if ![RECORDS, SECRET].iter().any(there) {
            return Ok(None);
        }
        let moved = || -> io::Result<PathBuf> {
            let aside = self.free_folder()?;
            // The records first: without them there is no conversation, whatever happens next.
            for name in [RECORDS, RESULTS, SECRET] {
                match fs::rename(self.folder.join(name), aside.join(name)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            Ok(aside)
        };
        let shown = self.folder.display();
        let aside = moved().with_context(|| format!("what is in `{shown}` cannot be set aside"))?;
        Ok(Some(aside))
    }

    /// A new folder for what is set aside.
    fn free_folder(&self) -> io::Result<PathBuf> {
        let mut number = 1_u64;
        loop {
            let aside = self.folder.join(format!("{number}.bak"));
            match private_folder().create(&aside) {
                Ok(()) => return Ok(aside),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// What was said and done so far.
    pub(super) async fn recall(&self) -> anyhow::Result<Recalled> {
        let results = self.folder.join(RESULTS);
        let spool = DiskSpool::open(&results)
            .await
            .with_context(|| format!("the folder `{}` cannot be used", results.display()))?;
        let spool = Arc::new(spool);
        // Lines that are not changed stay as they are, so a kind that is not known here is not lost.
        let reopen = Reopen::new(Arc::clone(&spool) as _).unknown_kinds_as_text();
        let (folder, records) = (self.folder.clone(), self.folder.join(RECORDS));
        let read = tokio::task::spawn_blocking(move || {
            let secret = secret(&folder.join(SECRET))?;
            anyhow::Ok((secret, Records::read(records, &reopen)?))
        });
        let (secret, records) = read.await??;
        Ok(Recalled {
            torn: records.torn,
            records: records.stored().await?,
            spool,
            secret,
        })
    }
}

/// A file of this conversation cannot be read, and what to do about it.
pub(super) fn broken(file: &Path, why: impl std::fmt::Display) -> anyhow::Error {
    let file = file.display();
    misuse(format!(
        "the conversation cannot be gone on with: {why} in `{file}`. `--new` begins anew and sets it aside; \
         `--conversation NAME` leaves it alone"
    ))
}

/// The secret of the conversation, which is made if there is none.
fn secret(file: &Path) -> anyhow::Result<ConversationSecret> {
    match fs::read(file) {
        Ok(bytes) => match bytes.try_into() {
            Ok(bytes) => Ok(ConversationSecret::from_bytes(bytes)),
            Err(_) => Err(broken(file, "there are not 32 bytes")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let secret = ConversationSecret::random()?;
            replace(file, &secret.expose())?;
            Ok(secret)
        }
        Err(error) => Err(broken(file, error)),
    }
}

/// Writes a file so that there is all of it or what was there before.
fn replace(file: &Path, content: &[u8]) -> anyhow::Result<()> {
    let write = || prepare(file, content).and_then(|()| commit(file));
    write().with_context(|| format!("`{}` cannot be written", file.display()))
}

/// Writes what is to take the file's place beside it, to the disk.
pub(super) fn prepare(file: &Path, content: &[u8]) -> io::Result<()> {
    let unfinished = unfinished(file);
    let mut new = own_file(&unfinished)?;
    new.set_len(0)?;
    new.write_all(content)?;
    new.sync_all()
}

/// Puts what was prepared in the file's place.
pub(super) fn commit(file: &Path) -> io::Result<()> {
    fs::rename(unfinished(file), file)?;
    // A folder can be written to the disk like a file on Unix, and need not be elsewhere.
    #[cfg(unix)]
    if let Some(folder) = file.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn unfinished(file: &Path) -> PathBuf {
    file.with_added_extension("tmp")
}

/// A file for its owner alone, which is made if it is not there.
fn own_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn private_folder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "elsewhere the system decides"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

fn make_folder(folder: &Path) -> io::Result<()> {
    private_folder().recursive(true).create(folder)
}

fn check_name(name: &str) -> anyhow::Result<()> {
    let sign = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '_' | '-');
    let plain = !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.chars().all(sign)
        && !name.starts_with('.')
        && !name.contains("..");
    match plain {
        true => Ok(()),
        false => Err(misuse(format!(
            "a conversation's name has 1 to {LONGEST_NAME} of the signs A-Z a-z 0-9 . _ - and begins with no dot"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_folder() {
        for name in ["default", "a", "2026-01-31_x.y"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let long = "a".repeat(65);
        for name in [
            "", ".", "..", "a..b", ".hidden", "a/b", "a\\b", "ä", "a b", &long,
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
