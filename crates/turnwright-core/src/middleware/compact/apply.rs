//! Compacts a prompt.

use std::cmp::Reverse;
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Compact;
use super::estimate::{Sizes, tokens_of};
use super::plan::{Cut, Item};
use super::units::{Unit, units};
use crate::artifact::SpooledArtifact;
use crate::artifact_tools::SharedArtifactTools;
use crate::error::{BoxError, Error};
use crate::event::{Compacted, EventKind};
use crate::record::{Record, ToolCall, ToolResults};
use crate::render::Renderer;
use crate::tool::context::DispatchContext;

/// The most tokens of the framework's notice before a summary, and of its envelope.
const NOTICE_TOKENS: u64 = 160;

/// Inline results of more bytes become handles.
const LONG_RESULT: u64 = 2 * 1024;

impl Compact {
    /// Compacts the prompt if it exceeds a threshold.
    pub(super) async fn check(&self, ctx: &DispatchContext) -> Result<(), BoxError> {
        let renderer = Renderer::new(ctx.turn().secret()?);
        let sizes = ctx.turn().per_turn::<Mutex<Sizes>>();
        let mut job = Job {
            settings: self,
            ctx,
            renderer,
            // Taken out, so that no lock is held while records are rendered.
            sizes: mem::take(&mut sizes.lock()),
        };
        let done = job.run().await;
        *sizes.lock() = job.sizes;
        Ok(done?)
    }
}

/// One check of a prompt.
struct Job<'c> {
    settings: &'c Compact,
    ctx: &'c DispatchContext,
    renderer: Renderer,
    sizes: Sizes,
}

/// A timeline with its sizes.
struct Measured {
    units: Vec<Unit>,
    items: Vec<Item>,
    /// What the prompt has besides the units.
    fixed: u64,
}

impl Measured {
    fn tokens(&self) -> u64 {
        let units = self.items.iter().map(|item| item.tokens);
        units.fold(self.fixed, u64::saturating_add)
    }

    fn records(&self) -> usize {
        self.items.iter().map(|item| item.records).sum()
    }

    /// Returns the response whose results the model has not read yet, if there is one.
    fn unread(&self) -> Option<usize> {
        let last = self.units.iter().rposition(Unit::is_response)?;
        let has_calls = !self.units.get(last)?.calls().is_empty();
        has_calls.then_some(last)
    }
}

/// A call whose result becomes a handle.
struct Handle {
    unit: usize,
    call: Arc<ToolCall>,
    /// How many tokens that frees.
    freed: u64,
}

