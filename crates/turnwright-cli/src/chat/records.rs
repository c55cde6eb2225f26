//! The records of a conversation in a file, as lines of JSON.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Mutex;
use turnwright::prelude::*;
use turnwright::record::{Record, RecordKind, Reopen};
use turnwright::store::{
    Batch, Change, Loaded, Query, Revision, Scope, ScopeFilter, Store, StoreError,
};

use super::kept::{broken, commit, prepare};

/// The form of the file.
const VERSION: u64 = 1;
/// The scope under which the records of the file are kept.
pub(super) const SCOPE: &str = "chat";

/// Keeps the records of one conversation in memory, and in a file. After each change the file holds all of it; whatever
/// happens while it is written, it holds what it held before.
#[derive(Clone)]
pub(super) struct Records {
    memory: MemoryStore,
    file: Arc<Mutex<RecordsFile>>,
}

/// The file, and what stands in it.
#[derive(Clone)]
struct RecordsFile {
    path: PathBuf,
    lines: Vec<Line>,
}

#[derive(Clone)]
struct Line {
    kind: RecordKind,
    id: Arc<str>,
    text: Arc<str>,
}

/// What was read of a file.
pub(super) struct Read {
    records: Vec<Record>,
    file: RecordsFile,
    /// Whether its last line was not whole, and was left out.
    pub(super) torn: bool,
}

impl Records {
    /// Reads a file; one that is not there is empty.
    pub(super) fn read(path: PathBuf, reopen: &Reopen) -> anyhow::Result<Read> {
        // A pipe would be waited for.
        if fs::metadata(&path).is_ok_and(|it| !it.is_file()) {
            return Err(broken(&path, "there is no ordinary file"));
        }
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(broken(&path, error)),
        };
        let mut read = Read {
            torn: !text.is_empty() && !text.ends_with('\n'),
            records: Vec::new(),
            file: RecordsFile {
                path,
                lines: Vec::new(),
            },
        };
        // A last line that is not ended was never acknowledged: whoever wrote it did not get to its end.
        let whole = match text.rfind('\n') {
            Some(end) => text.get(..=end).unwrap_or(&text),
            None => "",
        };
        for (number, line) in (1_usize..).zip(whole.lines()) {
            let taken = match number {
                1 => check_head(line),
                _ => read.take(line, reopen),
            };
            taken.map_err(|why| {
                broken(
                    &read.file.path,
                    format_args!("line {number} is wrong: {why}"),
                )
            })?;
        }
        Ok(read)
    }
}

impl Read {
    fn take(&mut self, line: &str, reopen: &Reopen) -> Result<(), String> {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let kind = value.get("kind").and_then(Value::as_str);
        let kind = kind
            .and_then(RecordKind::named)
            .ok_or("it is of no kind that this release knows")?;
        let record = Record::from_value(kind, &value, reopen);
        let record = record.map_err(|error| error.message().to_owned())?;
        self.file.lines.push(Line {
            kind,
            id: record.id().into(),
            text: line.into(),
        });
        self.records.push(record);
        Ok(())
    }

    /// The store of what was read.
    pub(super) async fn stored(self) -> Result<Records, StoreError> {
        let memory = MemoryStore::default();
        if !self.records.is_empty() {
            memory.put_all(&Scope::new(SCOPE), self.records).await?;
        }
        Ok(Records {
            memory,
            file: Arc::new(Mutex::new(self.file)),
        })
    }
}

impl RecordsFile {
    /// The file as it is to be, prepared beside the one that is there.
    fn prepare(mut self, changes: &[Change]) -> Result<Self, Error> {
        for change in changes {
            match change {
                Change::Put(record) => {
                    let text = record.to_value()?.to_string().into();
                    let (kind, id) = (record.kind(), record.id());
                    // What changes is mostly what came last.
                    let there = self.lines.iter_mut().rev().find(|line| line.is(kind, id));
                    match there {
                        Some(line) => line.text = text,
                        None => self.lines.push(Line {
                            kind,
                            id: id.into(),
                            text,
                        }),
                    }
                }
                Change::Delete(kind, id) => self.lines.retain(|line| !line.is(*kind, id)),
                _ => {
                    let message = "this is a change that the conversation's file cannot hold";
                    return Err(Error::new(ErrorCode::Store, message));
                }
            }
        }
        prepare(&self.path, self.text().as_bytes()).map_err(|error| {
            let message = format!("`{}` cannot be written", self.path.display());
            Error::new(ErrorCode::Store, message).with_source(error)
        })?;
        Ok(self)
    }

    fn text(&self) -> String {
        let head = json!({ "turnwrightConversation": VERSION }).to_string();
        let lines = self.lines.iter().map(|line| &*line.text);
        let mut text = String::new();
        for line in std::iter::once(head.as_str()).chain(lines) {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

impl Line {
    fn is(&self, kind: RecordKind, id: &str) -> bool {
        self.kind == kind && &*self.id == id
    }
}

fn check_head(line: &str) -> Result<(), String> {
    let head: Value = serde_json::from_str(line).unwrap_or_default();
    match head.get("turnwrightConversation").and_then(Value::as_u64) {
        Some(VERSION) => Ok(()),
        Some(version) => Err(format!(
            "it is of version {version}, and this release reads {VERSION}"
        )),
        None => Err("a conversation does not begin like this".to_owned()),
    }
}

#[async_trait]
impl Store for Records {
    async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError> {
        if scope.as_str() != SCOPE {
            return Err(StoreError::failed("this store keeps one conversation"));
        }
        let (memory, scope) = (self.memory.clone(), scope.clone());
        let file = Arc::clone(&self.file).lock_owned().await;
        // In a task of its own: whoever stops waiting leaves nothing half done.
        let work = tokio::spawn(async move {
            let mut file = file;
            let (now, changes) = (file.clone(), batch.changes.clone());
            let next = blocking(move || now.prepare(&changes).map_err(StoreError::failed)).await?;
            // The last word is the memory's: it knows of revisions and fences.
            let revision = memory.apply(&scope, batch).await?;
            let path = next.path.clone();
            *file = next;
            blocking(move || commit(&path).map_err(StoreError::failed)).await?;
            Ok(revision)
        });
        work.await.map_err(StoreError::failed)?
    }

    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError> {
        self.memory.load(scope, query).await
    }

    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError> {
        self.memory.scopes(filter).await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(StoreError::failed)?
}
