//! x
/// x
#[derive(Debug)]
pub struct ChatCompletions;
