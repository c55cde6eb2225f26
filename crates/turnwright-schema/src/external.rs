//! External checks: checks that need a database, an API or other outside state.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::Value;

use super::fault::{Fault, InvalidArguments};

type Answer = Pin<Box<dyn Future<Output = Result<(), Rejection>> + Send>>;

/// A check supplied by the author. Runs only after the document accepted the arguments.
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

    /// Runs the check. A panic counts as a check that could not be completed.
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
                let message =
                    "could not be checked because of an internal problem: try again later";
                faults.push(Fault::new("", &*self.name, message));
                faults.note(format!("the check `{}` failed: {why}", self.name));
            }
        }
    }
}

/// The result of an external check that does not accept the arguments.
///
/// `?` converts any error into a `Rejection`. In that case the model only reads that the check could not be
/// completed.
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
///             _ => Err(Rejection::at("/city", "is not a known city")),
///         }
///     });
/// assert!(schema.check_all(r#"{"city": "Paris"}"#).await.is_ok());
/// let error = schema.check_all(r#"{"city": "Atlantis"}"#).await.unwrap_err();
/// assert_eq!(error.faults()[0].rule, "city_exists");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
///
/// It does not implement `std::error::Error`, so that `?` can convert any error into it.
#[derive(Debug)]
pub struct Rejection(Reason);

#[derive(Debug)]
enum Reason {
    Fault {
        pointer: String,
        message: String,
    },
    /// The check could not be completed. The reason is for operators.
    Failed(String),
}

impl Rejection {
    /// Rejects the value at a JSON pointer. `message` follows the location, as in "`/city` is not a known city".
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

debug_fields!(ExternalCheck { name });
