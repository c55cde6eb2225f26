//! Which conversation it is. One that was begun anew goes on as its next part: `shop`, then `shop~2`, then `shop~3`.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use turnwright::store::{Query, Scope, ScopeFilter, Store as _};

use super::{About, Keeping, files};
use crate::exit::misuse;

/// The longest name of a conversation.
const LONGEST_NAME: usize = 64;

/// Stands between a conversation's name and the number of its part.
const MARK: char = '~';

/// A part of a conversation: what was said in it is known in it, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    /// From one on.
    pub(crate) number: u64,
}

impl Part {
    /// The part that a text names; of a name alone, the first.
    pub(crate) fn named(text: &str) -> Self {
        let parts = text.rsplit_once(MARK);
        let numbered = parts.and_then(|(name, number)| {
            // Only as it is written here: `shop~02` is another conversation.
            let read: u64 = number.parse().ok()?;
            let same = read >= 1 && read.to_string() == number;
            same.then(|| Part {
                name: name.to_owned(),
                number: read,
            })
        });
        numbered.unwrap_or_else(|| Part {
            name: text.to_owned(),
            number: 1,
        })
    }

    /// Under which name its records are kept.
    pub(crate) fn scope(&self) -> Scope {
        Scope::new(self.to_string())
    }

    /// The part after this one.
    pub(crate) fn next(&self) -> Self {
        Part {
            name: self.name.clone(),
            number: self.number.saturating_add(1),
        }
    }

    /// The part with which a conversation goes on: the one that is named, or the last that there is.
    pub(crate) async fn current(keeping: &Keeping, told: &str) -> anyhow::Result<Self> {
        let named = Part::named(told);
        if told.contains(MARK) {
            return match is_empty(keeping, &named.scope()).await? {
                false => Ok(named),
                true => Err(misuse(format!(
                    "there is no conversation `{told}`; `turnwright turns list` shows which there are"
                ))),
            };
        }
        let last = parts_of(keeping, &named.name).await?.pop();
        Ok(last.unwrap_or(named))
    }

    /// The part that is begun anew after this one: itself, if nothing was said in it.
    pub(crate) async fn anew(&self, keeping: &Keeping) -> anyhow::Result<Self> {
        let last = parts_of(keeping, &self.name).await?.pop();
        let last = last.unwrap_or_else(|| self.clone());
        let records = keeping
            .store
            .load(&last.scope(), &Query::all().limit(2))
            .await
            .map_err(|error| keeping.told(error))?;
        match records.into_records().all(|record| About::is(&record)) {
            true => Ok(last),
            false => Ok(last.next()),
        }
    }
}

/// As its records are kept, and as it is named on a command line.
impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.number {
            1 => f.write_str(&self.name),
            number => write!(f, "{}{MARK}{number}", self.name),
        }
    }
}

async fn is_empty(keeping: &Keeping, scope: &Scope) -> anyhow::Result<bool> {
    let loaded = keeping.store.load(scope, &Query::all().limit(1)).await;
    let loaded = loaded.map_err(|error| keeping.told(error))?;
    Ok(loaded.records.is_empty())
}

/// The parts of a conversation that hold something, in order. Those after the first are a chat's, by its note.
pub(crate) async fn parts_of(keeping: &Keeping, name: &str) -> anyhow::Result<Vec<Part>> {
    let filter = ScopeFilter::all().prefix(name);
    let scopes = keeping.store.scopes(&filter).await;
    let mut parts = Vec::new();
    for scope in scopes.map_err(|error| keeping.told(error))? {
        let part = Part::named(scope.as_str());
        if part.name != name || part.scope() != scope {
            continue;
        }
        if part.number == 1 || About::of(keeping, &scope).await?.is_some() {
            parts.push(part);
        }
    }
    parts.sort_by_key(|part| part.number);
    Ok(parts)
}

