//! The append-only prompt of a turn.

use std::collections::HashMap;
use std::future::Future;

use crate::error::Error;
use crate::record::{Memory, Record, RecordKind, RecordType as _, StandingInstruction};

use super::entry::{Entry, Grouped, group};
use super::system_prompt::SystemPrompt;

/// Renders the entries of a transcript in the wire format of a protocol.
///
/// ```
/// use turnwright_core::Error;
/// use turnwright_core::transcript::{Entry, SystemPrompt, Writer};
///
/// /// Writes plain lines.
/// struct Lines;
///
/// impl Writer for Lines {
///     type Wire = String;
///
///     fn system_prompt(&mut self, system: &SystemPrompt) -> Result<Vec<String>, Error> {
///         Ok(vec![system.text()])
///     }
///
///     async fn entry(&mut self, entry: &Entry) -> Result<Vec<String>, Error> {
///         Ok(match entry {
///             Entry::Message(message) => vec![format!("> {}", message.text())],
///             Entry::Response(response) => response.messages.iter().map(|message| message.text().to_owned()).collect(),
///             _ => Vec::new(),
///         })
///     }
///
///     fn reuse(&mut self, _wire: &[String]) {}
/// }
/// ```
pub trait Writer: Send {
    /// A message in the wire format.
    type Wire: Send + Sync;

    /// Renders the constant start of the prompt.
    ///
    /// # Errors
    /// Returns an error if it cannot be rendered.
    fn system_prompt(&mut self, system: &SystemPrompt) -> Result<Vec<Self::Wire>, Error>;

    /// Renders one entry. Called once for each entry, in the order of the prompt.
    ///
    /// # Errors
    /// Returns an error if the entry cannot be rendered, for example because media cannot be read or shown.
    fn entry(
        &mut self,
        entry: &Entry,
    ) -> impl Future<Output = Result<Vec<Self::Wire>, Error>> + Send;

    /// Called when a rendered entry is used again, so that the writer can account for the resources it uses.
    fn reuse(&mut self, wire: &[Self::Wire]);
}

/// The prompt of a turn. Each update appends new entries and reuses those that were sent before.
///
/// ```
/// use turnwright_core::transcript::{SystemPrompt, Transcript};
/// use turnwright_core::{DispatchContext, Message};
/// # use turnwright_core::{Error, transcript::{Entry, Writer}};
/// # struct Lines;
/// # impl Writer for Lines {
/// #     type Wire = String;
/// #     fn system_prompt(&mut self, system: &SystemPrompt) -> Result<Vec<String>, Error> { Ok(vec![system.text()]) }
/// #     async fn entry(&mut self, entry: &Entry) -> Result<Vec<String>, Error> {
/// #         Ok(match entry { Entry::Message(message) => vec![format!("> {}", message.text())], _ => Vec::new() })
/// #     }
/// #     fn reuse(&mut self, _wire: &[String]) {}
/// # }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let ctx = DispatchContext::standalone();
/// let mut transcript = Transcript::default();
/// for text in ["one", "two"] {
///     ctx.records().add(Message::user(text).build()?);
///     // `Lines` is a `Writer`. Only the new message is written.
///     transcript.update(&ctx.records().timeline(), || SystemPrompt::new("Be brief."), &mut Lines).await?;
/// }
/// assert_eq!(transcript.messages().skip(1).collect::<Vec<_>>(), ["> one", "> two"]);
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Transcript<W> {
    /// The constant part, as of the start of the turn.
    system: Option<(SystemPrompt, Part<W>)>,
    parts: Vec<Part<W>>,
}

/// A rendered part.
#[derive(Debug)]
struct Part<W> {
    records: Vec<Record>,
    wire: Vec<W>,
}

impl<W> Part<W> {
    /// Returns whether it is an instruction or a memory that was added or changed after the first prompt.
    fn is_standing(&self) -> bool {
        self.records.first().is_some_and(is_standing)
    }
}

impl<W> Default for Transcript<W> {
    fn default() -> Self {
        Transcript {
            system: None,
            parts: Vec::new(),
        }
    }
}

impl<W: Send + Sync> Transcript<W> {
    /// Iterates over the messages of the prompt.
    pub fn messages(&self) -> impl Iterator<Item = &W> + Clone {
        let start = self.system.iter().flat_map(|(_, part)| &part.wire);
        start.chain(self.parts.iter().flat_map(|part| &part.wire))
    }

