//! Keeps prompts within the context window.
//!
//! Compaction is a record and a rule for loading. A summary is a `Retrievable` that names the last record it covers and
//! the first it does not. The turn that writes it, a resumed turn and the history of later turns apply the same rule,
//! so their prompts are equal, and no original is deleted. Retrievables already have a source, a trust tier, an
//! envelope and taint, which a new kind of record would have to repeat. There are two thresholds and no sliding window:
//! the prefix of the prompt changes only when a compaction frees a part of the window.
//!
//! A summary has the lowest tier of what it covers. A model that summarises can be persuaded, so its words are no more
//! trusted than what it has read.

mod apply;
mod estimate;
mod material;
mod plan;
mod summariser;
mod summary;
mod units;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::dispatch::Executor;
use crate::error::BoxError;
use crate::pipeline::{Middleware, Next};
use crate::tool::context::DispatchContext;
use plan::Limits;
use summariser::ByExecutor;
pub use summariser::{Summariser, SummaryRequest};

/// Middleware that keeps prompts within the context window. See [`compact`].
#[derive(Clone)]
#[must_use = "middleware does nothing until a runner has it"]
pub struct Compact {
    window: u64,
    above: Option<u64>,
    down_to: Option<u64>,
    keep_last: usize,
    max_records: usize,
    summariser: Option<Arc<dyn Summariser>>,
    summary_tokens: Option<u64>,
    request_tokens: Option<u64>,
    timeout: Duration,
    tokens_of: String,
}

/// Keeps prompts within a context window of this many tokens. Add it to the dispatch input.
///
/// A prompt above 80 % of the window is compacted to 50 %, in this order:
///
/// 1. Long tool results become handles. The model reads them with artifact tools.
/// 2. The oldest exchanges are replaced by a summary. The model of [`summarise_with`](Compact::summarise_with) writes it. Without
///    one, the exchanges are removed, and a note tells the model how much is missing.
/// 3. If the last exchange alone is too long, its oldest responses are replaced too. Its first message stays.
///
/// The system prompt, standing instructions, memories and the last exchanges stay as they are. A response of the model is never
/// separated from its calls, nor a call from its result. Calls that are still open are never replaced. Between two compactions
/// the prompt only grows, so the provider's prompt cache stays valid.
///
/// The summary is stored as a [`Retrievable`](crate::record::Retrievable) with its [`Coverage`](crate::record::Coverage): what it
/// replaces, and the model that wrote it. Its trust tier is the lowest of everything that it covers, so text of third parties is
/// in an untrusted envelope after it was summarised, too. The replaced records stay in the store. Later turns and other processes
/// start with the summary, and a resumed turn has the same prompt.
///
/// If the summariser fails or takes too long, the turn continues as without one, with a
/// [`Warning`](crate::event::EventKind::Warning) event. A summary that was made before stays. Its tokens count for the turn's
/// usage and budget. Each compaction is a [`Compacted`](crate::event::Compacted) event.
///
/// Use it with [`History::all`](crate::runner::History::all), the default. A history that ends before the summary does not load
/// it.
///
/// ```
/// use turnwright_core::middleware::compact;
/// use turnwright_core::record::Retrievable;
/// use turnwright_core::{BoxError, DispatchContext};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
///     ctx.answer("word ".repeat(200)).await?;
///     Ok(())
/// }
/// async fn small_model(ctx: DispatchContext) -> Result<(), BoxError> {
///     ctx.answer("They talked about words.").await?;
///     Ok(())
/// }
/// let runner = turnwright_core::runner(model)
///     .dispatch_input(compact(4_000).summarise_with(small_model))
///     .build()?;
/// let mut chat = runner.conversation("chat-1");
/// for _ in 0..20 {
///     chat.say("Go on.").await.into_answer()?;
/// }
/// let storage = runner.storage().store();
/// let conversation = turnwright_core::store::ConversationId::new("chat-1");
/// let query = turnwright_core::store::Query::all().kind(turnwright_core::record::RecordKind::Retrievable);
/// let summaries = storage.load(&conversation, &query).await?;
/// assert!(!summaries.records.is_empty());
/// # Ok::<(), BoxError>(()) }).unwrap();
/// ```
pub fn compact(context_window: u64) -> Compact {
    Compact {
        window: context_window,
        above: None,
        down_to: None,
        keep_last: usize::MAX,
        max_records: 1_500,
        summariser: None,
        summary_tokens: None,
        request_tokens: None,
        timeout: Duration::from_secs(60),
        tokens_of: String::new(),
    }
}

