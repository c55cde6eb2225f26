//! Typed answers.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::input::TurnInput;
use super::turn_runner::TurnRunner;
use crate::answer::AnswerFormat;
use crate::error::{Error, ErrorCode};
use crate::outcome::TurnOutcome;
use crate::panic::text_of;
use crate::schema::Typed;

/// The outcome of a turn with a typed answer. It is not a `Result`: use `run_typed(…).await.into_answer()?`.
#[doc(alias = "extract")]
#[must_use = "a turn can end without an answer: call `into_answer`"]
#[non_exhaustive]
pub struct TypedOutcome<T> {
    /// The answer, or why there is none.
    pub answer: Result<T, Error>,
    /// The outcome of the turn. Its `text` is the answer as the model sent it: JSON, wrapped if [`AnswerFormat::is_wrapped`]
    /// returns `true`.
    pub outcome: TurnOutcome,
}

impl<T> TypedOutcome<T> {
    /// Returns the answer.
    ///
    /// # Errors
    /// See [`TurnOutcome::into_answer`]. Also returns `E_INVALID_ANSWER` if no answer of the model matched the type.
    pub fn into_answer(self) -> Result<T, Error> {
        self.answer
    }

    /// Creates the outcome of a turn that could not be started.
    pub(super) fn refused(runner: &TurnRunner, input: TurnInput, error: Error) -> Self {
        TypedOutcome {
            outcome: runner.refuse(input, error.clone()),
            answer: Err(error),
        }
    }
}

impl<T: DeserializeOwned> TypedOutcome<T> {
    pub(super) async fn read(outcome: TurnOutcome, format: &AnswerFormat) -> Self {
        let answer = match outcome.error() {
            Some(error) => Err(error),
            None => format.check(&outcome.text).await.and_then(|value| {
                let message = "the answer matches its schema but cannot be deserialised";
                let error = || Error::new(ErrorCode::INVALID_ANSWER, message);
                // The deserialiser of the type is user code.
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

impl TurnRunner {
    /// Runs a turn whose answer must have a certain type: a struct, a list, an enum, a scalar, an `Option`, a tuple or a map with
    /// string keys. Specify the type as in `run_typed::<Bill>(…)`, or let it be inferred.
    ///
    /// The schema of the type is sent to the provider if it supports that. The answer is validated like arguments. If it does not
    /// match, the model reads why and retries, at most twice ([`AnswerFormat::retries`]). A type that is not an object is wrapped
    /// for the model as `{"value": …}`.
    ///
    /// ```
    /// use turnwright_core::DispatchContext;
    ///
    /// #[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
    /// struct Weather {
    ///     city: String,
    ///     #[schemars(range(min = -90, max = 60))]
    ///     celsius: i32,
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    ///     ctx.answer(r#"{"city": "Paris", "celsius": "17"}"#).await?;
    ///     Ok(())
    /// })
    /// .build()?;
    /// let weather: Weather = runner.run_typed("How warm is it in Paris?").await.into_answer()?;
    /// assert_eq!(weather, Weather { city: "Paris".into(), celsius: 17 });
    ///
    /// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    ///     ctx.answer(r#"{"value": ["Paris", "Lyon"]}"#).await?;
    ///     Ok(())
    /// })
    /// .build()?;
    /// let cities: Vec<String> = runner.run_typed("Where is it warm?").await.into_answer()?;
    /// assert_eq!(cities, ["Paris", "Lyon"]);
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Cancel safety
    /// Dropping the future cancels the turn, as for [`TurnRunner::run`].
    #[doc(alias(
        "extract",
        "extractor",
        "generateObject",
        "structured_output",
        "output_type"
    ))]
    pub async fn run_typed<T: Typed>(&self, input: impl Into<TurnInput>) -> TypedOutcome<T> {
        match AnswerFormat::of::<T>() {
            Ok(format) => self.run_formatted(input, format).await,
            Err(error) => TypedOutcome::refused(self, input.into(), error),
        }
    }

    /// Like [`TurnRunner::run_typed`], with a custom format.
    pub async fn run_formatted<T: DeserializeOwned>(
        &self,
        input: impl Into<TurnInput>,
        format: AnswerFormat,
    ) -> TypedOutcome<T> {
        let format = Arc::new(format);
        let mut input = input.into();
        let hub = self.hub(&mut input);
        let handle = self.launch(input, Ok(Some(Arc::clone(&format))), hub);
        TypedOutcome::read(handle.cancel_on_drop().outcome().await, &format).await
    }
}

impl<T> fmt::Debug for TypedOutcome<T> {
    /// Omits the answer, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedOutcome")
            .field("answered", &self.answer.is_ok())
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}
