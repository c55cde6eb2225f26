//! The form that an answer must have.

use serde_json::Value;

use crate::error::{Error, ErrorCode};
use crate::schema::Schema;

/// The form of a turn's answer. Providers that support it get the schema. The answer is checked in any case.
#[derive(Clone)]
pub struct AnswerFormat {
    name: String,
    schema: Schema,
    retries: u32,
}

impl AnswerFormat {
    /// An answer that fits this schema. Default: two retries.
    pub fn new(name: impl Into<String>, schema: Schema) -> Self {
        AnswerFormat {
            name: name.into(),
            schema,
            retries: 2,
        }
    }

    /// How often the model may try again.
    #[must_use]
    pub fn retries(mut self, times: u32) -> Self {
        self.retries = times;
        self
    }

    /// A name for it, as some providers want one.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The contract.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    pub(crate) fn attempts(&self) -> u32 {
        self.retries.saturating_add(1)
    }

    /// Checks an answer like arguments.
    pub(crate) async fn check(&self, text: &str) -> Result<Value, Error> {
        let checked = self.schema.check_all(unfenced(text)).await;
        checked.map(|args| args.into_value()).map_err(|error| {
            let (mut operator, mut model) = (String::new(), String::new());
            for fault in error.faults() {
                let message = &fault.message;
                let place = match fault.pointer.as_str() {
                    "" => "the answer",
                    pointer => pointer,
                };
                operator.push_str(&format!("; {place} {message}"));
                model.push_str(&format!("\n- {place}: {message}"));
            }
            if error.more_faults() > 0 {
                model.push_str(&format!("\n- and {} more", error.more_faults()));
            }
            let message = format!("the answer is not of the form that was asked for{operator}");
            let for_model = format!("Your answer is not of the form that was asked for:{model}");
            Error::new(ErrorCode::InvalidAnswer, message)
                .with_model_text(for_model)
                .with_source(error)
        })
    }
}

/// Models like to put JSON into a code block, with words around it. If there is one block and no more, it is meant.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    if text.starts_with('{') {
        return text;
    }
    let mut parts = text.split("```");
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(block), Some(_), None) => {
            let (language, inside) = block.split_once('\n').unwrap_or(("", block));
            match language.trim().chars().all(char::is_alphanumeric) {
                true => inside.trim(),
                false => block.trim(),
            }
        }
        _ => text,
    }
}

debug_fields!(AnswerFormat { name });