    /// Updates the prompt to the current timeline. `system` is called the first time and returns the start of the prompt.
    ///
    /// The timeline has the order of [`timeline`](crate::tool::context::TurnRecords::timeline): an instruction or a memory that changed
    /// is listed where it changed, and is rendered there.
    ///
    /// # Errors
    /// Returns an error if an entry cannot be rendered. The prompt then contains the entries before it.
    pub async fn update<P: Writer<Wire = W>>(
        &mut self,
        timeline: &[Record],
        system: impl FnOnce() -> SystemPrompt,
        writer: &mut P,
    ) -> Result<(), Error> {
        self.update_system_prompt(timeline, system, writer)?;
        // Records that were removed must not be sent again.
        let listed = |known: &Record| is_listed(timeline, known);
        self.parts
            .retain(|part| !part.is_standing() || part.records.iter().all(listed));
        let Some(sent) = self.sent(timeline) else {
            // Boxed, so that the future of the usual case, an append, stays small.
            return Box::pin(self.rewrite(timeline, writer)).await;
        };
        let written = self.written();
        let is_new = |record: &&Record| !is_standing(record) || is_news(&written, record);
        let arrived = timeline.iter().skip(sent).filter(is_new);
        // Records of earlier turns that were loaded during this turn are listed among those already sent. Append them.
        let loaded = timeline.iter().take(sent);
        let loaded = loaded.filter(|record| is_standing(record) && is_news(&written, record));
        let fresh = group(arrived.chain(loaded));
        for Grouped { entry, records } in fresh {
            let wire = writer.entry(&entry).await?;
            self.parts.push(Part { records, wire });
        }
        Ok(())
    }

    /// Returns how many records at the start of the timeline were sent. `None` if they differ from those that were sent.
    fn sent(&self, timeline: &[Record]) -> Option<usize> {
        let known = self.parts.iter().filter(|part| !part.is_standing());
        let mut now = timeline.iter().enumerate();
        let mut sent = 0;
        for before in known.flat_map(|part| &part.records) {
            match now.find(|(_, record)| !is_standing(record)) {
                Some((at, record)) if before.is_same(record) => sent = at + 1,
                _ => return None,
            }
        }
        Some(sent)
    }

    /// Returns the texts of instructions and memories as last rendered.
    fn written(&self) -> HashMap<(RecordKind, &str), &str> {
        let first = self.system.iter().map(|(_, part)| part);
        let later = self.parts.iter().filter(|part| part.is_standing());
        let all = first.chain(later).flat_map(|part| &part.records);
        all.filter_map(|record| Some(((record.kind(), record.id()), standing_text(record)?)))
            .collect()
    }

    fn update_system_prompt<P: Writer<Wire = W>>(
        &mut self,
        timeline: &[Record],
        system: impl FnOnce() -> SystemPrompt,
        writer: &mut P,
    ) -> Result<(), Error> {
        let listed = |known: &Record| is_listed(timeline, known);
        if let Some((_, part)) = &self.system
            && part.records.iter().all(listed)
        {
            return Ok(());
        }
        let (mut prompt, mut records) = match self.system.take() {
            Some((prompt, part)) => (prompt, part.records),
            None => {
                let records = timeline.iter().filter(|record| is_standing(record));
                (system(), records.cloned().collect())
            }
        };
        // Records that were removed must not be sent again.
        records.retain(listed);
        prompt.instructions = records
            .iter()
            .filter_map(StandingInstruction::of)
            .cloned()
            .collect();
        prompt.memories = records.iter().filter_map(Memory::of).cloned().collect();
        let wire = writer.system_prompt(&prompt)?;
        self.system = Some((prompt, Part { records, wire }));
        Ok(())
    }

    /// Rebuilds the prompt after records were removed or changed. Reuses entries that are unchanged.
    async fn rewrite<P: Writer<Wire = W>>(
        &mut self,
        timeline: &[Record],
        writer: &mut P,
    ) -> Result<(), Error> {
        let key = |record: &Record| (record.kind(), record.id().to_owned());
        let before = std::mem::take(&mut self.parts).into_iter();
        // Of an instruction or a memory, the last version counts.
        let mut known: HashMap<_, Part<W>> = before
            .filter_map(|part| Some((key(part.records.first()?), part)))
            .collect();
        let written = self.written();
        let is_entry = |record: &&Record| !is_standing(record) || is_news(&written, record);
        let entries = group(timeline.iter().filter(is_entry));
        for Grouped { entry, records } in entries {
            let part = records.first().and_then(|first| known.remove(&key(first)));
            let part = part.filter(|part| {
                let mut pairs = part.records.iter().zip(&records);
                part.records.len() == records.len() && pairs.all(|(one, other)| one.is_same(other))
            });
            let part = match part {
                Some(part) => {
                    writer.reuse(&part.wire);
                    part
                }
                None => {
                    let wire = writer.entry(&entry).await?;
                    Part { records, wire }
                }
            };
            self.parts.push(part);
        }
        Ok(())
    }
}

/// Returns the text of an instruction or a memory.
fn standing_text(record: &Record) -> Option<&str> {
    match record {
        Record::Instruction(instruction) => Some(instruction.text()),
        Record::Memory(memory) => Some(memory.text()),
        _ => None,
    }
}

/// Returns whether the text of an instruction or a memory differs from the one that was last rendered.
fn is_news(written: &HashMap<(RecordKind, &str), &str>, record: &Record) -> bool {
    written.get(&(record.kind(), record.id())).copied() != standing_text(record)
}

fn is_standing(record: &Record) -> bool {
    record.kind().is_standing()
}

fn is_listed(timeline: &[Record], known: &Record) -> bool {
    let same = |record: &Record| record.kind() == known.kind() && record.id() == known.id();
    timeline.iter().any(same)
}
