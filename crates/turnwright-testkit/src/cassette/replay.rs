//! How recordings are played.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use parking_lot::Mutex;
use turnwright_core::{Error, ErrorCode};
use turnwright_models::http::{Body, Request, Response};

use super::exchange::Exchange;
use super::file::{Asked, Entry};
use super::miss::miss;
use super::scrub::Scrubber;

pub(super) struct Player {
    name: String,
    recordings: Mutex<Vec<Recording>>,
}

/// A recording, ready to be played.
pub(super) struct Recording {
    pub(super) asked: Asked,
    pub(super) key: String,
    pub(super) played: bool,
    status: u16,
    headers: Vec<(String, String)>,
    body: Bytes,
    truncated: bool,
}

impl Player {
    pub(super) fn new(name: String, exchanges: impl IntoIterator<Item = Exchange>) -> Arc<Self> {
        let recordings = exchanges.into_iter().map(Recording::new).collect();
        let recordings = Mutex::new(recordings);
        Arc::new(Player { name, recordings })
    }

    pub(super) fn of_entries(name: String, entries: Vec<Entry>) -> Result<Arc<Self>, Error> {
        let exchanges = entries.into_iter().enumerate().map(|(at, entry)| {
            Exchange::try_from(entry).map_err(|error| {
                let message = format!("{name}: the body of response {at} is not base64");
                Error::new(ErrorCode::InvalidModelConfig, message).with_source(error)
            })
        });
        let exchanges = exchanges.collect::<Result<Vec<_>, _>>()?;
        Ok(Player::new(name, exchanges))
    }

    pub(super) fn play(&self, request: &Request, scrubber: &Scrubber) -> Result<Response, Error> {
        let asked = Asked::of(request, scrubber);
        let key = asked.key();
        let mut recordings = self.recordings.lock();
        let mut left = recordings.iter_mut().filter(|it| !it.played);
        match left.find(|it| it.key == key) {
            Some(recording) => {
                recording.played = true;
                Ok(recording.response())
            }
            None => Err(miss(&self.name, &asked, &recordings)),
        }
    }

    /// The next that was not played, whatever is asked.
    pub(super) fn play_next(&self) -> Result<Response, Error> {
        let mut recordings = self.recordings.lock();
        match recordings.iter_mut().find(|it| !it.played) {
            Some(recording) => {
                recording.played = true;
                Ok(recording.response())
            }
            None => {
                let (name, all) = (&self.name, recordings.len());
                let message = format!("no recording is left: {name} holds {all}, all were played");
                Err(Error::new(ErrorCode::InvalidModelConfig, message))
            }
        }
    }

    pub(super) fn unused(&self) -> Vec<String> {
        let recordings = self.recordings.lock();
        let unused = recordings.iter().enumerate().filter(|(_, it)| !it.played);
        let named = unused.map(|(at, it)| {
            let Asked { method, path, .. } = &it.asked;
            format!("number {at} of {}: {method} {path}", self.name)
        });
        named.collect()
    }
}

impl Recording {
    fn new(exchange: Exchange) -> Self {
        let asked = Asked {
            method: exchange.method,
            path: exchange.path,
            body: exchange.request,
        };
        Recording {
            key: asked.key(),
            asked,
            played: false,
            status: exchange.status,
            headers: exchange.headers,
            body: exchange.body,
            truncated: exchange.truncated,
        }
    }

    fn response(&self) -> Response {
        let broken = self.truncated.then(|| {
            let message = "the connection to the model server broke: the recording ends here";
            Err(Error::new(ErrorCode::ModelUnreachable, message))
        });
        let whole = (!self.body.is_empty()).then(|| Ok(self.body.clone()));
        let body = Body::new(stream::iter(whole.into_iter().chain(broken)));
        Response::new(self.status, self.headers.clone(), body)
    }
}

impl fmt::Debug for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let recordings = self.recordings.lock();
        let played = recordings.iter().filter(|it| it.played).count();
        write!(f, "playing {}, {played} of {}", self.name, recordings.len())
    }
}
