//! `turnwright wire`: decodes and replays recordings of model servers.

mod decode;
mod messages;
mod recording;
mod replay;
mod tools;
mod turns;

#[cfg(test)]
mod tests;

pub(crate) use decode::decode;
pub(crate) use replay::replay;
