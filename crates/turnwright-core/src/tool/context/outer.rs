//! What a turn under a call inherits from the turn of that call.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::TurnContext;
use super::wiring::Setup;
use crate::error::{Error, ErrorCode};
use crate::principal::Principal;
use crate::record::{Exposure, TurnRecord};
use crate::render::Taint;
use crate::tool::Tool;
use crate::tool::approval::Approver;
use crate::tool::context::ToolContext;
use crate::trust::TrustTier;

/// The outer turn of a turn that runs under a call.
pub(crate) struct Outer {
    pub(crate) turn: TurnContext,
    /// The id of the outer call.
    pub(crate) call: Arc<str>,
    /// The tools whose calls the turn runs under, outermost first.
    tools: Vec<Arc<str>>,
    /// The setups whose policies apply, outermost first. Empty if the input sets
    /// [`without_outer_rules`](crate::TurnInput::without_outer_rules).
    setups: Vec<Arc<Setup>>,
    /// The taint of the outer prompt when the turn was started. `None` if it is not inherited.
    taint: Option<Taint>,
    /// What the call has read.
    reads: Arc<Reads>,
}

impl Outer {
    pub(crate) fn new(call: &ToolContext, inherit_rules: bool) -> Self {
        let turn = call.turn().clone();
        let mut tools = turn.outer_tools().to_vec();
        tools.push(call.tool().name().into());
        let setups = turn.setups().filter(|_| inherit_rules).cloned().collect();
        let taint = inherit_rules.then(|| {
            let mut taint = turn.taint().of_outer_turn();
            // The handler wrote the task. Whether its own tool is untrusted says nothing of that: most tools are. What other
            // turns under the call have read does.
            let reads = call.reads();
            if reads.so_far().private {
                taint.add_private();
            }
            if let Some(tier) = reads.added.lock().tier {
                taint.add(tier);
            }
            taint
        });
        Outer {
            turn,
            call: call.id().into(),
            tools,
            setups,
            taint,
            reads: Arc::clone(call.reads()),
        }
    }
}

/// What a call has read: what its labels say, the results that it queried, and what turns under it had in their prompts. Its result
/// may contain all of it, and so may the records that its handler writes.
pub(crate) struct Reads {
    /// What the labels of its tool say.
    labels: Exposure,
    /// What it has queried, and what turns under it had in their prompts.
    added: Mutex<Exposure>,
    /// What the outer call has read. All that this call reads is added to it at once, because its handler may pass it on there.
    outer: Option<Arc<Reads>>,
}

impl Reads {
    pub(crate) fn of(tool: &Tool, turn: &TurnContext) -> Arc<Self> {
        let labels = Exposure {
            tier: (!tool.is_trusted()).then_some(TrustTier::ThirdPartyPublic),
            private: tool.reads_private(),
        };
        Arc::new(Reads {
            labels,
            added: Mutex::default(),
            outer: turn.outer().map(|outer| Arc::clone(&outer.reads)),
        })
    }

    pub(crate) fn so_far(&self) -> Exposure {
        self.labels.and(*self.added.lock())
    }

    pub(crate) fn add(&self, read: Exposure) {
        let mut added = self.added.lock();
        *added = added.and(read);
        drop(added);
        if let Some(outer) = &self.outer {
            outer.add(read);
        }
    }

    pub(crate) fn add_private(&self) {
        self.add(Exposure {
            private: true,
            ..Exposure::default()
        });
    }
}

/// What the running calls of a turn read. Code that holds the context of a call counts as running.
#[derive(Default)]
pub(crate) struct RunningReads(Mutex<Vec<Weak<Reads>>>);

impl RunningReads {
    pub(crate) fn begin(&self, reads: &Arc<Reads>) {
        if let Some(outer) = &reads.outer {
            outer.add(reads.so_far());
        }
        let mut running = self.0.lock();
        running.retain(|reads| reads.strong_count() > 0);
        running.push(Arc::downgrade(reads));
    }

    /// Returns what all of them have read so far.
    pub(crate) fn so_far(&self) -> Exposure {
        let running = self.0.lock();
        let reads = running.iter().filter_map(Weak::upgrade);
        reads.fold(Exposure::default(), |all, reads| all.and(reads.so_far()))
    }
}

