//! The requirements for a model, each with its check.

mod answers;
mod attempts;
mod calls;
mod cancel;
mod cut_off;
mod envelopes;
mod media;
mod prefix;
mod responses;
mod secrets;
mod usage;

use std::pin::Pin;

use super::agent;
use super::exchange::Exchange;
use crate::conformance::Outcome;

type Checking<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// A requirement and its check.
pub(super) struct Check {
    pub(super) requirement: &'static str,
    pub(super) run: for<'a> fn(&'a Exchange<'a>) -> Checking<'a>,
}

macro_rules! checks {
    ($($requirement:literal => $module:ident::$check:ident;)+) => {
        /// All requirements.
        pub(super) const ALL: &[Check] = &[$(
            Check { requirement: $requirement, run: |exchange| Box::pin($module::$check(exchange)) },
        )+];
    };
}

checks! {
    "a streamed response is shown in pieces and becomes the answer" => responses::streamed;
    "a complete response gives the same answer as a streamed one" => responses::complete;
    "text can have any characters" => responses::any_characters;
    "reasoning becomes thoughts and is no part of the answer" => responses::reasoning;
    "a refusal is not an answer" => responses::refusal;
    "the schema of a tool is sent unchanged" => calls::schemas;
    "a call runs, and its result reaches the model" => calls::one;
    "calls of one response all run, and their results return in order" => calls::parallel;
    "a call without arguments has an empty object" => calls::no_arguments;
    "a call with invalid arguments does not run, and the model can correct it" => calls::invalid;
    "reasoning goes back to the server with the calls that it led to" => calls::reasoning;
    "a later turn sends the complete exchange again" => calls::later_turn;
    "a call of a response that was cut off never runs" => cut_off::calls;
    "a call of a response whose connection broke never runs" => cut_off::broken_connection;
    "a call of a response without an end never runs" => cut_off::no_end;
    "an answer that was cut off is not an answer" => cut_off::answer;
    "a busy server is asked again" => attempts::busy;
    "a response that breaks is discarded and requested again" => attempts::restarted;
    "the number of attempts is limited" => attempts::limited;
    "a rejected request is not sent again" => attempts::rejected;
    "a redirect is not followed" => attempts::redirect;
    "a silent server is a timeout" => attempts::silence;
    "an endless event is not read to its end" => attempts::endless;
    "the key is sent to the server" => secrets::sent;
    "the key is not in errors" => secrets::errors;
    "the key is not in the output of Debug" => secrets::debug;
    "the key is not in events" => secrets::events;
    "each prompt starts with the one before" => prefix::within_a_model;
    "another model object sends the same prompt" => prefix::across_models;
    "a typed answer is validated, and an invalid one is corrected" => answers::validated;
    "the schema of a typed answer reaches the model" => answers::schema;
    "images are sent" => media::images;
    "the name of a user is inside an envelope" => media::names;
    "tool results are inside envelopes" => envelopes::results;
    "text of a tool cannot end its envelope" => envelopes::forged;
    "tokens are counted" => usage::counted;
    "cached tokens are part of the input" => usage::cached;
    "the tokens of all requests are added up" => usage::added;
    "a cancelled turn closes its connection" => cancel::connection;
    "the agent runs approved calls, and no denied ones" => agent::approvals;
    "the agent queries a large result as an artifact" => agent::artifacts;
    "the agent gives a typed answer after tool calls" => agent::typed;
    "a suspended turn is continued by another runner" => agent::suspended;
    "a failed turn is resumed, and no call runs twice" => agent::resumed;
    "a cancelled turn leaves a conversation that can continue" => agent::cancelled;
    "the agent does all of this in one conversation" => agent::everything;
}
