//! `turnwright turns export`: records as JSON lines.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use turnwright::prelude::*;
use turnwright::record::{Record, RecordKind};
use turnwright::store::Store as _;
use turnwright::store::{ConversationId, Query};

use super::damaged::{self, Damaged};
use super::find::find;
use super::summary::{conversation_ids_of, no_conversation};
use crate::args;
use crate::exit::{Exit, misuse};
use crate::storage::{NewFile, Storage};
use crate::terminal::{Screen, json};
use crate::units::plural;

pub(super) async fn run(options: &args::TurnsExport, mut screen: Screen) -> anyhow::Result<Exit> {
    screen.busy("opening the database");
    let storage = Storage::open_to_read(&options.storage, "nothing to export").await?;
    let selected = select(&storage, &options.which).await?;
    let output = options.output.as_deref();
    let file = output.map(|target| create(target, options.force));
    let mut export = Export {
        file: file.transpose()?,
        screen,
        with_results: options.with_results,
        turn_alone: options.which.turn.is_some(),
        records: 0,
        missing: 0,
        damaged: Vec::new(),
    };
    for (conversation_id, query) in selected {
        export.write_all(&storage, &conversation_id, query).await?;
    }
    let mut screen = export.screen;
    if let Some(file) = export.file {
        let unwritable = unwritable(&file);
        // Without `--force`, fails if the file was created meanwhile.
        file.persist(options.force).context(unwritable)?;
        screen.line(format_args!("{} written", plural(export.records, "record")))?;
    }
    storage.store.close().await?;
    let mut screen = screen.on_stderr();
    let exit = damaged::report(&mut screen, &storage, &export.damaged)?;
    if export.missing == 0 {
        return Ok(exit);
    }
    let results = plural(export.missing, "result");
    screen.warn(format!(
        "the bytes of {results} are missing; the records only have their location"
    ))?;
    Ok(Exit::No)
}

/// The records to export: all of a conversation, or a turn's own record and what follows it.
async fn select(
    storage: &Storage,
    which: &args::WhichTurns,
) -> anyhow::Result<Vec<(ConversationId, Query)>> {
    if let Some(turn) = &which.turn {
        let summary = find(storage, turn).await?;
        let own = Query::all().kind(RecordKind::Turn).ids([summary.id()]);
        let queries = [own, summary.query()].into_iter();
        return Ok(queries
            .map(|query| (summary.conversation_id.clone(), query))
            .collect());
    }
    let name = which.conversation.as_deref().unwrap_or_default();
    let mut selected = Vec::new();
    for conversation_id in conversation_ids_of(storage, name).await? {
        let first = Query::all().limit(1);
        if storage.store.load(&conversation_id, &first).await?.count() > 0 {
            selected.push((conversation_id, Query::all()));
        }
    }
    if selected.is_empty() {
        Err(no_conversation(storage, name))
    } else {
        Ok(selected)
    }
}

fn create(target: &Path, replaces: bool) -> anyhow::Result<NewFile> {
    let shown = target.display();
    if !replaces && target.symlink_metadata().is_ok() {
        return Err(misuse(format!(
            "`{shown}` already exists. Use `--force` to overwrite it"
        )));
    }
    NewFile::create(target).map_err(|error| misuse(format!("cannot write `{shown}`: {error}")))
}

fn unwritable(file: &NewFile) -> String {
    format!("cannot write `{}`", file.target.display())
}

/// The number of records between two progress messages.
const PROGRESS: u64 = 1_000;

struct Export {
    /// `None` for standard output.
    file: Option<NewFile>,
    screen: Screen,
    with_results: bool,
    /// Whether a single turn is exported, without notes about the conversation.
    turn_alone: bool,
    records: u64,
    /// The number of results whose bytes are gone.
    missing: u64,
    damaged: Damaged,
}

impl Export {
    /// Page by page, so that the export does not have to fit into memory.
    async fn write_all(
        &mut self,
        storage: &Storage,
        conversation_id: &ConversationId,
        query: Query,
    ) -> anyhow::Result<()> {
        let mut pages = storage.store.pages(conversation_id, query);
        while let Some(page) = pages.next().await? {
            for damaged in &page.damaged {
                self.write(&damaged::to_value(damaged))?;
                let damaged = (conversation_id.clone(), damaged.clone());
                self.damaged.push(damaged);
            }
            for record in page.into_records() {
                self.write_record(record).await?;
            }
        }
        Ok(())
    }

    async fn write_record(&mut self, record: Record) -> anyhow::Result<()> {
        // Leases are not part of the conversation.
        if record.kind() == RecordKind::Lease
            || (self.turn_alone && record.kind() == RecordKind::ConversationInfo)
        {
            return Ok(());
        }
        let mut value = record.to_value()?;
        if self.with_results {
            self.insert_bytes(&record, &mut value).await;
        }
        self.write(&value)?;
        self.records += 1;
        if self.file.is_some() && self.records.is_multiple_of(PROGRESS) {
            let records = plural(self.records, "record");
            self.screen.busy(&format!("exported {records}"));
        }
        Ok(())
    }

    fn write(&mut self, value: &Value) -> anyhow::Result<()> {
        let Some(file) = &mut self.file else {
            return self.screen.json_line(value);
        };
        let written = writeln!(file.writer, "{}", json(value));
        written.with_context(|| unwritable(file))
    }

    /// Puts the bytes of results into the record, which then reads like one without a spool.
    async fn insert_bytes(&mut self, record: &Record, value: &mut Value) {
        let descriptors: Vec<&mut Value> = if value.pointer("/content/artifact").is_some() {
            value.pointer_mut("/content/artifact").into_iter().collect()
        } else {
            let artifacts = value.pointer_mut("/settled/results/artifacts");
            let artifacts = artifacts.and_then(Value::as_array_mut);
            artifacts.into_iter().flatten().collect()
        };
        for (artifact, descriptor) in record.artifacts().iter().zip(descriptors) {
            let Some(fields) = descriptor.as_object_mut() else {
                continue;
            };
            if !fields.contains_key("spool") {
                continue;
            }
            let Ok(bytes) = artifact.as_bytes().await else {
                self.missing += 1;
                continue;
            };
            let (name, text) = match std::str::from_utf8(&bytes) {
                Ok(text) => ("text", text.to_owned()),
                Err(_) => ("base64", BASE64_STANDARD.encode(&bytes)),
            };
            fields.remove("spool");
            fields.insert("content".to_owned(), json!({ name: text }));
        }
    }
}
