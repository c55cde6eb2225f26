//! Records conversations with model servers and replays them: tests of real exchanges without a key or a network.
//!
//! A [`Cassette`] is a [`Transport`]. For recording it wraps another transport; for replay it needs none:
//!
//! ```
//! use turnwright_models::http::{Request, Transport as _};
//! use turnwright_testkit::cassette::Cassette;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let cassette = Cassette::from_json(r#"[{
//!     "request": { "method": "POST", "path": "/v1/chat/completions", "body": { "model": "m", "messages": [] } },
//!     "response": { "status": 200, "headers": { "content-type": "application/json" }, "body": "{\"choices\":[]}" }
//! }]"#)?;
//!
//! let url = url::Url::parse("https://models.example/v1/chat/completions").unwrap();
//! let asked = Request::new(url.clone(), r#"{ "messages": [], "model": "m" }"#);
//! let mut response = cassette.send(asked).await?;
//! assert_eq!(response.status, 200);
//! assert_eq!(response.body.next().await.unwrap()?, r#"{"choices":[]}"#);
//! cassette.assert_all_played();
//!
//! // A request that was not recorded fails, and the error shows the difference.
//! let other = Request::new(url, r#"{ "model": "m", "messages": [], "seed": 7 }"#);
//! let miss = cassette.send(other).await.unwrap_err();
//! assert!(miss.to_string().contains("+ /seed: 7"));
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```
//!
//! Most projects use [`Cassette::auto`]: it replays, and records if `TURNWRIGHT_RECORD=1` is set.
//!
//! # The file
//!
//! A list of `{request: {method, path, body}, response: {status, headers, body}}`, in the order of the requests,
//! formatted for readable diffs. The body of a request is JSON; that of a response is its text, streamed or not.
//! Bytes that are not UTF-8 are `{"base64": "…"}`. A response body that is another JSON value (written by hand) is
//! sent as its text.
//!
//! A response that was not read to its end, because the connection broke or the client stopped reading, is marked
//! `"truncated": true`. Its replay breaks where the recording ends. Requests without a response are not recorded.
//!
//! # Matching
//!
//! A recording matches a request with the same path and the same body. Bodies are compared as JSON, so that white
//! space, the order of keys and the spelling of numbers do not matter. The host and the query do not matter either,
//! nor do the codes of envelopes and the ids in their tags, which are random and are not written. Make other random
//! parts of a turn reproducible yourself: set an id with `TurnInput::turn_id` if the model refers to calls by id, for
//! example when it reads artifacts. Each recording is played once; equal ones in the order of recording.
//!
//! # Secrets
//!
//! Request headers are not written. Of a response, only these headers are written: `content-type`, `retry-after`,
//! `retry-after-ms`, `request-id` and `x-request-id`. Of a query, only the names are written. In paths, bodies and
//! headers, these secrets are replaced with `[scrubbed]`: the values of the request's headers and query, the user and
//! password of its URL ([`credentials`](turnwright_models::redact::credentials)), and those set with
//! [`Cassette::scrub`]. Every run of 8 or more bytes of a secret is replaced, including base64 and escaped forms; see
//! [`redact`](turnwright_models::redact). During replay the same is applied to a request before it is compared.
//! Header values that are shorter than 8 bytes are ignored, because placeholders like `test` would match everywhere.
//! A secret that a server splits over several streamed pieces is not found.

mod diff;
mod envelopes;
mod exchange;
mod file;
mod miss;
mod record;
mod replay;
mod request;
mod scrub;

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use turnwright_core::Error;
use turnwright_models::http::{Request, Response, Transport};

pub use exchange::Exchange;
use record::Recorder;
use replay::Player;

/// The environment variable that makes [`Cassette::auto`] record.
const RECORD: &str = "TURNWRIGHT_RECORD";

/// A [`Transport`] that records conversations, or replays recorded ones. Clones share the recordings and the replay
/// state.
///
/// ```no_run
/// use turnwright_models::ChatCompletions;
/// use turnwright_models::http::Client;
/// use turnwright_testkit::cassette::Cassette;
///
/// let client = Client::builder().build()?;
/// let cassette = Cassette::auto("tests/cassettes/hello.json", client)?;
/// let model = ChatCompletions::from_env().transport(cassette.clone()).build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Cassette {
    scrub: Vec<String>,
    mode: Mode,
}

