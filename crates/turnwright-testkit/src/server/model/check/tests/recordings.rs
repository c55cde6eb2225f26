//! Requests that real servers accepted, which are not part of this repository.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde_json::Value;

use crate::server::ReceivedRequest;
use crate::server::model::check::check;
use crate::server::model::protocol::Protocol;

/// Why a request that a real server accepted is rejected here: parts of the message.
const STRICTER: [(Protocol, &[&str]); 5] = [
    // Extensions of other servers than OpenAI's.
    (
        Protocol::ChatCompletions,
        &["(got \"document_url\")", "(got \"image_url\")"],
    ),
    // Ids and ciphertexts were removed from the recordings. One client did not send `strict`.
    (
        Protocol::Responses,
        &[
            "not issued by this server",
            "not found",
            "strict: is required",
        ],
    ),
    // One conversation starts with a call.
    (
        Protocol::Anthropic,
        &["not issued by this server", "first message must use"],
    ),
    // Some contents of the user come in a row, and a name of a field was wrong. The client moved the signatures of texts
    // to thoughts, and the signatures of calls were removed from the recordings or, with a model that did not think,
    // never there.
    (
        Protocol::Gemini,
        &[
            "contents must alternate",
            "allowed_function_names: is not a known property",
            "not issued by this server",
            "did not come with this part",
            "missing a thought_signature",
        ],
    ),
    (Protocol::Ollama, &[]),
];

#[test]
fn requests_that_real_servers_accepted_are_rejected_only_for_known_reasons() {
    let Some(root) = wire() else { return };
    for (protocol, reasons) in STRICTER {
        let folder = match protocol {
            Protocol::ChatCompletions => "chat_completions",
            Protocol::Responses => "openai_responses",
            Protocol::Anthropic => "anthropic_messages",
            Protocol::Gemini => "gemini",
            Protocol::Ollama => "ollama",
        };
        let (mut accepted, mut stricter, mut unknown) = (0, 0, Vec::new());
        for path in files(&root.join(folder)) {
            for request in accepted_requests(&path) {
                match check(protocol, &request) {
                    Ok(()) => accepted += 1,
                    Err(why) => {
                        stricter += 1;
                        if !reasons.iter().any(|reason| why.contains(reason)) {
                            unknown.push(format!("{}: {why}", path.display()));
                        }
                    }
                }
            }
        }
        assert!(accepted > 0, "{protocol}");
        assert!(unknown.is_empty(), "{}", unknown.join("\n"));
        println!(
            "{protocol}: {accepted} recorded requests accepted, {stricter} rejected for known reasons"
        );
    }
}

/// Returns the requests of a recording that were accepted, with the headers that recordings lack.
fn accepted_requests(path: &Path) -> Vec<ReceivedRequest> {
    let exchanges: Vec<Value> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let headers = [
        ("x-api-key", "k"),
        ("anthropic-version", "2023-06-01"),
        ("x-goog-api-key", "k"),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let accepted = exchanges.iter().filter(|exchange| {
        exchange["response"]["status"].as_u64() < Some(400)
            && exchange["request"]["body"].is_object()
    });
    let requests = accepted.map(|exchange| ReceivedRequest {
        number: 0,
        method: "POST".to_owned(),
        path: exchange["request"]["path"].as_str().unwrap().to_owned(),
        headers: headers.to_vec(),
        body: Bytes::from(changed(exchange["request"]["body"].clone()).to_string()),
    });
    requests.collect()
}

/// Changes two habits of the recorded client that would hide everything else.
fn changed(mut body: Value) -> Value {
    let tools = body.get_mut("tools").and_then(Value::as_array_mut);
    for tool in tools.into_iter().flatten() {
        // Responses: it did not send `strict`.
        if tool["type"] == "function"
            && tool.get("function").is_none()
            && tool.get("strict").is_none()
        {
            tool["strict"] = false.into();
        }
        // Gemini: it rewrote schemas.
        let declarations = tool
            .get_mut("functionDeclarations")
            .and_then(Value::as_array_mut);
        for declaration in declarations.into_iter().flatten() {
            let declaration = declaration.as_object_mut().unwrap();
            if let Some(schema @ Value::Object(_)) = declaration.remove("parameters") {
                declaration.insert("parametersJsonSchema".to_owned(), schema);
            }
        }
    }
    body
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|item| item == "json") {
                files.push(path);
            }
        }
    }
    files
}

fn wire() -> Option<PathBuf> {
    let separate = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire");
    let root = std::env::var_os("TURNWRIGHT_WIRE").map_or(separate, PathBuf::from);
    if !root.is_dir() {
        let place = root.display();
        println!(
            "SKIPPED: there are no recordings of real servers at {place}; set TURNWRIGHT_WIRE"
        );
        return None;
    }
    Some(root)
}
