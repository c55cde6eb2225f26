//! The tools that the model calls: the same functions on both sides.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) const SYSTEM: &str = "You look up words for people who write.";
pub(crate) const QUESTION: &str = "What is known of the word `turn`?";

pub(crate) const LOOK_UP_IS_FOR: &str = "Looks up a word and gives what is known of it.";
pub(crate) const WAIT_IS_FOR: &str = "Waits a moment, then says that it has waited.";

/// How long the waiting tool waits.
pub(crate) const MOMENT: Duration = Duration::from_millis(20);

/// Arguments of the look-up tool.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct LookUp {
    /// The word.
    word: String,
    /// Maximum number of senses.
    most: u8,
}

/// Arguments of the waiting tool.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Wait {
    /// Which of several.
    number: u32,
}

pub(crate) async fn look_up(args: LookUp) -> String {
    format!("{} senses of {} are known", args.most, args.word)
}

pub(crate) async fn wait(args: Wait) -> String {
    tokio::time::sleep(MOMENT).await;
    format!("number {} has waited", args.number)
}
