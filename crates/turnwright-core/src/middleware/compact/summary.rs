//! Makes summaries: asks the summariser, and creates the record.

use std::pin::pin;
use std::sync::Arc;

use super::Compact;
use super::material::{parts_of, taint_of};
use super::plan::Cut;
use super::summariser::{Summariser, SummaryRequest};
use super::units::Unit;
use crate::artifact::text::TokenCount;
use crate::deadline::{self, TimeLimit, within};
use crate::error::{BoxError, Error};
use crate::record::{Coverage, Record, RecordRef, Retrievable, Retrieved};
use crate::render::{Part, Renderer};
use crate::tool::context::TurnContext;
use crate::trust::TrustTier;

/// The text of a summary without a text. Models read the framework's notice instead.
const REMOVED: &str = "The records were removed without being summarised.";

/// A summary that was made.
pub(super) struct Made {
    pub(super) record: Arc<Retrievable>,
    /// The records and exchanges that it covers, without those of earlier summaries.
    pub(super) records: u64,
    pub(super) exchanges: u64,
    /// The model that wrote it. `None` if the records were removed without being summarised.
    pub(super) model: Option<Arc<str>>,
}

/// What a summary covers.
struct Covered<'u> {
    units: Vec<&'u Unit>,
    /// The summary before.
    previous: Option<&'u Arc<Retrievable>>,
}

impl<'u> Covered<'u> {
    fn by(cut: Cut, units: &'u [Unit]) -> Self {
        let units = units.iter().enumerate();
        let units = units.filter_map(|(at, unit)| cut.covers(at).then_some(unit));
        let units: Vec<&Unit> = units.collect();
        Covered {
            previous: units.iter().find_map(|unit| unit.summary()),
            units,
        }
    }

    fn records(&self) -> impl Iterator<Item = &'u Record> {
        self.units.iter().flat_map(|unit| unit.records())
    }

    /// Iterates over the records that no summary covered before.
    fn fresh(&self) -> impl DoubleEndedIterator<Item = &'u Record> {
        let units = self.units.iter().filter(|unit| unit.summary().is_none());
        units.flat_map(|unit| unit.records())
    }

    fn exchanges(&self) -> u64 {
        self.units.iter().filter(|unit| unit.opens()).count() as u64
    }

    /// Returns the first and the last record that no summary covered before. The last one is a stored one, if there is any: a
    /// record that only this turn has cannot be found in the store.
    fn ends(&self, turn: &TurnContext) -> Option<(RecordRef, RecordRef)> {
        let records = turn.journal().records();
        let mut stored = self.fresh().filter(|record| records.is_stored(record));
        let last = stored.next_back().or_else(|| self.fresh().next_back())?;
        Some((RecordRef::of(self.fresh().next()?), RecordRef::of(last)))
    }
}

impl Compact {
    /// Makes the summary of the units that are cut off. `None` if there are none.
    pub(super) async fn summary(
        &self,
        turn: &TurnContext,
        renderer: &Renderer,
        units: &[Unit],
        cut: Cut,
    ) -> Result<Option<Made>, Error> {
        let covered = Covered::by(cut, units);
        let Some((first, last)) = covered.ends(turn) else {
            return Ok(None);
        };
        let taint = taint_of(covered.records(), turn.outer_taint());
        let tier = taint.least_trusted().unwrap_or(TrustTier::FirstParty);
        let written = self.write(turn, renderer, covered.records()).await;
        let model = written.as_ref().map(|_| self.model());
        let before = covered.previous.and_then(|summary| summary.covers());
        let count = |of: fn(&Coverage) -> u64| before.map_or(0, of);
        let (records, exchanges) = (covered.fresh().count() as u64, covered.exchanges());
        let (summarised, omitted) = if written.is_some() {
            (records, 0)
        } else {
            (0, records)
        };
        let id = |at: usize| Some(RecordRef::of(units.get(at)?.records().first()?));
        let covers = Coverage {
            turn_id: Arc::clone(turn.shared_id()),
            // If nothing was written, the text of the summary before stays.
            model: model.clone().or_else(|| before?.model.clone()),
            exchanges: exchanges.saturating_add(count(|covers| covers.exchanges)),
            summarised: summarised.saturating_add(count(|covers| covers.summarised)),
            omitted: omitted.saturating_add(count(|covers| covers.omitted)),
            first: before.map_or(first, |covers| covers.first.clone()),
            last,
            next: id(cut.end),
            opening: cut.opening.and_then(id).map(|opening| opening.id),
        };
        let previous = covered.previous.map(|summary| summary.content());
        let text = match (written, previous) {
            (Some(text), _) => text,
            (None, Some(Retrieved::Text(text))) => text.clone(),
            (None, _) => REMOVED.to_owned(),
        };
        let record = Retrievable::summary(text, tier, covers);
        Ok(Some(Made {
            record: record
                .source("summary")
                .private(taint.is_private())
                .build()?,
            records,
            exchanges,
            model,
        }))
    }

    /// Returns the name of the model that summarises.
    fn model(&self) -> Arc<str> {
        let summariser = self.summariser.as_deref();
        let model = summariser.and_then(Summariser::model);
        model.unwrap_or("custom").into()
    }
}