impl Compact {
    /// Summarises with a model. Any executor works, for example a cheaper model than that of the runner. It gets the parts of the
    /// conversation in envelopes, and no tools.
    ///
    /// Default: none; nothing is summarised.
    pub fn summarise_with(self, executor: impl Executor + 'static) -> Self {
        self.summarise_by(ByExecutor(executor))
    }

    /// Summarises with your own code: see [`Summariser`].
    ///
    /// ```
    /// use turnwright_core::middleware::{SummaryRequest, compact};
    ///
    /// let by_hand = compact(32_000).summarise_by(|request: SummaryRequest| async move {
    ///     Ok(format!("{} parts were here.", request.parts.len()))
    /// });
    /// ```
    pub fn summarise_by(mut self, summariser: impl Summariser + 'static) -> Self {
        self.summariser = Some(Arc::new(summariser));
        self
    }

    /// Shows at most this many exchanges after a compaction. The current one always stays.
    ///
    /// Default: as many as fit.
    pub fn keep_last(mut self, exchanges: usize) -> Self {
        self.keep_last = exchanges.max(1);
        self
    }

    /// Compacts prompts with more than this many tokens.
    ///
    /// Default: 80 % of the context window.
    pub fn above(mut self, tokens: u64) -> Self {
        self.above = Some(tokens);
        self
    }

    /// Compacts to this many tokens. The larger the distance to [`above`](Compact::above), the fewer compactions.
    ///
    /// Default: 50 % of the context window.
    pub fn down_to(mut self, tokens: u64) -> Self {
        self.down_to = Some(tokens);
        self
    }

    /// Sets the most tokens of a summary. A longer one is cut.
    ///
    /// Default: 1/16 of the context window, at most 4,000.
    pub fn summary_tokens(mut self, tokens: u64) -> Self {
        self.summary_tokens = Some(tokens.max(1));
        self
    }

    /// Sets how many tokens of the conversation the summariser gets in one request. A longer part is summarised in several
    /// requests. Set it if the context window of the summarising model is smaller.
    ///
    /// Default: 70 % of the context window.
    pub fn request_tokens(mut self, tokens: u64) -> Self {
        self.request_tokens = Some(tokens);
        self
    }

    /// Sets how long the summariser may take for one request.
    ///
    /// Default: 60 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Also compacts timelines with more than this many records, to half of them. Set it lower than
    /// [`History::max_records`](crate::runner::History::max_records), so that the summary is always loaded.
    ///
    /// Default: 1,500.
    pub fn max_records(mut self, records: usize) -> Self {
        self.max_records = records;
        self
    }

    /// Counts tokens with the encoding of this model, as far as it is known: see
    /// [`TokenCount::of_text`](crate::artifact::text::TokenCount::of_text).
    ///
    /// Default: an estimate that is the same for every model.
    pub fn tokens_of(mut self, model: impl Into<String>) -> Self {
        self.tokens_of = model.into();
        self
    }

    fn limits(&self) -> Limits {
        let high = self.above.unwrap_or(share(self.window, 80));
        let high = high.min(self.window);
        let low = self.down_to.unwrap_or(share(self.window, 50));
        Limits {
            window: self.window,
            high,
            low: low.min(high),
            records: self.max_records,
            exchanges: self.keep_last,
        }
    }

    /// Returns how many tokens of the conversation the summariser gets in one request.
    fn longest_request(&self) -> u64 {
        self.request_tokens.unwrap_or(share(self.window, 70))
    }

    /// Returns the most tokens of a summary.
    fn longest_summary(&self) -> u64 {
        let usual = (self.window / 16).clamp(1, 4_000);
        self.summary_tokens.unwrap_or(usual)
    }
}

/// Returns a percentage without overflow.
fn share(tokens: u64, percent: u64) -> u64 {
    tokens / 100 * percent + tokens % 100 * percent / 100
}

#[async_trait]
impl Middleware<DispatchContext> for Compact {
    async fn handle(
        &self,
        ctx: DispatchContext,
        next: Next<DispatchContext>,
    ) -> Result<(), BoxError> {
        self.check(&ctx).await?;
        next.run().await
    }

    fn name(&self) -> &'static str {
        "compact"
    }
}

debug_fields!(Compact {
    window,
    above,
    down_to,
    keep_last
});
