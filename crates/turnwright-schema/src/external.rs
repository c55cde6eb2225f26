//! Checks that need the world: a database look-up, an API call.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;

use super::Schema;
use super::fault::{Fault, InvalidArguments};

type Answer = Pin<Box<dyn Future<Output = Result<(), Rejection>> + Send>>;

/// A check of the author's own, asked only after the document accepted the arguments.
#[derive(Clone)]
pub struct ExternalCheck {
    name: Arc<str>,
    ask: Arc<dyn Fn(Value) -> Answer + Send + Sync>,
}

impl ExternalCheck {
    #[doc(hidden)]
    pub fn new<F, Fut>(name: Arc<str>, check: F) -> Self
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), Rejection>> + Send + 'static,
    {
        ExternalCheck {
            name,
            ask: Arc::new(move |args| Box::pin(check(args))),
        }
    }
}

/// Why an external check says no.
///
/// `?` turns any error into one: the model then reads only that the check could not be made.
///
/// ```
/// use turnwright_schema::{Rejection, Schema, string};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let schema = Schema::object()
///     .field("city", string().required())
///     .build()?
///     .external("city_exists", |args| async move {
///         match args["city"].as_str() {
///             Some("Paris") => Ok(()),
///             _ => Err(Rejection::at("/city", "is not a city that we know")),
///         }
///     });
/// assert!(schema.check_all(r#"{"city": "Paris"}"#).await.is_ok());
/// let error = schema.check_all(r#"{"city": "Atlantis"}"#).await.unwrap_err();
/// assert_eq!(error.faults()[0].rule, "city_exists");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
///
/// It is no `std::error::Error` itself, so that `?` can make one from any.
#[derive(Debug)]
pub struct Rejection(Reason);

#[derive(Debug)]
enum Reason {
    Faults(Vec<(String, String)>),
    /// The check could not be made. What went wrong is for operators.
    Failed(String),
}

impl Rejection {
    /// One thing that is wrong: where, as a JSON pointer, and what, to stand after the place.
    pub fn at(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Rejection(Reason::Faults(vec![(pointer.into(), message.into())]))
    }

    /// One more thing that is wrong.
    #[must_use]
    pub fn and_at(mut self, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        if let Reason::Faults(faults) = &mut self.0 {
            faults.push((pointer.into(), message.into()));
        }
        self
    }
}

impl<E: std::error::Error> From<E> for Rejection {
    fn from(error: E) -> Self {
        Rejection(Reason::Failed(error.to_string()))
    }
}

impl Schema {
    /// The same contract with one more check that needs the world. It gets the checked arguments and what it
    /// captured; it is asked only if the document accepts them; `name` becomes the rule of its faults.
    #[must_use]
    pub fn external<F, Fut>(mut self, name: impl Into<String>, check: F) -> Self
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), Rejection>> + Send + 'static,
    {
        self.external
            .push(ExternalCheck::new(name.into().into(), check));
        self
    }

    /// The same contract with one more check.
    #[doc(hidden)]
    pub fn checked_by(mut self, check: ExternalCheck) -> Self {
        // Schemas that are made often have one: no room for more is held.
        self.external.reserve_exact(1);
        self.external.push(check);
        self
    }

    #[doc(hidden)]
    pub fn has_external(&self) -> bool {
        !self.external.is_empty()
    }

    /// Asks every external check; a panic in one is a check that could not be made.
    #[doc(hidden)]
    pub async fn ask_external(&self, args: &Value) -> Result<(), InvalidArguments> {
        let mut faults = InvalidArguments::default();
        for check in &self.external {
            let asked = async { (check.ask)(args.clone()).await };
            let rejection = match AssertUnwindSafe(asked).catch_unwind().await {
                Ok(Ok(())) => continue,
                Ok(Err(rejection)) => rejection.0,
                Err(_) => Reason::Failed("the check panicked".to_owned()),
            };
            match rejection {
                Reason::Faults(found) => {
                    for (pointer, message) in found {
                        faults.push(Fault::new(pointer, &*check.name, message));
                    }
                }
                Reason::Failed(why) => {
                    let message =
                        "could not be checked; that is no fault of yours: try again later";
                    faults.push(Fault::new("", &*check.name, message));
                    faults.note(format!("the check `{}` failed: {why}", check.name));
                }
            }
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }
}

impl fmt::Debug for ExternalCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalCheck")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