/// What a chat has of a conversation besides its records. One chat has it at a time.
pub(crate) struct Desk {
    history: PathBuf,
    place: PathBuf,
    /// Held as long as this lives.
    _lock: File,
}

/// How often a lock is tried whose file is taken away meanwhile.
const TRIES: usize = 16;

impl Desk {
    /// Takes it. None if another program has it.
    pub(crate) fn take(keeping: &Keeping, name: &str) -> anyhow::Result<Option<Self>> {
        let folder = keeping.place.chats();
        let shown = folder.display();
        let place = path(&folder, name, "lock");
        for _ in 0..TRIES {
            let lock = files::make_folder(&folder)
                .and_then(|()| files::lock_file(&place))
                .with_context(|| format!("the folder `{shown}` cannot be written to"))?;
            match lock.try_lock() {
                Ok(()) if files::is_at(&lock, &place) => {
                    return Ok(Some(Desk {
                        history: path(&folder, name, "history"),
                        place,
                        _lock: lock,
                    }));
                }
                // Whoever had it took its file away: others have another one, or will.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => {
                    return Err(error)
                        .with_context(|| format!("the folder `{shown}` cannot be locked"));
                }
            }
        }
        Ok(None)
    }

    /// The conversations that chats have open now.
    pub(crate) fn all_taken(keeping: &Keeping) -> anyhow::Result<Vec<String>> {
        let Ok(entries) = fs::read_dir(keeping.place.chats()) else {
            return Ok(Vec::new());
        };
        let mut taken = Vec::new();
        for entry in entries {
            let file = entry?.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(".lock"));
            if let Some(name) = name.filter(|name| check_name(name).is_ok())
                && Desk::take(keeping, name)?.is_none()
            {
                taken.push(name.to_owned());
            }
        }
        taken.sort_unstable();
        Ok(taken)
    }

    /// Where the lines are kept that were typed.
    pub(crate) fn history(&self) -> PathBuf {
        self.history.clone()
    }

    /// Leaves nothing of it: neither what was typed nor the conversation's name.
    pub(crate) fn clear(self) -> std::io::Result<()> {
        files::remove(&self.history)?;
        // Where it cannot be told whether a lock is that of its file, the file stays.
        match files::IS_TOLD_APART {
            true => files::remove(&self.place),
            false => Ok(()),
        }
    }
}

fn path(folder: &Path, name: &str, what: &str) -> PathBuf {
    folder.join(format!("{name}.{what}"))
}

/// Refuses names that could lead elsewhere, or be taken for another.
pub(crate) fn check_name(told: &str) -> anyhow::Result<()> {
    let name = Part::named(told).name;
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
        for name in ["default", "a", "2026-01-31_x.y", "a~2"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let long = "a".repeat(65);
        for name in [
            "", ".", "..", "a..b", ".hidden", "a/b", "a\\b", "ä", "a b", &long, "a~", "a~0",
            "a~02", "~2", "a~1~2", "a~-1",
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_part_is_named_as_it_is_kept() {
        let part = Part::named("shop~12");
        assert_eq!((part.name.as_str(), part.number), ("shop", 12));
        assert_eq!(part.to_string(), "shop~12");
        assert_eq!(part.next().to_string(), "shop~13");
        assert_eq!(Part::named("shop~1").to_string(), "shop");
        assert_eq!(Part::named("shop").next().to_string(), "shop~2");
        assert_eq!(Part::named("shop~18446744073709551616").number, 1);
    }

    proptest::proptest! {
        #[test]
        fn no_two_names_are_kept_under_one(one in "[ab]{1,2}(~[0-3]{1,2})?", other in "[ab]{1,2}(~[0-3]{1,2})?") {
            proptest::prop_assume!(check_name(&one).is_ok() && check_name(&other).is_ok());
            let (first, second) = (Part::named(&one), Part::named(&other));
            // Only the first part has two names: its own, and that with its number.
            let same = one == other || first == second;
            proptest::prop_assert_eq!(first.scope() == second.scope(), same);
        }
    }
}
