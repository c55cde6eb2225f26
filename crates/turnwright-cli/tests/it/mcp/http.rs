//! Messages about servers that are reached over HTTP.

use serde_json::json;
use tokio::runtime::Runtime;
use turnwright_testkit::server::{Answer, ReceivedRequest, Server};

use crate::mcp_server::Setup;
use crate::program::Ran;

/// What `mcp doctor` says about a server with these answers.
fn doctor(answer: fn(&ReceivedRequest) -> Answer, more: &serde_json::Value) -> Ran {
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(Server::start(answer)).unwrap();
    let mut entry = json!({ "url": format!("{}/mcp", server.url()) });
    for (name, value) in more.as_object().unwrap() {
        entry[name] = value.clone();
    }
    let setup = Setup::new();
    setup.write_config(&json!({ "mcpServers": { "wiki": entry } }).to_string());
    assert_eq!(setup.run(&["mcp", "trust", "--yes"]).code, 0);
    let ran = setup.run(&["mcp", "doctor"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    for other in ["McpServer::", "OAuth::", "command line"] {
        assert!(!ran.out.contains(other), "{ran:?}");
    }
    ran
}

fn unauthorised(request: &ReceivedRequest) -> Answer {
    match request.route() {
        "/mcp" => Answer::status(401),
        _ => Answer::status(404),
    }
}

#[test]
fn advice_is_about_the_keys_of_an_http_server() {
    let ran = doctor(|_| Answer::status(500), &json!({}));
    assert!(
        ran.out
            .contains("check `url` and `headers` in the configuration"),
        "{ran:?}"
    );
}

#[test]
fn a_server_that_requires_a_token_names_the_key() {
    let ran = doctor(unauthorised, &json!({ "oauth": false }));
    let why =
        "requires authorisation: set up OAuth, or send a valid token in the header `Authorization`";
    assert!(ran.out.contains(why), "{ran:?}");
    assert!(
        ran.out
            .contains("→ add a valid token to `headers`. To log in instead"),
        "{ran:?}"
    );
    let ran = doctor(unauthorised, &json!({}));
    let why = "publishes no OAuth metadata: send a token in the header `Authorization`";
    assert!(ran.out.contains(why), "{ran:?}");
}

#[test]
fn a_token_that_the_server_repeats_is_not_shown() {
    let repeats = |request: &ReceivedRequest| {
        let token = request.header("authorization").unwrap_or_default();
        let token = token.trim_start_matches("Bearer ");
        let id = request.json().unwrap_or_default()["id"].clone();
        let error = json!({ "code": -32000, "message": format!("unknown token {token}") });
        Answer::json(200, json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    };
    let headers = json!({ "Authorization": "Bearer hunter2-hunter2" });
    let ran = doctor(repeats, &json!({ "headers": headers }));
    assert!(ran.out.contains("unknown token [redacted]"), "{ran:?}");
    assert!(!ran.out.contains("hunter2"), "{ran:?}");
}
