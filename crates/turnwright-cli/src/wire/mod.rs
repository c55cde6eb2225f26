//! Recordings of model servers: what their responses say, and the turns of which they are, played again.

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
