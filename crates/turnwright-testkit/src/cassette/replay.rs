//! Replays recordings.

use futures_util::stream;
use parking_lot::Mutex;
use turnwright_core::{Error, ErrorCode};
use turnwright_models::http::{Body, Request, Response};
use turnwright_models::redact::Redactor;

use super::exchange::Exchange;
use super::file::Asked;
use super::miss::miss;

pub(super) struct Player {
    pub(super) name: String,
    recordings: Mutex<Vec<Recording>>,
}

/// A recording that is ready to be played.
pub(super) struct Recording {
    pub(super) asked: Asked,
    pub(super) key: String,
    pub(super) played: bool,
    exchange: Exchange,
}

impl Player {
    pub(super) fn new(name: String, exchanges: Vec<Exchange>) -> Self {
        let recordings = exchanges.into_iter().map(Recording::new).collect();
        let recordings = Mutex::new(recordings);
        Player { name, recordings }
    }

    pub(super) fn play(&self, request: &Request, redactor: &Redactor) -> Result<Response, Error> {
        let asked = Asked::of(request, redactor);
        let key = asked.key();
        let mut recordings = self.recordings.lock();
        let mut all = recordings.iter_mut();
        let Some(found) = all.find(|recording| !recording.played && recording.key == key) else {
            return Err(miss(&self.name, &asked, &recordings));
        };
        found.played = true;
        Ok(found.response())
    }

    pub(super) fn unused(&self) -> Vec<String> {
        let recordings = self.recordings.lock();
        let all = recordings.iter().enumerate();
        let unused = all.filter(|(_, recording)| !recording.played);
        let named = unused.map(|(at, recording)| {
            let Asked { method, path, .. } = &recording.asked;
            format!("number {at} of {}: {method} {path}", self.name)
        });
        named.collect()
    }
}

impl Recording {
    fn new(exchange: Exchange) -> Self {
        let asked = Asked {
            method: exchange.method.clone(),
            path: exchange.path.clone(),
            body: exchange.request.clone(),
        };
        Recording {
            key: asked.key(),
            asked,
            played: false,
            exchange,
        }
    }

    fn response(&self) -> Response {
        let exchange = &self.exchange;
        let broken = exchange.truncated.then(|| {
            let message = "the connection to the model server broke: the recording ends here";
            Err(Error::new(ErrorCode::MODEL_UNREACHABLE, message))
        });
        let body = (!exchange.body.is_empty()).then(|| Ok(exchange.body.clone()));
        let body = Body::new(stream::iter(body.into_iter().chain(broken)));
        Response::new(exchange.status, exchange.headers.clone(), body)
    }
}
