//! What all model protocols share: configuration, prompts, attempts with retries, reading with timeouts and limits,
//! and turning a response into records. A protocol implements [`Codec`].

mod attempt;
mod builder;
mod codec;
mod context_window;
mod execute;
mod failure;
mod item;
mod layout;
mod list_models;
mod live_output;
mod media;
mod model;
mod openai;
mod options;
mod parameters;
mod per_turn;
mod prompt;
mod provider;
mod reading;
mod sanitise;
mod server;
mod settings;
mod strict_schema;
#[cfg(test)]
pub(crate) mod tests;
mod think_tags;
mod tools;
mod wire_message;

pub use builder::ModelBuilder;
pub(crate) use codec::Codec;
pub(crate) use codec::{
    AnswerSchema, Encoded, Environment, ErrorBody, ErrorClass, HasCodec, Info, OptionType, Quirks,
    RequestParts,
};
pub(crate) use context_window::known;
pub(crate) use item::{
    Assistant, Call, CallResult, EncodedMedia, Item, Piece, User, UserPart, text_of,
};
pub(crate) use layout::{Block, Layout, Part};
pub(crate) use media::{audio_format, is_common_image, is_pdf};
pub use model::Model;
pub(crate) use openai::{OPENAI, OpenAi, parameters as openai_parameters};
pub use options::Options;
pub(crate) use options::{FUNCTION, OptionMap, provider_tool_type};
pub(crate) use per_turn::Alternatives;
pub(crate) use server::{with_ending, with_path};
pub use settings::{MediaPolicy, TypedAnswers};
pub(crate) use strict_schema::{RequestLimits, SchemaLimits, StrictRules};
pub(crate) use wire_message::{Role, WireMessage, push_field, push_list, push_list_field};
