//! Recordings of real model servers. They are read from `$TURNWRIGHT_WIRE`, otherwise from `../shared/wire` next to
//! the project, and are not copied. Tests that need them skip with a notice if they are missing.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use turnwright_core::Error;
use turnwright_models::Protocol;
use turnwright_models::decode::{Collector, Decoder, Delta, Reply};

/// A recorded exchange.
pub(crate) struct Recorded {
    pub(crate) protocol: Protocol,
    /// The file below the folder of the protocol, and the index of the exchange.
    pub(crate) file: String,
    pub(crate) index: usize,
    pub(crate) path: String,
    /// The body of the request. Not an object if it was no request of this protocol.
    pub(crate) request: Value,
    pub(crate) status: u64,
    pub(crate) content_type: Option<String>,
    pub(crate) body: String,
}

impl Recorded {
    /// Returns `true` if the response is a stream of events or lines. Errors are never streams.
    pub(crate) fn is_stream(&self) -> bool {
        let body = self.body.trim_start();
        self.status < 400 && (!body.starts_with('{') || body.trim_end().contains("}\n{"))
    }

    pub(crate) fn decoder(&self) -> Decoder {
        self.protocol.decoder(self.content_type.as_deref())
    }

    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.file, self.index)
    }
}

/// Returns the folder of all recordings, if it exists.
pub(crate) fn folder() -> Option<PathBuf> {
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

/// Returns the folder of a protocol's recordings, whose name is also that of the file with expected results.
pub(crate) fn folder_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::ChatCompletions => "chat_completions",
        Protocol::Responses => "openai_responses",
        Protocol::Anthropic => "anthropic_messages",
        Protocol::Gemini => "gemini",
        Protocol::Ollama => "ollama",
        _ => panic!("no recordings of {protocol}"),
    }
}

/// Returns the recorded files of a protocol, each with its exchanges, sorted by name.
pub(crate) fn sessions(protocol: Protocol) -> Option<Vec<Vec<Recorded>>> {
    let root = folder()?.join(folder_name(protocol));
    let mut files = Vec::new();
    for server in fs::read_dir(&root).unwrap() {
        let sessions = fs::read_dir(server.unwrap().path()).unwrap();
        files.extend(sessions.map(|session| session.unwrap().path()));
    }
    files.sort();
    let session = |path: PathBuf| {
        let file = path.strip_prefix(&root).unwrap().display().to_string();
        let exchanges: Vec<Value> =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let exchanges = exchanges.into_iter().enumerate();
        let recorded = exchanges.map(|(index, mut exchange)| {
            let response = &exchange["response"];
            Recorded {
                protocol,
                file: file.clone(),
                index,
                status: response["status"].as_u64().unwrap(),
                content_type: content_type(&response["headers"]),
                body: response["body"].as_str().unwrap().to_owned(),
                path: exchange["request"]["path"].as_str().unwrap().to_owned(),
                request: exchange["request"]["body"].take(),
            }
        });
        recorded.collect()
    };
    Some(files.into_iter().map(session).collect())
}

/// Returns every recorded exchange of a protocol, sorted by name.
pub(crate) fn recorded(protocol: Protocol) -> Option<Vec<Recorded>> {
    Some(sessions(protocol)?.into_iter().flatten().collect())
}

/// Returns every recorded exchange of every protocol.
pub(crate) fn all_recorded() -> Option<Vec<Recorded>> {
    let of_protocols = Protocol::ALL.into_iter().map(recorded);
    let all: Option<Vec<_>> = of_protocols.collect();
    Some(all?.into_iter().flatten().collect())
}

/// Headers are an object, or a list of pairs.
fn content_type(headers: &Value) -> Option<String> {
    let is_it = |name: &str| name.eq_ignore_ascii_case("content-type");
    let value = match headers {
        Value::Object(fields) => fields.iter().find(|(name, _)| is_it(name))?.1,
        Value::Array(pairs) => {
            let pair = pairs
                .iter()
                .find(|pair| pair[0].as_str().is_some_and(is_it))?;
            &pair[1]
        }
        _ => return None,
    };
    value.as_str().map(str::to_owned)
}

/// Decodes a response that arrives in these pieces. Returns the deltas, and the state or the error.
pub(crate) fn decode_pieces<'a>(
    mut decoder: Decoder,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Delta>, Result<Map<String, Value>, Error>) {
    let mut deltas = Vec::new();
    let mut pieces = pieces.into_iter();
    let pushed = pieces.try_for_each(|piece| decoder.push(piece, &mut deltas));
    let ended = pushed.and_then(|()| decoder.finish(&mut deltas));
    (deltas, ended.map(|()| decoder.take_state()))
}

pub(crate) fn collect(deltas: Vec<Delta>) -> Reply {
    let mut collector = Collector::new();
    collector.extend(deltas);
    collector.into_reply()
}
