//! `turnwright turns export`: records as they are kept.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use turnwright::artifact::SpooledArtifact;
use turnwright::prelude::*;
use turnwright::store::{ConversationId, DamagedRecord, Query};
use turnwright::{Record, RecordKind};

use super::damaged::{self, tell_damaged};
use super::find::find;
use super::summary::conversation_ids_of;
use crate::args;
use crate::exit::{Exit, misuse};
use crate::storage::{ChatNote, Storage, StorageLocation, new_file};
use crate::terminal::{Screen, json, one_line, style};
use crate::units::count;

pub(super) async fn run(options: &args::TurnsExport, mut screen: Screen) -> anyhow::Result<Exit> {
    let place = StorageLocation::of(&options.storage)?;
    let Some(storage) = Storage::open_to_read(place).await? else {
        return Err(misuse("nothing is kept yet, so there is nothing to export"));
    };
    let wanted = wanted(&storage, &options.which).await?;
    let mut export = Export {
        out: match &options.output {
            Some(file) => Out::File(NewFile::make(file, options.force)?),
            None => Out::Screen(&mut screen),
        },
        with_results: options.with_results,
        turn_alone: options.which.turn.is_some(),
        records: 0,
        missing: 0,
        damaged: Vec::new(),
    };
    for (conversation_id, queries) in &wanted {
        for query in queries {
            export
                .conversation_id(&storage, conversation_id, query.clone())
                .await?;
        }
    }
    let Export {
        out,
        records,
        missing,
        damaged,
        ..
    } = export;
    if let Out::File(file) = out {
        file.keep()?;
        if !screen.is_json() {
            let s = if records == 1 { "" } else { "s" };
            screen.line(format_args!("{} record{s} written", count(records)))?;
        }
    }
    storage.close().await?;
    let mut screen = screen.aside();
    tell_damaged(&mut screen, &storage, &damaged)?;
    if missing > 0 {
        let s = if missing == 1 { "" } else { "s" };
        let text = format!(
            "the bytes of {missing} result{s} are not there any more: the record says where they were"
        );
        screen.paragraph(style::CARE, "", &text)?;
    }
    match missing == 0 && damaged.is_empty() {
        true => Ok(Exit::Done),
        false => Ok(Exit::No),
    }
}

/// What is asked for, conversation by conversation.
async fn wanted(
    storage: &Storage,
    which: &args::WhichTurns,
) -> anyhow::Result<Vec<(ConversationId, Vec<Query>)>> {
    if let Some(turn) = &which.turn {
        let summary = find(storage, turn).await?;
        let own = Query::all().kind(RecordKind::Turn).ids([summary.id()]);
        return Ok(vec![(
            summary.conversation_id.clone(),
            vec![own, summary.query()],
        )]);
    }
    let name = which.conversation.as_deref().unwrap_or_default();
    let conversation_ids = conversation_ids_of(storage, name).await?;
    let mut wanted = Vec::new();
    for conversation_id in conversation_ids {
        let first = storage
            .store
            .load(&conversation_id, &Query::all().limit(1))
            .await;
        let first = first.map_err(|error| storage.explain(error))?;
        if first.count() > 0 {
            wanted.push((conversation_id, vec![Query::all()]));
        }
    }
    match wanted.is_empty() {
        false => Ok(wanted),
        true => Err(misuse(format!(
            "there is no conversation `{}`; `turnwright turns list{}` shows which there are",
            one_line(name, 64),
            storage.place.option()
        ))),
    }
}

struct Export<'e> {
    out: Out<'e>,
    with_results: bool,
    /// Without what is noted about the conversation.
    turn_alone: bool,
    records: u64,
    /// The results whose bytes are gone.
    missing: usize,
    /// The records that cannot be read.
    damaged: Vec<(ConversationId, DamagedRecord)>,
}

enum Out<'e> {
    Screen(&'e mut Screen),
    File(NewFile),
}

