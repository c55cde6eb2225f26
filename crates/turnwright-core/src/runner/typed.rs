//! Answers of a Rust type.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::input::TurnInput;
use super::turn_runner::TurnRunner;
use crate::answer::AnswerFormat;
use crate::error::{Error, ErrorCode};
use crate::outcome::TurnOutcome;
use crate::panic::text_of;
use crate::schema::Schema;

/// What came of a turn that was asked for an answer of a type.
#[non_exhaustive]
pub struct TypedOutcome<T> {
    /// The answer, or why there is none.
    pub answer: Result<T, Error>,
    /// The turn.
    pub outcome: TurnOutcome,
}

impl<T> TypedOutcome<T> {
    /// The answer, or why there is none.
    ///
    /// # Errors
    /// As [`TurnOutcome::into_answer`], and `E_INVALID_ANSWER` if the model gave none that fits.
    pub fn into_answer(self) -> Result<T, Error> {
        self.answer
    }
}

impl TurnRunner {
    /// Runs a turn whose answer must be of a type. Its schema goes to the provider where that is possible; the answer is
    /// checked like arguments, and what is wrong with it goes back to the model, twice at most. The type is an object: say it
    /// by `run_typed::<Bill>(…)`, or where the answer goes.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, TurnRunner};
    ///
    /// #[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
    /// struct Weather {
    ///     city: String,
    ///     #[schemars(range(min = -90, max = 60))]
    ///     celsius: i32,
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let runner = TurnRunner::builder(|ctx: DispatchContext| async move {
    ///     ctx.answer(r#"{"city": "Paris", "celsius": "17"}"#).await?;
    ///     Ok(())
    /// })
    /// .build()?;
    /// let weather: Weather = runner.run_typed("How warm is it in Paris?").await.into_answer()?;
    /// assert_eq!(weather, Weather { city: "Paris".into(), celsius: 17 });
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    pub async fn run_typed<T: JsonSchema + DeserializeOwned>(
        &self,
        input: impl Into<TurnInput>,
    ) -> TypedOutcome<T> {
        let format = Schema::of::<T>()
            .map(|schema| AnswerFormat::new(T::schema_name().into_owned(), schema));
        match format {
            Ok(format) => self.run_formatted(input, format).await,
            Err(error) => {
                let error = Error::from(error);
                let outcome = self.refuse(input.into(), error.clone());
                TypedOutcome {
                    answer: Err(error),
                    outcome,
                }
            }
        }
    }

    /// As [`TurnRunner::run_typed`], with a form of your own making.
    pub async fn run_formatted<T: DeserializeOwned>(
        &self,
        input: impl Into<TurnInput>,
        format: AnswerFormat,
    ) -> TypedOutcome<T> {
        let format = Arc::new(format);
        let handle = self.launch(input.into(), Some(Arc::clone(&format)), None);
        let outcome = handle.outcome().await;
        let answer = match outcome.error() {
            Some(error) => Err(error),
            None => format.check(&outcome.text).await.and_then(|value| {
                let message = "the answer fits its schema but not the type behind it";
                let error = || Error::new(ErrorCode::InvalidAnswer, message);
                // A type's own deserialiser is foreign code.
                let read = || serde_json::from_value(value);
                match catch_unwind(AssertUnwindSafe(read)) {
                    Ok(read) => read.map_err(|why| error().with_source(why)),
                    Err(panic) => Err(error().with_source(text_of(panic))),
                }
            }),
        };
        TypedOutcome { answer, outcome }
    }
}

impl<T> fmt::Debug for TypedOutcome<T> {
    /// The answer may be secret: it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedOutcome")
            .field("answered", &self.answer.is_ok())
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}
