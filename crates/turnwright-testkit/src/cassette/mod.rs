//! Conversations with model servers, recorded once and played again: tests of real exchanges that need no key and no
//! network.
//!
//! A [`Cassette`] is a [`Transport`]. Recording, it stands around the one that goes out; playing, it needs none:
//!
//! ```
//! use turnwright_models::http::{Request, Transport as _};
//! use turnwright_testkit::cassette::Cassette;
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
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
//! // What was not recorded is not answered, and one sees why.
//! let other = Request::new(url, r#"{ "model": "m", "messages": [], "seed": 7 }"#);
//! let miss = cassette.send(other).await.unwrap_err();
//! assert!(miss.to_string().contains("+ /seed: 7"));
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```
//!
//! In a project one mostly wants [`Cassette::auto`]: it plays, and records where `TURNWRIGHT_RECORD=1` is set.
//!
//! # The file
//!
//! A list of `{request: {method, path, body}, response: {status, headers, body}}`, in the order of the requests, printed so
//! that a diff can be read. The body of a request is JSON, that of a response its text, streamed or not. Bytes that are not
//! UTF-8 are `{"base64": "…"}`; a response body that is other JSON, which only hands write, is sent as its text.
//!
//! A response that was not read to its end, since the connection broke or nobody wanted more of it, is marked
//! `"truncated": true`: played, it breaks where the recording ends. Requests without any response are not recorded.
//!
//! # What answers what
//!
//! A recording answers a request of the same path and the same body: as JSON, so that white space, the order of keys and
//! the spelling of numbers make no difference. The host and the query make none either, nor do the codes of fences and the ids in
//! their tags, which come of a secret and of chance and are not written. What else is left to chance in a turn you say yourself: give it
//! an id by `TurnInput::turn_id` where the model names calls by their ids, as it does when it reads artifacts. Each recording is played once, equal
//! ones in the order in which they were recorded. With [`Cassette::in_order`] nothing is compared.
//!
//! # Secrets
//!
//! No header of a request is written. Of a response these are: `content-type`, `retry-after`, `retry-after-ms`,
//! `request-id` and `x-request-id`. Of a query only the names are. In paths, bodies and headers the values of the request's
//! headers and query, the user and password of its address ([`credentials`](turnwright_models::redact::credentials)), and
//! what [`Cassette::scrub`] names, are replaced by `[scrubbed]`: every run of 8 or more bytes of them, also as base64 or
//! behind escapes, as [`redact`](turnwright_models::redact) says. Playing, the same is done to a request before it is
//! compared. Values of headers that are shorter than 8 bytes are not looked for: stand-ins like `test` would be found
//! everywhere. A secret that a server streams in several pieces is not found.

mod diff;
mod exchange;
mod fences;
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

/// Says that [`Cassette::auto`] records.
const RECORD: &str = "TURNWRIGHT_RECORD";

/// A [`Transport`] that records conversations, or plays recorded ones. Clones share what was recorded and played.
///
/// See the [module](self) for how it is used.
#[derive(Clone)]
pub struct Cassette {
    scrub: Vec<String>,
    in_order: bool,
    mode: Mode,
}

#[derive(Clone)]
enum Mode {
    Replay(Arc<Player>),
    Record(Arc<Recorder>),
}

impl Cassette {
    /// Plays what this file holds.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG`: it cannot be read, or is no recording.
    pub fn replay(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let entries = file::load(path)?;
        let name = path.display().to_string();
        let player = Player::of_entries(name, entries)?;
        Ok(Cassette::with(Mode::Replay(player)))
    }

    /// Plays what this text holds: that of such a file.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG`: it is no recording.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let name = "the text that was given".to_owned();
        let entries = file::parse(&name, text.as_bytes())?;
        let player = Player::of_entries(name, entries)?;
        Ok(Cassette::with(Mode::Replay(player)))
    }

    /// Plays these exchanges.
    pub fn playing(exchanges: impl IntoIterator<Item = Exchange>) -> Self {
        let name = "what was given".to_owned();
        Cassette::with(Mode::Replay(Player::new(name, exchanges)))
    }

    /// Records into this file what goes through `inner`. A file that is there is replaced when the first response is
    /// complete, not before. Each time all of it is written again: there is no moment at which it is half written. Only its
    /// owner can read it (mode 0600), also where the file that it replaces could be read by others.
    ///
    /// # Errors
    /// `E_STORE_ERROR`: its folder is not there and cannot be made, or the path is a link, a directory or a device.
    pub fn record(path: impl AsRef<Path>, inner: impl Transport + 'static) -> Result<Self, Error> {
        let recorder = Recorder::new(path.as_ref(), Arc::new(inner))?;
        Ok(Cassette::with(Mode::Record(recorder)))
    }

    /// Records where the environment says `TURNWRIGHT_RECORD=1` (anything but nothing and `0`); else plays.
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
            in_order: false,
            mode,
        }
    }

    /// Gives the recorded responses in the order in which they were recorded, whatever is asked: to see again what a model
    /// said, by a client that asks otherwise than the recorded one did. For this clone, and those made of it. While recording
    /// it changes nothing.
    ///
    /// ```
    /// use turnwright_models::http::{Request, Transport as _};
    /// use turnwright_testkit::cassette::Cassette;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let cassette = Cassette::from_json(r#"[{
    ///     "request": { "method": "POST", "path": "/v1/chat/completions", "body": { "model": "m" } },
    ///     "response": { "status": 200, "body": "first" }
    /// }]"#)?
    /// .in_order();
    /// let url = url::Url::parse("https://elsewhere.example/chat").unwrap();
    /// let mut response = cassette.send(Request::new(url.clone(), "{}")).await?;
    /// assert_eq!(response.body.next().await.unwrap()?, "first");
    /// let beyond = cassette.send(Request::new(url, "{}")).await.unwrap_err();
    /// assert!(beyond.to_string().contains("no recording is left"));
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.in_order = true;
        self
    }

    /// A further secret: it is replaced wherever it is found, as the keys in headers are. For this clone, and those made of
    /// it.
    #[must_use]
    pub fn scrub(mut self, secret: impl Into<String>) -> Self {
        self.scrub.push(secret.into());
        self
    }

    /// The recordings that were not played, as a line each.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        match &self.mode {
            Mode::Replay(player) => player.unused(),
            Mode::Record(_) => Vec::new(),
        }
    }

    /// Asserts that every recording was played. While recording there is nothing to assert.
    ///
    /// # Panics
    /// Some were not: it says which.
    #[track_caller]
    pub fn assert_all_played(&self) {
        let unused = self.unused();
        assert!(
            unused.is_empty(),
            "these recordings were not played:\n{}",
            unused.join("\n")
        );
    }

    /// Whether all that was recorded so far is in the file. What could not be written is tried again with the next response,
    /// and by this.
    ///
    /// # Errors
    /// `E_STORE_ERROR`: it could not be written. What was in the file before is still there.
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
            Mode::Replay(player) if self.in_order => player.play_next(),
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
            Mode::Replay(player) => write!(f, "Cassette({player:?})"),
            Mode::Record(recorder) => write!(f, "Cassette({recorder:?})"),
        }
    }
}
