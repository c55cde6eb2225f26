//! The budgets of a turn and its outer turns.

use tokio::time::Instant;

use crate::error::{Error, ErrorCode};
use crate::lease::TurnLease;
use crate::outcome::Limit;
use crate::record::Record;
use crate::settings::Budget;
use crate::tool::context::TurnContext;

impl TurnContext {
    pub(crate) fn budget(&self) -> &Budget {
        &self.wiring().settings().budget
    }

    /// Returns the limit that ends this turn before its next step: of its own budget or that of an outer turn.
    pub(crate) fn limit_reached(&self) -> Option<Limit> {
        let mut turns = self.and_outer();
        turns.find_map(|turn| turn.limits().reached().or_else(|| turn.tokens_used_up()))
    }

    /// Returns the token limit of this turn's own budget, if it is used up.
    fn tokens_used_up(&self) -> Option<Limit> {
        let tokens = self.budget().tokens?;
        (self.usage().total_tokens() >= tokens).then_some(Limit::Tokens(tokens))
    }

    /// Returns how many tokens are left of the budgets of this turn and its outer turns. `None` if none of them is limited.
    pub(crate) fn tokens_left(&self) -> Option<u64> {
        let left = |turn: &TurnContext| {
            let tokens = turn.budget().tokens?;
            Some(tokens.saturating_sub(turn.usage().total_tokens()))
        };
        self.and_outer().filter_map(left).min()
    }

    /// Returns the limit because of which a call proposed now could not run, if there is one. Takes nothing from the budget.
    pub(crate) fn no_call_left(&self) -> Option<Limit> {
        let own = |turn: &TurnContext| {
            let most = turn.budget().tool_calls?;
            let none = turn.limits().has_no_call(most);
            none.then_some(Limit::ToolCalls(most))
        };
        self.limit_reached()
            .or_else(|| self.and_outer().find_map(own))
    }

    /// Takes a call from the budgets of this turn and its outer turns.
    ///
    /// # Errors
    /// Returns `E_TURN_LIMIT` if one of them is used up. This turn, and the outer turns up to the one with that budget, end after
    /// the running work.
    pub(crate) fn take_call(&self, tool: &str) -> Result<CallPermit, Error> {
        let mut permit = CallPermit {
            turn: self.clone(),
            depth: 0,
            ran: false,
        };
        for turn in self.and_outer() {
            let meter = turn.limits();
            let limit = match turn.tokens_used_up().or_else(|| meter.reached()) {
                Some(limit) => limit,
                None => {
                    let most = turn.budget().tool_calls;
                    if meter.take_call(most) {
                        permit.depth += 1;
                        continue;
                    }
                    Limit::ToolCalls(most.unwrap_or_default())
                }
            };
            for ending in self.and_outer().take(permit.depth + 1) {
                ending.limits().reach(limit.clone());
            }
            return Err(not_run(tool, &limit));
        }
        Ok(permit)
    }

    /// Handles a call for which none is left: ends the turns like [`take_call`](Self::take_call).
    pub(crate) fn refuse_call(&self, tool: &str, limit: &Limit) -> Error {
        match self.take_call(tool) {
            Err(error) => error,
            // Meanwhile another call has ended without having run.
            Ok(_unused) => not_run(tool, limit),
        }
    }

    /// Returns the deadline of this turn, and the time limit.
    pub(crate) fn time_is_up_at(&self) -> Option<(Instant, std::time::Duration)> {
        // A turn that waits for its lease does not have the settings of its record yet, so those of its input apply.
        let time = match self.wiring().started_settings() {
            Some(settings) => settings.budget.time,
            None => {
                let (own, runner) = (self.wiring().input_settings(), &self.setup().settings);
                own.budget.time.or(runner.budget.time)
            }
        }?;
        Some((self.limits().ends_at(time)?, time))
    }

    /// Returns the record of a turn with a budget, if something was used since it was last written. A resumed turn continues from
    /// there. `along`: whether something else is written anyway.
    pub(crate) fn unrecorded_usage(&self, lease: &TurnLease, along: bool) -> Option<Record> {
        if self.budget().is_unlimited() {
            return None;
        }
        let timed = along && self.budget().time.is_some();
        lease.change_turn(|record| {
            let used = self.limits().mark_recorded();
            let changed = used || timed;
            if changed {
                self.limits().record(record);
            }
            changed
        })
    }

    /// Lets the outer turns record what this turn used of their budgets.
    pub(crate) async fn record_outer_usage(&self) {
        for outer in self.and_outer().skip(1) {
            if !outer.budget().is_unlimited() && outer.lease().is_some() {
                // A failed write ends that turn, and this one with it.
                drop(Box::pin(outer.write(Vec::new())).await);
            }
        }
    }
}

/// The error of a call that exceeds the budget.
fn not_run(tool: &str, limit: &Limit) -> Error {
    let message = format!("`{tool}` was not run: the turn has used up {limit}");
    let text = format!("The tool was not run because this turn has used up {limit}.");
    Error::new(ErrorCode::TURN_LIMIT, message).with_model_text(text)
}

/// A call that was taken from the budgets of a turn and its outer turns, until it ends.
pub(crate) struct CallPermit {
    turn: TurnContext,
    /// The number of turns it was taken from, innermost first.
    depth: usize,
    /// Whether the handler was started.
    pub(crate) ran: bool,
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        for turn in self.turn.and_outer().take(self.depth) {
            turn.limits().end_call(self.ran);
        }
    }
}

debug_fields!(CallPermit { ran });
