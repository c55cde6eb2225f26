//! Asks the summariser.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt as _;

use super::Compact;
use super::material::parts_of;
use super::summariser::{Summariser, SummaryRequest};
use crate::artifact::text::TokenCount;
use crate::deadline::{Cut, TimeLimit, within};
use crate::error::{BoxError, Error};
use crate::panic::text_of;
use crate::record::{Record, Retrievable};
use crate::render::{Part, Renderer};
use crate::tool::context::TurnContext;
use crate::trust::TrustTier;

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
        let mut work = pin!(AssertUnwindSafe(self.summariser.summarise(request)).catch_unwind());
        let done = match within(time, self.turn.cancellation(), work.as_mut()).await {
            Ok(done) => done,
            Err(Cut::Timeout(_)) => {
                cancellation.cancel();
                return Err(format!("the summariser did not answer within {limit:?}").into());
            }
            Err(Cut::Cancelled) => return Err("the turn was cancelled".into()),
        };
        let text = match done {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => return Err(format!("the summariser failed: {error}").into()),
            Err(panic) => {
                return Err(format!("the summariser panicked: {}", text_of(panic)).into());
            }
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
    match shown.len() == text.len() {
        true => text.to_owned(),
        false => format!("{shown}…"),
    }
}
