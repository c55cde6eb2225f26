//! Decides which part of a timeline is replaced.

/// When and how far a prompt is compacted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The context window.
    pub(super) window: u64,
    /// A prompt with more tokens is compacted,
    pub(super) high: u64,
    /// to this many.
    pub(super) low: u64,
    /// A timeline with more records is compacted, to half of them.
    pub(super) records: usize,
    /// The most exchanges that are shown after a compaction.
    pub(super) exchanges: usize,
}

/// The facts about a unit that the decision needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Item {
    pub(super) tokens: u64,
    pub(super) records: usize,
    /// Whether an exchange starts with it.
    pub(super) opens: bool,
    /// Whether one of its calls can still get a result.
    pub(super) is_open: bool,
    pub(super) is_summary: bool,
}

/// Which units are replaced: those before `end`, except the one at `opening`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) end: usize,
    /// The message that starts the exchange in which the cut is. It is shown after the summary.
    pub(super) opening: Option<usize>,
    /// The expected tokens of the prompt.
    pub(super) tokens: u64,
}

impl Cut {
    pub(super) fn covers(&self, at: usize) -> bool {
        at < self.end && Some(at) != self.opening
    }
}

impl Limits {
    /// Returns whether a prompt has to be compacted.
    pub(super) fn are_exceeded(&self, tokens: u64, records: usize) -> bool {
        tokens > self.high || records > self.records
    }

    /// Returns whether a compaction frees enough to be worth a new prompt prefix.
    pub(super) fn is_worth(&self, before: u64, after: u64, records: usize) -> bool {
        let freed = before.saturating_sub(after);
        before > self.window && freed > 0 || freed >= self.window / 20 || records > self.records
    }

    /// Decides where to cut. `fixed` is what the prompt has besides the units, `reserve` the most tokens of the summary.
    ///
    /// Keeps as many exchanges as fit into the lower threshold. If not even the last one fits, cuts within it, between two
    /// responses. Never covers the last unit, nor a unit with an open call or one after it. `None` if nothing can be covered.
    pub(super) fn cut(&self, items: &[Item], fixed: u64, reserve: u64) -> Option<Cut> {
        let candidates = candidates(items, fixed.saturating_add(reserve));
        let fits = |candidate: &&Candidate| {
            candidate.cut.tokens <= self.low && candidate.records <= self.records / 2
        };
        let whole = candidates
            .iter()
            .filter(|candidate| candidate.opens && candidate.exchanges <= self.exchanges);
        let start = candidates.iter().rposition(|candidate| candidate.opens);
        let within = candidates.iter().skip(start.map_or(0, |at| at + 1));
        let last_exchange = start.and_then(|at| candidates.get(at)).filter(|candidate| {
            candidate.cut.tokens <= self.high && candidate.records <= self.records
        });
        let chosen = whole.clone().find(fits);
        let chosen = chosen.or_else(|| within.clone().find(fits));
        let chosen = chosen.or(last_exchange).or(candidates.last());
        chosen.map(|candidate| candidate.cut)
    }
}

/// A possible cut.
struct Candidate {
    cut: Cut,
    /// Whether it is between two exchanges.
    opens: bool,
    /// The records and exchanges that are still shown.
    records: usize,
    exchanges: usize,
}

/// Lists the possible cuts, in order. `base` is what a prompt has besides the units that are shown.
fn candidates(items: &[Item], base: u64) -> Vec<Candidate> {
    let open = items.iter().position(|item| item.is_open);
    let last = items.len().saturating_sub(1);
    let last = open.map_or(last, |open| open.min(last));
    let mut tokens = items
        .iter()
        .fold(base, |sum, item| sum.saturating_add(item.tokens));
    let mut records: usize = items.iter().map(|item| item.records).sum();
    let mut exchanges = items.iter().filter(|item| item.opens).count();
    // The last message before the cut that starts an exchange, and how many units besides a summary are before the cut.
    let (mut opening, mut before) = (None, 0);
    let mut candidates = Vec::new();
    for (end, item) in items.iter().enumerate().take(last + 1) {
        let shown = opening.filter(|_| !item.opens);
        if before > usize::from(shown.is_some()) {
            let opening_tokens = shown.map_or(0, |(_, tokens)| tokens);
            candidates.push(Candidate {
                cut: Cut {
                    end,
                    opening: shown.map(|(at, _)| at),
                    tokens: tokens.saturating_add(opening_tokens),
                },
                opens: item.opens,
                records,
                exchanges,
            });
        }
        tokens = tokens.saturating_sub(item.tokens);
        records -= item.records;
        exchanges -= usize::from(item.opens);
        before += usize::from(!item.is_summary);
        if item.opens {
            opening = Some((end, item.tokens));
        }
    }
    candidates
}
