//! `turnwright wire`: decodes and replays recordings of model servers.

mod beginning;
mod decode;
mod recording;
mod replay;
mod request;
mod tools;
mod turns;

#[cfg(test)]
mod tests;

pub(crate) use decode::decode;
pub(crate) use replay::replay;
