//! Texts of recovered calls for the model, which only a crash produces. The others are in `tests/it/model_texts`.

use crate::call::recovery::{left_open, not_approved};
use crate::record::{Settled, ToolResults};

fn text(settled: Settled) -> String {
    match settled.results {
        ToolResults::Failure(text) | ToolResults::Refusal(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn texts_of_recovered_calls_are_as_recorded() {
    assert_eq!(
        text(left_open(true)),
        "The process ended while the call was running. It may or may not have taken effect. Check before you repeat it."
    );
    assert_eq!(
        text(left_open(false)),
        "The process ended before the call had a result. Nothing was changed. Repeat the call if you need it."
    );
    assert_eq!(
        text(not_approved()),
        "The call was not approved before the conversation continued. Nothing was changed. Do not repeat it unless you are \
         asked to."
    );
}