/// A part of the conversation as the summariser reads it.
struct ModelRequest {
    part: Arc<Retrievable>,
    text: String,
    tokens: u64,
}

impl Compact {
    /// Lets the summariser write. `None` if there is none or it fails, which is reported.
    pub(super) async fn write<'r>(
        &self,
        turn: &TurnContext,
        renderer: &Renderer,
        records: impl Iterator<Item = &'r Record>,
    ) -> Option<String> {
        let summariser = self.summariser.as_deref()?;
        let writer = Writer {
            settings: self,
            summariser,
            turn,
            renderer,
        };
        match writer.summarise(records).await {
            Ok(text) => Some(text),
            Err(_) if turn.cancellation().is_cancelled() => None,
            Err(error) => {
                turn.warn(format!(
                    "the oldest part of the conversation was removed from the prompt without a summary: {error}"
                ));
                None
            }
        }
    }
}

/// Writes one summary.
struct Writer<'c> {
    settings: &'c Compact,
    summariser: &'c dyn Summariser,
    turn: &'c TurnContext,
    renderer: &'c Renderer,
}

impl Writer<'_> {
    async fn summarise<'r>(
        &self,
        records: impl Iterator<Item = &'r Record>,
    ) -> Result<String, BoxError> {
        let most = self.settings.longest_summary();
        let mut parts = Vec::new();
        for record in records {
            for part in parts_of(record).await? {
                parts.push(self.shown(part).await);
            }
        }
        let input: u64 = parts.iter().map(|part| part.tokens).sum();
        let left = self.turn.tokens_left();
        if left.is_some_and(|left| left < input.saturating_add(most)) {
            return Err("the budget of the turn has too few tokens left for a summary".into());
        }
        // A long history does not fit into one request. Each further request gets the summary so far.
        let room = self.settings.longest_request().max(most);
        let mut parts = parts.into_iter().peekable();
        let mut tier = TrustTier::FirstParty;
        let mut summary = None;
        while parts.peek().is_some() {
            let (mut chunk, mut tokens) = (Vec::new(), 0_u64);
            if let Some(text) = summary.take() {
                chunk.push(self.shown(so_far(text, tier)?).await);
            }
            let fits =
                |tokens: u64, part: &ModelRequest| tokens == 0 || tokens + part.tokens <= room;
            while let Some(part) = parts.next_if(|part| fits(tokens, part)) {
                tokens = tokens.saturating_add(part.tokens.max(1));
                tier = tier.min(part.part.tier());
                chunk.push(part);
            }
            summary = Some(self.ask(chunk, most).await?);
        }
        summary.ok_or_else(|| "there is nothing to summarise".into())
    }

    async fn shown(&self, part: Arc<Retrievable>) -> ModelRequest {
        let rendered = self.renderer.retrievable(&part).await;
        let text = rendered.into_iter().find_map(|part| match part {
            Part::Text(text) => Some(text),
            Part::Media(_) => None,
        });
        let text = text.unwrap_or_default();
        let tokens = TokenCount::of_text(&text, &self.settings.tokens_of).tokens;
        ModelRequest { part, text, tokens }
    }

    /// Asks once, within the timeout.
    async fn ask(&self, chunk: Vec<ModelRequest>, most: u64) -> Result<String, BoxError> {
        let cancellation = self.turn.cancellation().child();
        let texts: Vec<&str> = chunk.iter().map(|part| part.text.as_str()).collect();
        let request = SummaryRequest {
            text: texts.join("\n\n"),
            parts: chunk.iter().map(|part| Arc::clone(&part.part)).collect(),
            max_tokens: most,
            turn: self.turn.clone(),
            cancellation: cancellation.clone(),
        };
        let limit = self.settings.timeout;
        let time = TimeLimit::from_now(Some(limit));
        let mut work = pin!(self.summariser.summarise(request));
        let text = match within(time, self.turn.cancellation(), work.as_mut()).await {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => return Err(format!("the summariser failed: {error}").into()),
            Err(deadline::Cut::Timeout(_)) => {
                cancellation.cancel();
                return Err(format!("the summariser did not answer within {limit:?}").into());
            }
            Err(deadline::Cut::Cancelled) => return Err("the turn was cancelled".into()),
        };
        let text = text.trim();
        if text.is_empty() {
            Err("the summariser returned no text".into())
        } else {
            Ok(capped(text, most, &self.settings.tokens_of))
        }
    }
}

/// Returns the summary of the parts so far, for the next request.
fn so_far(text: String, tier: TrustTier) -> Result<Arc<Retrievable>, Error> {
    Retrievable::text(text, tier)
        .id("summary-so-far")
        .source("summary of the conversation before")
        .build()
}

/// Returns at most this many tokens of a text.
fn capped(text: &str, most: u64, model: &str) -> String {
    let mut shown = text;
    loop {
        let tokens = TokenCount::of_text(shown, model).tokens;
        if tokens <= most {
            break;
        }
        // At least a byte less each time.
        let share = shown.len() as u128 * u128::from(most) / u128::from(tokens);
        let end = shown.floor_char_boundary(usize::try_from(share).unwrap_or(0));
        shown = shown.get(..end).unwrap_or_default();
    }
    if shown.len() == text.len() {
        text.to_owned()
    } else {
        format!("{shown}…")
    }
}
