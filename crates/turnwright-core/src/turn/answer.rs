//! Answers of a type.

use crate::error::Error;
use crate::record::Message;
use crate::tool::context::TurnContext;

impl TurnContext {
    /// Tells the model what is wrong with its answer.
    pub(crate) async fn ask_again(&self, error: &Error) -> Result<(), Error> {
        let text = format!(
            "{}\nMend this, and answer again with nothing but the JSON object.",
            error.model_text()
        );
        self.store_message(Message::framework(text).build()?).await
    }
}
