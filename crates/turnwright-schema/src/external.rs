//! Checks that need the world: a database look-up, an API call.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;

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

    /// Asks the check. A panic in it is a check that could not be made.
    pub(crate) async fn run(&self, args: &Value, faults: &mut InvalidArguments) {
        let asked = async { (self.ask)(args.clone()).await };
        let reason = match AssertUnwindSafe(asked).catch_unwind().await {
            Ok(Ok(())) => return,
            Ok(Err(rejection)) => rejection.0,
            Err(_) => Reason::Failed("the check panicked".to_owned()),
        };
        match reason {
            Reason::Fault { pointer, message } => {
                faults.push(Fault::new(pointer, &*self.name, message));
            }
            Reason::Failed(why) => {
                let message = "could not be checked; that is no fault of yours: try again later";
                faults.push(Fault::new("", &*self.name, message));
                faults.note(format!("the check `{}` failed: {why}", self.name));
            }
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
    Fault {
        pointer: String,
        message: String,
    },
    /// The check could not be made. What went wrong is for operators.
    Failed(String),
}

impl Rejection {
    /// One thing that is wrong: where, as a JSON pointer, and what, to stand after the place.
    pub fn at(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Rejection(Reason::Fault {
            pointer: pointer.into(),
            message: message.into(),
        })
    }
}

impl<E: std::error::Error> From<E> for Rejection {
    fn from(error: E) -> Self {
        Rejection(Reason::Failed(error.to_string()))
    }
}

impl fmt::Debug for ExternalCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalCheck")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
