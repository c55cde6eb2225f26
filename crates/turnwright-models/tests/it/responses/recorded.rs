//! Recorded exchanges of Responses servers.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use turnwright_core::Error;
use turnwright_models::Protocol;
use turnwright_models::decode::{Decoder, Delta};

/// A recorded exchange.
pub(super) struct Recorded {
    /// The file below the folder of the protocol, and the index of the exchange.
    pub(super) file: String,
    pub(super) index: usize,
    /// The body of the request. Not an object if it was no request of this protocol.
    pub(super) request: Value,
    pub(super) status: u64,
    pub(super) content_type: Option<String>,
    pub(super) body: String,
}

impl Recorded {
    pub(super) fn is_stream(&self) -> bool {
        !self.body.trim_start().starts_with('{')
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}", self.file, self.index)
    }

    pub(super) fn decoder(&self) -> Decoder {
        Protocol::Responses.decoder(self.content_type.as_deref())
    }
}

/// Returns the folder of all recordings, if it exists.
pub(super) fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("TURNWRIGHT_WIRE").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire"),
        PathBuf::from,
    );
    if folder.is_dir() {
        return Some(folder);
    }
    let place = folder.display();
    crate::say(format_args!(
        "SKIPPED: recordings of model servers are not at {place}; set TURNWRIGHT_WIRE"
    ));
    None
}

/// Returns every recorded exchange, sorted by name.
pub(super) fn recorded() -> Option<Vec<Recorded>> {
    let root = folder()?.join("openai_responses");
    let mut files = Vec::new();
    for server in fs::read_dir(&root).unwrap() {
        let sessions = fs::read_dir(server.unwrap().path()).unwrap();
        files.extend(sessions.map(|session| session.unwrap().path()));
    }
    files.sort();
    let mut recorded = Vec::new();
    for path in files {
        let file = path.strip_prefix(&root).unwrap().display().to_string();
        let text = fs::read_to_string(&path).unwrap();
        let session: Vec<Value> = serde_json::from_str(&text).unwrap();
        for (index, exchange) in session.into_iter().enumerate() {
            let response = &exchange["response"];
            recorded.push(Recorded {
                file: file.clone(),
                index,
                request: exchange["request"]["body"].clone(),
                status: response["status"].as_u64().unwrap(),
                content_type: response["headers"]["content-type"]
                    .as_str()
                    .map(str::to_owned),
                body: response["body"].as_str().unwrap().to_owned(),
            });
        }
    }
    Some(recorded)
}

/// Decodes a response that arrives in these pieces. Returns the deltas, the state and the result.
pub(super) fn decode_pieces<'a>(
    mut decoder: Decoder,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Delta>, Value, Result<(), Error>) {
    let mut deltas = Vec::new();
    let mut pieces = pieces.into_iter();
    let pushed = pieces.try_for_each(|piece| decoder.push(piece, &mut deltas));
    let ended = pushed.and_then(|()| decoder.finish(&mut deltas));
    (deltas, decoder.take_state().into(), ended)
}