impl TurnContext {
    /// Tracks what a call that starts now reads.
    pub(crate) fn begin_reads(&self, reads: &Arc<Reads>) {
        self.wiring().running_reads.begin(reads);
    }

    /// Lets the outer call know what this turn has in its prompt.
    pub(crate) fn report_to_outer_call(&self) {
        if let Some(outer) = self.outer() {
            outer.reads.add(self.exposure());
        }
    }

    /// Returns the names of the tools whose calls this turn runs under, outermost first: see
    /// [`TurnInput::under_call`](crate::TurnInput::under_call). Empty for a turn that does not run under a call.
    #[must_use]
    pub fn outer_tools(&self) -> &[Arc<str>] {
        self.outer().map_or(&[], |outer| &outer.tools)
    }

    /// Iterates over the setups whose policies apply to the calls of this turn: those of the outer turns, outermost first, then
    /// its own.
    pub(crate) fn setups(&self) -> impl Iterator<Item = &Arc<Setup>> {
        let outer = self.outer().map(|outer| outer.setups.iter());
        outer.into_iter().flatten().chain([self.setup()])
    }

    /// Returns the principals for whom a call of this turn acts, as the turn at this level of [`setups`](Self::setups) sees it: its
    /// own and those of the turns under it. `None` if one of the turns has no principal.
    pub(crate) fn principals_from(&self, level: usize) -> Option<Vec<Principal>> {
        let turns = self.setups().count().saturating_sub(level);
        let principals = self.and_outer().take(turns);
        let mut principals: Vec<_> = principals
            .map(|turn| turn.principal().cloned())
            .collect::<Option<_>>()?;
        principals.dedup();
        Some(principals)
    }

    /// Returns the approver for a policy of this level: that of the same level, or else of the nearest outer one. Never an inner
    /// one, which the author of the policy does not know.
    pub(crate) fn approver_of(&self, level: usize) -> Option<&Arc<dyn Approver>> {
        let up_to = self.setups().take(level.saturating_add(1));
        up_to.filter_map(|setup| setup.approver.as_ref()).last()
    }

    /// Returns the taint that was inherited from outside.
    pub(crate) fn outer_taint(&self) -> Option<Taint> {
        let inherited = self.outer().and_then(|outer| outer.taint.clone());
        match (inherited, self.wiring().taint_before.get()) {
            (Some(mut taint), Some(before)) => {
                taint.merge(before);
                Some(taint)
            }
            (taint, before) => taint.or_else(|| before.cloned()),
        }
    }

    /// Stores in the turn's record what was inherited, so that a resumed turn has it too.
    pub(crate) fn note_outer(&self, record: &mut TurnRecord) {
        let taint = self.outer_taint();
        record.outer_private = taint.as_ref().is_some_and(Taint::is_private);
        record.outer_tiers = taint.map(|taint| taint.tiers().collect());
    }

    /// Restores what the record of a resumed turn inherited from its outer turns.
    ///
    /// # Errors
    /// Returns `E_TURN_NOT_RESUMABLE` if policies of an outer turn applied to it, and there is no outer turn now.
    pub(crate) fn restore_outer(&self, record: &TurnRecord) -> Result<(), Error> {
        let Some(tiers) = record
            .outer_tiers
            .as_ref()
            .filter(|_| self.parts().inherit_rules)
        else {
            return Ok(());
        };
        if self.outer().is_none() {
            let message = "the turn ran under a call of another turn, whose policies applied to it: resume it under a \
                           call with `TurnInput::resume(id).under_call(&ctx)`, or without them with \
                           `TurnInput::resume(id).without_outer_rules()`";
            return Err(Error::new(ErrorCode::TURN_NOT_RESUMABLE, message));
        }
        let mut taint = Taint::default();
        tiers.iter().for_each(|tier| taint.add(*tier));
        if record.outer_private {
            taint.add_private();
        }
        // A turn is resumed once.
        let _ = self.wiring().taint_before.set(taint);
        Ok(())
    }
}