#[derive(Clone)]
enum Mode {
    Replay(Arc<Player>),
    Record(Arc<Recorder>),
}

impl Cassette {
    /// Replays a file.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` if the file cannot be read or is not a recording.
    pub fn replay(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Ok(Cassette::playing(
            &path.display().to_string(),
            file::load(path)?,
        ))
    }

    /// Replays recordings in JSON text, in the format of the file.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` if the text is not a recording.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let name = "the JSON text";
        Ok(Cassette::playing(name, file::parse(name, text.as_bytes())?))
    }

    fn playing(name: &str, exchanges: Vec<Exchange>) -> Self {
        let player = Player::new(name.to_owned(), exchanges);
        Cassette::with(Mode::Replay(Arc::new(player)))
    }

    /// Records to a file everything that passes through `inner`. An existing file is replaced when the first response
    /// is complete. The complete file is rewritten atomically each time. Only its owner can read it (mode 0600), even
    /// if others could read the file that it replaces.
    ///
    /// # Errors
    /// `E_STORE_ERROR` if the folder does not exist and cannot be created, or if the path is a link, a directory or a
    /// device.
    pub fn record(path: impl AsRef<Path>, inner: impl Transport + 'static) -> Result<Self, Error> {
        let recorder = Recorder::new(path.as_ref(), Arc::new(inner))?;
        Ok(Cassette::with(Mode::Record(recorder)))
    }

    /// Records if the environment variable `TURNWRIGHT_RECORD` is set to anything but an empty value or `0`;
    /// otherwise replays.
    ///
    /// # Errors
    /// See [`Cassette::record`] and [`Cassette::replay`].
    pub fn auto(path: impl AsRef<Path>, inner: impl Transport + 'static) -> Result<Self, Error> {
        if wants_to_record(std::env::var_os(RECORD).as_deref()) {
            Cassette::record(path, inner)
        } else {
            Cassette::replay(path)
        }
    }

    fn with(mode: Mode) -> Self {
        Cassette {
            scrub: Vec::new(),
            mode,
        }
    }

    /// Adds a secret that is replaced wherever it occurs, like the keys in headers. Applies to this clone and its
    /// clones.
    #[must_use]
    pub fn scrub(mut self, secret: impl Into<String>) -> Self {
        self.scrub.push(secret.into());
        self
    }

    /// Returns the recordings that were not played, one line each.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        match &self.mode {
            Mode::Replay(player) => player.unused(),
            Mode::Record(_) => Vec::new(),
        }
    }

    /// Asserts that every recording was played. Does nothing while recording.
    ///
    /// # Panics
    /// Panics if some recordings were not played, and lists them.
    #[track_caller]
    pub fn assert_all_played(&self) {
        let unused = self.unused();
        assert!(
            unused.is_empty(),
            "these recordings were not played:\n{}",
            unused.join("\n")
        );
    }

    /// Writes everything that was recorded so far. A failed write is retried with the next response and by this
    /// method.
    ///
    /// # Errors
    /// `E_STORE_ERROR` if the file could not be written. Its previous content is unchanged.
    pub fn save(&self) -> Result<(), Error> {
        match &self.mode {
            Mode::Replay(_) => Ok(()),
            Mode::Record(recorder) => recorder.save(),
        }
    }
}

#[async_trait]
impl Transport for Cassette {
    async fn send(&self, request: Request) -> Result<Response, Error> {
        let redactor = scrub::redactor(&self.scrub, &request);
        match &self.mode {
            Mode::Replay(player) => player.play(&request, &redactor),
            Mode::Record(recorder) => recorder.send(request, redactor).await,
        }
    }
}

fn wants_to_record(setting: Option<&OsStr>) -> bool {
    setting.is_some_and(|setting| !setting.is_empty() && setting != "0")
}

impl fmt::Debug for Cassette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.mode {
            Mode::Replay(player) => write!(f, "Cassette(playing {})", player.name),
            Mode::Record(recorder) => write!(f, "Cassette(recording {})", recorder.path.display()),
        }
    }
}
