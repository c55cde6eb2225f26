//! A transport that changes requests and responses, and an executor that behaves badly.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use turnwright_core::{BoxError, DispatchContext, Error, ErrorCode, Executor};
use turnwright_models::http::{Body, Client, Request, Response, Transport};

/// What is done to a request body.
pub(super) type ToRequest = fn(&mut Value, object: usize);
/// What is done to the complete text of a response, or to the error that ended it.
pub(super) type ToResponse = fn(Result<String, Error>) -> Result<String, Error>;

/// A transport that changes what passes through it.
pub(super) struct Tampering {
    pub(super) client: Client,
    /// The number of the model object.
    pub(super) object: usize,
    pub(super) request: Option<ToRequest>,
    pub(super) response: Option<ToResponse>,
    /// Sends what was rejected again.
    pub(super) insists: bool,
    /// Follows redirects.
    pub(super) follows: bool,
    /// Leaves out this header.
    pub(super) without: Option<&'static str>,
}

impl Tampering {
    pub(super) fn new(object: usize) -> Self {
        Tampering {
            client: Client::builder().no_proxy().build().unwrap(),
            object,
            request: None,
            response: None,
            insists: false,
            follows: false,
            without: None,
        }
    }
}

#[async_trait]
impl Transport for Tampering {
    async fn send(&self, mut request: Request) -> Result<Response, Error> {
        if let Some(change) = self.request {
            let mut body: Value = serde_json::from_slice(&request.body).unwrap();
            change(&mut body, self.object);
            request.body = body.to_string().into();
        }
        request
            .headers
            .retain(|(name, _)| Some(name.as_str()) != self.without);
        let mut response = self.client.send(request.clone()).await?;
        if self.insists && (400..500).contains(&response.status) {
            response = self.client.send(request.clone()).await?;
        }
        if self.follows && (300..400).contains(&response.status) {
            request.url = response.header("location").unwrap().parse().unwrap();
            response = self.client.send(request).await?;
        }
        let Some(change) = self.response else {
            return Ok(response);
        };
        let mut text = Ok(Vec::new());
        while let (Ok(bytes), Some(piece)) = (&mut text, response.body.next().await) {
            match piece {
                Ok(piece) => bytes.extend_from_slice(&piece),
                Err(error) => text = Err(error),
            }
        }
        let text = text.map(|bytes| String::from_utf8(bytes).unwrap());
        response.body = Body::full(change(text)?);
        Ok(response)
    }
}

impl fmt::Debug for Tampering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tampering")
    }
}

/// How an executor behaves badly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Habit {
    None,
    /// Its errors have the key.
    KeyInErrors,
    /// Its errors all have the same code.
    OneCode,
    /// It continues when its turn was cancelled.
    Detached,
}

/// An executor with a bad habit. Its `Debug` has the key if there is one.
#[derive(Debug)]
pub(super) struct Behaving {
    pub(super) shown: Option<String>,
    pub(super) inner: Hidden,
    pub(super) habit: Habit,
    pub(super) key: Key,
}

pub(super) struct Hidden(pub(super) Arc<dyn Executor>);
pub(super) struct Key(pub(super) String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hidden")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Behaving {
    pub(super) fn new(model: impl Executor + 'static, habit: Habit, key: &str) -> Self {
        Behaving {
            shown: None,
            inner: Hidden(Arc::new(model)),
            habit,
            key: Key(key.to_owned()),
        }
    }
}

#[async_trait]
impl Executor for Behaving {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        let inner = Arc::clone(&self.inner.0);
        if self.habit == Habit::Detached {
            let task = tokio::spawn(async move { inner.execute(ctx).await });
            return task.await?;
        }
        inner.execute(ctx).await.map_err(|error| match self.habit {
            Habit::KeyInErrors => {
                let message = format!("{error} (the key was {})", self.key.0);
                Error::new(ErrorCode::MODEL_SERVER_ERROR, message).into()
            }
            Habit::OneCode => Error::new(ErrorCode::MODEL_SERVER_ERROR, error.to_string()).into(),
            Habit::None | Habit::Detached => error,
        })
    }
}
