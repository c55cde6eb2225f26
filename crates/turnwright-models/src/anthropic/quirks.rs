//! Quirks of models and servers, learned from their errors.

use crate::engine::{ErrorBody, Quirks};

/// The model accepts neither a temperature nor `top_p`.
pub(super) const NO_SAMPLING: Quirks = Quirks::bit(0);
/// The model accepts a temperature or `top_p`, not both.
pub(super) const ONE_SAMPLING: Quirks = Quirks::bit(1);
/// The model has no token budget for thinking.
pub(super) const ADAPTIVE_THINKING: Quirks = Quirks::bit(2);
/// The model has no adaptive thinking.
pub(super) const BUDGETED_THINKING: Quirks = Quirks::bit(3);
/// The model has no effort.
pub(super) const NO_EFFORT: Quirks = Quirks::bit(4);

/// The names of the quirks, by bit.
pub(super) const NAMES: &[&str] = &[
    "no temperature",
    "temperature or top_p",
    "adaptive thinking only",
    "thinking budget only",
    "no effort",
];

/// Returns the quirk that an error reveals.
pub(super) fn from_error(error: &ErrorBody<'_>) -> Quirks {
    let says = |text: &str| error.message.contains(text);
    if error.status != 400 {
        return Quirks::default();
    }
    let sampling = says("temperature") || says("top_p");
    let refused = says("not supported") || says("does not support");
    let both = says("cannot both");
    Quirks::default()
        .with_if(ONE_SAMPLING, sampling && both)
        .with_if(
            NO_SAMPLING,
            sampling && !both && (refused || says("deprecated")),
        )
        .with_if(ADAPTIVE_THINKING, says("thinking.type.enabled") && refused)
        .with_if(
            BUDGETED_THINKING,
            says("adaptive") && refused && !says("thinking.type.enabled"),
        )
        .with_if(
            NO_EFFORT,
            says("effort") && refused && !says("thinking.type"),
        )
}
