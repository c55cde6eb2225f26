//! Records conversations.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use turnwright_core::{Error, ErrorCode};
use turnwright_models::http::{Body, Request, Response, Transport};
use turnwright_models::redact::Redactor;

use super::file::{self, Answered, Asked, Entry, content};

/// The response headers that are written.
const HEADERS: [&str; 5] = [
    "content-type",
    "retry-after",
    "retry-after-ms",
    "request-id",
    "x-request-id",
];

pub(super) struct Recorder {
    pub(super) path: PathBuf,
    inner: Arc<dyn Transport>,
    tape: Mutex<Tape>,
}

#[derive(Default)]
struct Tape {
    /// One slot per request, in order; empty until its response is complete.
    entries: Vec<Option<Entry>>,
    /// Whether some of them are not in the file yet.
    unsaved: bool,
}

impl Recorder {
    pub(super) fn new(path: &Path, inner: Arc<dyn Transport>) -> Result<Arc<Self>, Error> {
        if let Some(folder) = path.parent() {
            let message = format!(
                "the folder of the recording {} cannot be created",
                path.display()
            );
            fs::create_dir_all(folder).map_err(|error| failed(message, error))?;
        }
        let message = format!("cannot record to {}", path.display());
        file::check_target(path).map_err(|error| failed(message, error))?;
        Ok(Arc::new(Recorder {
            path: path.to_owned(),
            inner,
            tape: Mutex::default(),
        }))
    }

    pub(super) async fn send(
        self: &Arc<Self>,
        request: Request,
        redactor: Redactor,
    ) -> Result<Response, Error> {
        let asked = Asked::of(&request, &redactor);
        let place = {
            let mut tape = self.tape.lock();
            tape.entries.push(None);
            tape.entries.len() - 1
        };
        let response = self.inner.send(request).await?;
        let (status, headers) = (response.status, response.headers);
        let taking = Taking {
            recorder: Arc::clone(self),
            place,
            asked: Some(asked),
            status,
            headers: recorded(&headers, &redactor),
            taken: Vec::new(),
            redactor,
        };
        let body = pass_on(response.body, taking);
        Ok(Response::new(status, headers, body))
    }

    pub(super) fn save(&self) -> Result<(), Error> {
        self.write(&mut self.tape.lock())
    }

    fn keep(&self, place: usize, entry: Entry) -> Result<(), Error> {
        let mut tape = self.tape.lock();
        if let Some(slot) = tape.entries.get_mut(place) {
            *slot = Some(entry);
        }
        tape.unsaved = true;
        self.write(&mut tape)
    }

    fn write(&self, tape: &mut Tape) -> Result<(), Error> {
        if !tape.unsaved {
            return Ok(());
        }
        let entries: Vec<&Entry> = tape.entries.iter().flatten().collect();
        let message = format!("the recording {} cannot be written", self.path.display());
        file::save(&self.path, &entries).map_err(|error| failed(message, error))?;
        tape.unsaved = false;
        Ok(())
    }
}

fn failed(message: String, error: io::Error) -> Error {
    Error::new(ErrorCode::STORE_ERROR, message).with_source(error)
}

/// Returns the headers that are written.
fn recorded(headers: &[(String, String)], redactor: &Redactor) -> Map<String, Value> {
    let headers = headers.iter().filter_map(|(name, value)| {
        let name = name.to_ascii_lowercase();
        let written = HEADERS.contains(&name.as_str());
        written.then(|| (name, Value::String(redactor.text(value))))
    });
    headers.collect()
}

/// A response that is being read.
struct Taking {
    recorder: Arc<Recorder>,
    place: usize,
    /// Taken once the response is stored.
    asked: Option<Asked>,
    status: u16,
    headers: Map<String, Value>,
    taken: Vec<u8>,
    redactor: Redactor,
}

impl Taking {
    fn keep(&mut self, truncated: bool) -> Result<(), Error> {
        let Some(request) = self.asked.take() else {
            return Ok(());
        };
        let response = Answered {
            status: self.status,
            headers: std::mem::take(&mut self.headers),
            body: content(self.redactor.bytes(&self.taken)),
            truncated,
        };
        self.recorder.keep(self.place, Entry { request, response })
    }
}

impl Drop for Taking {
    /// The client stopped reading: many stop at the last event. An error is reported with the next response, and by
    /// `save`.
    fn drop(&mut self) {
        let _ = self.keep(true);
    }
}

/// Passes on each piece as it arrives, and stores the response at its end.
fn pass_on(body: Body, taking: Taking) -> Body {
    Body::new(stream::unfold(Some((body, taking)), async |state| {
        let (mut body, mut taking) = state?;
        let (piece, state): (Result<Bytes, Error>, _) = match body.next().await {
            Some(Ok(piece)) => {
                taking.taken.extend_from_slice(&piece);
                (Ok(piece), Some((body, taking)))
            }
            Some(Err(broken)) => {
                // The caller must first learn that the connection broke.
                let _ = taking.keep(true);
                (Err(broken), None)
            }
            None => match taking.keep(false) {
                Ok(()) => return None,
                Err(error) => (Err(error), None),
            },
        };
        Some((piece, state))
    }))
}