impl Job<'_> {
    async fn run(&mut self) -> Result<(), Error> {
        let timeline = self.ctx.records().timeline();
        self.sizes.retain(&timeline);
        let measured = self.measure(&timeline).await;
        let limits = self.settings.limits();
        let (before, records) = (measured.tokens(), measured.records());
        if !limits.are_exceeded(before, records) {
            return Ok(());
        }
        let unread = measured.unread();
        if unread
            .and_then(|at| measured.units.get(at))
            .is_some_and(Unit::is_open)
        {
            // A resumed turn settles its calls first. The model is asked in the next iteration.
            return Ok(());
        }
        let (mut handles, unread): (Vec<Handle>, Vec<Handle>) = self
            .handles(&measured)
            .await
            .into_iter()
            .partition(|handle| Some(handle.unit) != unread);
        let mut items = measured.items.clone();
        let mut after = before;
        for handle in &handles {
            after = after.saturating_sub(handle.freed);
            if let Some(item) = items.get_mut(handle.unit) {
                item.tokens = item.tokens.saturating_sub(handle.freed);
            }
        }
        let mut cut = None;
        if after > limits.low || records > limits.records {
            let reserve = self.longest_summary(&measured);
            cut = limits.cut(&items, measured.fixed, reserve);
            cut = cut.filter(|cut| cut.tokens < after || records > limits.records);
            after = cut.map_or(after, |cut| cut.tokens);
        }
        // Results that the model has not read yet become handles only if the prompt would not fit otherwise.
        let is_full = after > limits.window;
        for handle in unread {
            let is_shown = cut.is_none_or(|cut| !cut.covers(handle.unit));
            if is_full && after > limits.high && is_shown {
                after = after.saturating_sub(handle.freed);
                handles.push(handle);
            }
        }
        let nothing = handles.is_empty() && cut.is_none();
        if nothing || !limits.is_worth(before, after, records) {
            self.warn_if_full(before);
            return Ok(());
        }
        self.apply(&measured, handles, cut).await
    }

    async fn measure(&mut self, timeline: &[Record]) -> Measured {
        let model = &self.settings.tokens_of;
        let mut fixed = self.sizes.fixed(self.ctx, model);
        for record in timeline.iter().filter(|record| record.kind().is_standing()) {
            let tokens = self.sizes.of_record(record, &self.renderer, model).await;
            fixed = fixed.saturating_add(tokens);
        }
        let units = units(timeline);
        let mut items = Vec::with_capacity(units.len());
        for unit in &units {
            let mut item = Item {
                tokens: 0,
                records: unit.records().len(),
                opens: unit.opens(),
                is_open: unit.is_open(),
                is_summary: unit.summary().is_some(),
            };
            for record in unit.records() {
                let tokens = self.sizes.of_record(record, &self.renderer, model).await;
                item.tokens = item.tokens.saturating_add(tokens);
            }
            items.push(item);
        }
        Measured {
            units,
            items,
            fixed,
        }
    }

    /// Returns the most tokens of the summary: of the one that is written, or of the one that stays if that fails.
    fn longest_summary(&self, measured: &Measured) -> u64 {
        let written = match self.settings.summariser {
            Some(_) => self.settings.longest_summary(),
            None => 0,
        };
        let before = measured.items.iter().find(|item| item.is_summary);
        let before = before.map_or(0, |item| item.tokens);
        before.max(written.saturating_add(NOTICE_TOKENS))
    }

    /// Lists the calls with long inline results, the longest first, as calls with handles.
    async fn handles(&self, measured: &Measured) -> Vec<Handle> {
        let (turn, model) = (self.ctx.turn(), &self.settings.tokens_of);
        let mut handles = Vec::new();
        for (unit, records) in measured.units.iter().enumerate() {
            for call in records.calls() {
                let inline = Record::ToolCall(Arc::clone(call));
                let is_stored = turn.journal().records().is_stored(&inline);
                if !is_stored || !is_long(call) {
                    continue;
                }
                let call = call.with_handle();
                let handle = Record::ToolCall(Arc::clone(&call));
                let before = tokens_of(&inline, &self.renderer, model).await;
                let after = tokens_of(&handle, &self.renderer, model).await;
                if after < before {
                    let freed = before - after;
                    handles.push(Handle { unit, call, freed });
                }
            }
        }
        handles.sort_by_key(|handle| Reverse(handle.freed));
        handles
    }

    async fn apply(
        &mut self,
        measured: &Measured,
        handles: Vec<Handle>,
        cut: Option<Cut>,
    ) -> Result<(), Error> {
        let turn = self.ctx.turn();
        let summary = match cut {
            Some(cut) => {
                self.settings
                    .summary(turn, &self.renderer, &measured.units, cut)
                    .await?
            }
            None => None,
        };
        if turn.cancellation().is_cancelled() {
            // The summariser was interrupted. Nothing has changed.
            return Ok(());
        }
        // Calls that are covered stay as they are.
        let shown = |handle: &Handle| cut.is_none_or(|cut| !cut.covers(handle.unit));
        let calls = handles.into_iter().filter(shown);
        let calls: Vec<Arc<ToolCall>> = calls.map(|handle| handle.call).collect();
        let handles = calls.len() as u64;
        let record = summary.as_ref().map(|made| Arc::clone(&made.record));
        turn.write_compaction(calls, record).await?;
        turn.per_turn::<SharedArtifactTools>().refresh(turn)?;
        let after = self.measure(&self.ctx.records().timeline()).await.tokens();
        let compacted = Arc::new(Compacted {
            handles,
            records: summary.as_ref().map_or(0, |made| made.records),
            exchanges: summary.as_ref().map_or(0, |made| made.exchanges),
            summary: summary.as_ref().map(|made| made.record.id().into()),
            model: summary.and_then(|made| made.model),
            tokens_before: measured.tokens(),
            tokens_after: after,
        });
        turn.emit(|| EventKind::Compacted(compacted));
        if let Some(limit) = turn.limit_reached() {
            // The summary has used up the budget. No further request is started.
            turn.end_at_limit(limit);
        }
        self.warn_if_full(after);
        Ok(())
    }

    /// Warns once per turn if the prompt does not fit.
    fn warn_if_full(&mut self, tokens: u64) {
        let window = self.settings.window;
        if tokens > window && !mem::replace(&mut self.sizes.warned, true) {
            self.ctx.turn().warn(format!(
                "the prompt has about {tokens} tokens, the context window {window}, and nothing is left to compact: shorten \
                 the input, the instructions or the list of tools"
            ));
        }
    }
}

/// Returns whether the result of a call is inline and long, and can become a handle.
fn is_long(call: &ToolCall) -> bool {
    let ToolResults::Artifacts(artifacts) = call.results() else {
        return false;
    };
    let bytes: u64 = artifacts.iter().map(SpooledArtifact::byte_length).sum();
    call.is_inline() && !call.from_artifact_tool() && bytes > LONG_RESULT
}
