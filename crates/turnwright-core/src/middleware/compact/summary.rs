//! Makes the record of a summary.

use std::sync::Arc;

use super::Compact;
use super::material::taint_of;
use super::plan::Cut;
use super::summariser::Summariser;
use super::units::Unit;
use crate::error::Error;
use crate::record::{Coverage, Record, RecordRef, Retrievable, Retrieved};
use crate::render::Renderer;
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
        self.units.iter().flat_map(|unit| &unit.records)
    }

    /// Iterates over the records that no summary covered before.
    fn fresh(&self) -> impl DoubleEndedIterator<Item = &'u Record> {
        let units = self.units.iter().filter(|unit| unit.summary().is_none());
        units.flat_map(|unit| &unit.records)
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
        let id = |at: usize| Some(RecordRef::of(units.get(at)?.records.first()?));
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