impl Export<'_> {
    /// Page by page: what is exported need not fit into memory.
    async fn conversation_id(
        &mut self,
        storage: &Storage,
        conversation_id: &ConversationId,
        query: Query,
    ) -> anyhow::Result<()> {
        let mut pages = storage.store.pages(conversation_id, query);
        while let Some(stored) = pages.next().await {
            let record = match stored {
                Ok(stored) => stored.record,
                Err(error) => {
                    let Some(damaged) = error.damaged_record() else {
                        return Err(storage.explain(error));
                    };
                    self.write(&damaged::to_value(damaged))?;
                    self.damaged
                        .push((conversation_id.clone(), damaged.clone()));
                    continue;
                }
            };
            // Who runs a turn right now is nothing that was said or done.
            if record.kind() == RecordKind::Lease || (self.turn_alone && ChatNote::is(&record)) {
                continue;
            }
            let mut value = record.to_value()?;
            if self.with_results {
                self.fill_in(&record, &mut value).await;
            }
            self.write(&value)?;
            self.records += 1;
        }
        Ok(())
    }

    fn write(&mut self, value: &Value) -> anyhow::Result<()> {
        match &mut self.out {
            Out::Screen(screen) => screen.value(value),
            Out::File(file) => file.line(&json(value)),
        }
    }

    /// Puts the bytes of results where the record names them: so it is read again like one that never needed a spool.
    async fn fill_in(&mut self, record: &Record, value: &mut Value) {
        let descriptors: Vec<&mut Value> = match value {
            Value::Object(fields) if fields.contains_key("artifact") => {
                fields.get_mut("artifact").into_iter().collect()
            }
            value => {
                let artifacts = value.pointer_mut("/results/artifacts");
                let artifacts = artifacts.and_then(Value::as_array_mut);
                artifacts.into_iter().flatten().collect()
            }
        };
        for (artifact, descriptor) in record.artifacts().iter().zip(descriptors) {
            if let Some(fields) = descriptor.as_object_mut()
                && fields.contains_key("spool")
            {
                match bytes_of(artifact).await {
                    Some((name, bytes)) => {
                        fields.remove("spool");
                        insert(fields, name, bytes);
                    }
                    None => self.missing += 1,
                }
            }
        }
    }
}

async fn bytes_of(artifact: &SpooledArtifact) -> Option<(&'static str, String)> {
    let bytes = artifact.as_bytes().await.ok()?;
    Some(match std::str::from_utf8(&bytes) {
        Ok(text) => ("text", text.to_owned()),
        Err(_) => ("base64", STANDARD.encode(&bytes)),
    })
}

fn insert(fields: &mut Map<String, Value>, name: &str, text: String) {
    fields.insert(name.to_owned(), Value::String(text));
}

/// A file that is being written. It takes its place when it is whole, and leaves nothing behind if it never is.
struct NewFile {
    temporary: PathBuf,
    target: PathBuf,
    replaces: bool,
    writer: Option<BufWriter<File>>,
}

impl NewFile {
    fn make(target: &Path, replaces: bool) -> anyhow::Result<Self> {
        let shown = target.display();
        if !replaces && target.symlink_metadata().is_ok() {
            return Err(misuse(format!(
                "`{shown}` is there already: `--force` puts what is written in its place"
            )));
        }
        let temporary = target.with_added_extension(format!("{}.tmp", std::process::id()));
        // Left by a process of the same id that did not come to its end.
        let _ = fs::remove_file(&temporary);
        let file = new_file(&temporary)
            .map_err(|error| misuse(format!("`{shown}` cannot be written: {error}")))?;
        Ok(NewFile {
            temporary,
            target: target.to_owned(),
            replaces,
            writer: Some(BufWriter::new(file)),
        })
    }

    fn line(&mut self, text: &str) -> anyhow::Result<()> {
        let shown = self.target.display();
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        writer
            .write_all(text.as_bytes())
            .and_then(|()| writer.write_all(b"\n"))
            .with_context(|| format!("`{shown}` cannot be written"))
    }

    fn keep(mut self) -> anyhow::Result<()> {
        let shown = self.target.display();
        let writer = self.writer.take();
        let written = match writer.map(BufWriter::into_inner) {
            Some(Ok(file)) => file.sync_all(),
            Some(Err(error)) => Err(error.into_error()),
            None => Ok(()),
        };
        let finished = written.and_then(|()| match self.replaces {
            true => fs::rename(&self.temporary, &self.target),
            // Fails where somebody else has made one meanwhile.
            false => fs::hard_link(&self.temporary, &self.target),
        });
        finished.with_context(|| format!("`{shown}` cannot be written"))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // It is there under its own name, or it is not wanted.
        let _ = fs::remove_file(&self.temporary);
    }
}
