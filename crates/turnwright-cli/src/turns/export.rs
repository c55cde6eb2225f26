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
use turnwright::store::{DamagedRecord, Query, Scope};
use turnwright::{Record, RecordKind};

use super::damaged::{self, tell_damaged};
use super::seen::scopes_of;
use super::which::find;
use crate::args;
use crate::exit::{Exit, misuse};
use crate::kept::{About, Keeping, Place, new_file};
use crate::show::count;
use crate::terminal::{Screen, json, one_line, style};

pub(super) async fn run(told: &args::TurnsExport, mut screen: Screen) -> anyhow::Result<Exit> {
    let place = Place::of(&told.kept)?;
    let Some(keeping) = Keeping::open_to_read(place).await? else {
        return Err(misuse("nothing is kept yet, so there is nothing to export"));
    };
    let wanted = wanted(&keeping, &told.which).await?;
    let mut export = Export {
        out: match &told.output {
            Some(file) => Out::File(NewFile::make(file, told.force)?),
            None => Out::Screen(&mut screen),
        },
        with_results: told.with_results,
        turn_alone: told.which.turn.is_some(),
        records: 0,
        missing: 0,
        damaged: Vec::new(),
    };
    for (scope, queries) in &wanted {
        for query in queries {
            export.scope(&keeping, scope, query.clone()).await?;
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
    keeping.close().await?;
    let mut screen = screen.aside();
    tell_damaged(&mut screen, &keeping, &damaged)?;
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

/// What is asked for, scope by scope.
async fn wanted(
    keeping: &Keeping,
    which: &args::WhichTurns,
) -> anyhow::Result<Vec<(Scope, Vec<Query>)>> {
    if let Some(turn) = &which.turn {
        let seen = find(keeping, turn).await?;
        let own = Query::all().kind(RecordKind::Turn).ids([seen.id()]);
        return Ok(vec![(seen.scope.clone(), vec![own, seen.query()])]);
    }
    let name = which.conversation.as_deref().unwrap_or_default();
    let scopes = scopes_of(keeping, name).await?;
    let mut wanted = Vec::new();
    for scope in scopes {
        let first = keeping.store.load(&scope, &Query::all().limit(1)).await;
        let first = first.map_err(|error| keeping.told(error))?;
        if first.count() > 0 {
            wanted.push((scope, vec![Query::all()]));
        }
    }
    match wanted.is_empty() {
        false => Ok(wanted),
        true => Err(misuse(format!(
            "there is no conversation `{}`; `turnwright turns list{}` shows which there are",
            one_line(name, 64),
            keeping.place.option()
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
    damaged: Vec<(Scope, DamagedRecord)>,
}

enum Out<'e> {
    Screen(&'e mut Screen),
    File(NewFile),
}

impl Export<'_> {
    /// Page by page: what is exported need not fit into memory.
    async fn scope(
        &mut self,
        keeping: &Keeping,
        scope: &Scope,
        query: Query,
    ) -> anyhow::Result<()> {
        let mut pages = keeping.store.pages(scope, query);
        while let Some(stored) = pages.next().await {
            let record = match stored {
                Ok(stored) => stored.record,
                Err(error) => {
                    let Some(damaged) = error.damaged_record() else {
                        return Err(keeping.told(error));
                    };
                    self.write(&damaged::to_value(damaged))?;
                    self.damaged.push((scope.clone(), damaged.clone()));
                    continue;
                }
            };
            // Who runs a turn right now is nothing that was said or done.
            if record.kind() == RecordKind::Lease || (self.turn_alone && About::is(&record)) {
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
    beside: PathBuf,
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
        let beside = target.with_added_extension(format!("{}.tmp", std::process::id()));
        // Left by a process of the same id that did not come to its end.
        let _ = fs::remove_file(&beside);
        let file = new_file(&beside)
            .map_err(|error| misuse(format!("`{shown}` cannot be written: {error}")))?;
        Ok(NewFile {
            beside,
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
        let kept = written.and_then(|()| match self.replaces {
            true => fs::rename(&self.beside, &self.target),
            // Fails where somebody else has made one meanwhile.
            false => fs::hard_link(&self.beside, &self.target),
        });
        kept.with_context(|| format!("`{shown}` cannot be written"))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // It is there under its own name, or it is not wanted.
        let _ = fs::remove_file(&self.beside);
    }
}
