//! How recordings are played.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use parking_lot::Mutex;
use turnwright_core::{Error, ErrorCode};
use turnwright_models::http::{Body, Request, Response};

use super::file::{self, Asked, Entry};
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
    pub(super) fn new(name: String, entries: Vec<Entry>) -> Result<Arc<Self>, Error> {
        let recordings = entries.into_iter().enumerate();
        let recordings = recordings.map(|(at, entry)| {
            Recording::new(entry).map_err(|error| {
                let message = format!("{name}: the body of response {at} is not base64");
                Error::new(ErrorCode::InvalidModelConfig, message).with_source(error)
            })
        });
        let recordings = recordings.collect::<Result<Vec<_>, _>>()?;
        let recordings = Mutex::new(recordings);
        Ok(Arc::new(Player { name, recordings }))
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
    fn new(entry: Entry) -> Result<Self, base64::DecodeError> {
        let headers = entry.response.headers.into_iter().map(|(name, value)| {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            (name.to_ascii_lowercase(), value)
        });
        Ok(Recording {
            key: entry.request.key(),
            asked: entry.request,
            played: false,
            status: entry.response.status,
            headers: headers.collect(),
            body: file::bytes(&entry.response.body)?.into(),
            truncated: entry.response.truncated,
        })
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
