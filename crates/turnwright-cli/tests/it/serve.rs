//! `turnwright serve-script`: a model server for other people's tests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};
use turnwright::Effects;
use turnwright::prelude::*;

use crate::folder::Folder;
use crate::program::{program, run, run_with};

const SCRIPT: &str = r#"[
    { "calls": [{ "name": "weather", "arguments": { "city": "Bern" } }] },
    { "text": "It rains in Bern." }
]"#;

/// A server that runs until the test is over.
struct Served {
    child: Child,
    /// `None` once the output is closed.
    out: Option<BufReader<ChildStdout>>,
    /// What it said first.
    first: String,
}

impl Served {
    fn new(script: &str, more: &[&str]) -> Self {
        let mut child = program()
            .args(["serve-script", "-"])
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(script.as_bytes()).unwrap();
        drop(input);
        let mut served = Served {
            out: child.stdout.take().map(BufReader::new),
            child,
            first: String::new(),
        };
        served.first = served.line();
        served
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.as_mut().unwrap().read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn json(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Up to and with `/v1`.
    fn url(&self) -> String {
        match serde_json::from_str::<Value>(&self.first) {
            Ok(message) => message["url"].as_str().unwrap().to_owned(),
            Err(_) => self.first.strip_prefix("listening on ").unwrap().to_owned(),
        }
    }

    /// Asks it to end, and gives its code and what it said last.
    fn end(mut self, signal: &str) -> (i32, String) {
        let pid = self.child.id().to_string();
        let sent = crate::program::command("kill")
            .args([signal, &pid])
            .status();
        assert!(sent.unwrap().success());
        let mut rest = String::new();
        self.out
            .as_mut()
            .unwrap()
            .read_to_string(&mut rest)
            .unwrap();
        (self.child.wait().unwrap().code().unwrap_or(-1), rest)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The answer to a request as any client may make it: the status, and the body.
fn ask(url: &str, method: &str, path: &str, body: &str) -> (u16, String) {
    ask_with(url, method, path, "x: y", body)
}

/// The same with this header.
fn ask_with(url: &str, method: &str, path: &str, header: &str, body: &str) -> (u16, String) {
    let host = url
        .strip_prefix("http://")
        .unwrap()
        .strip_suffix("/v1")
        .unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let length = body.len();
    let head =
        format!("{method} /v1{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{header}\r\n");
    write!(stream, "{head}content-length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap();
    (status.parse().unwrap(), body.to_owned())
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_with_a_tool_is_served_and_every_request_is_logged() {
    let mut served = Served::new(SCRIPT, &[]);
    assert!(
        served.url().starts_with("http://127.0.0.1:"),
        "{}",
        served.first
    );
    let model = ChatCompletions::builder(served.url()).model("m").no_proxy();
    let weather = Tool::dynamic("weather", json!({ "type": "object" }))
        .description("The weather.")
        .effects(Effects::ReadOnly)
        .handler(|args: Value, _: ToolContext| async move { format!("rain in {}", args["city"]) })
        .build();
    let runner = turnwright::runner(model.build().unwrap());
    let runner = runner.tool(weather).build().unwrap();
    let outcome = runner.run("How is Bern?").await;
    assert_eq!(outcome.tool_calls().count(), 1);
    assert_eq!(outcome.into_answer().unwrap(), "It rains in Bern.");
    for number in [1, 2] {
        let message =
            format!("POST /v1/chat/completions → chat_completions, reply {number} of 2, streamed");
        assert_eq!(served.line(), message);
    }
    assert_eq!(served.end("-INT"), (0, String::new()));
}

#[cfg(unix)]
#[test]
fn json_output_has_requests_and_unused_replies() {
    let mut served = Served::new(SCRIPT, &["--json"]);
    let url = served.url();
    let (status, models) = ask(&url, "GET", "/models", "");
    let models: Value = serde_json::from_str(&models).unwrap();
    assert_eq!(
        (status, &models["data"][0]["id"]),
        (200, &json!("scripted"))
    );
    assert_eq!(
        served.json(),
        json!({
            "method": "GET", "path": "/v1/models", "protocol": "chat_completions", "answer": "models", "reply": null, "of": 2,
            "streamed": null, "problem": null,
        })
    );
    let (status, reply) = ask(&url, "POST", "/chat/completions", "{}");
    assert_eq!(status, 200);
    assert!(
        reply.contains("\"finish_reason\":\"tool_calls\""),
        "{reply}"
    );
    assert_eq!(
        served.json(),
        json!({
            "method": "POST", "path": "/v1/chat/completions", "protocol": "chat_completions", "answer": "reply", "reply": 1,
            "of": 2, "streamed": false, "problem": null,
        })
    );
    assert_eq!(ask(&url, "POST", "/embeddings", "{}").0, 404);
    let refused = served.json();
    assert_eq!(
        (&refused["answer"], &refused["protocol"]),
        (&json!("refused"), &json!(null))
    );
    assert!(
        refused["problem"].as_str().unwrap().contains("are served"),
        "{refused}"
    );
    let (code, rest) = served.end("-TERM");
    assert_eq!((code, rest.as_str()), (0, "{\"replies\":2,\"left\":1}\n"));
}

/// A request of each protocol, its path after `/v1`, and a header that it needs.
const REQUESTS: [(&str, &str, &str, &str); 5] = [
    (
        "chat_completions",
        "/chat/completions",
        "x: y",
        r#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#,
    ),
    (
        "responses",
        "/responses",
        "x: y",
        r#"{"model":"m","input":"Hi"}"#,
    ),
    (
        "anthropic",
        "/messages",
        "x-api-key: k\r\nanthropic-version: 2023-06-01",
        r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}"#,
    ),
    (
        "gemini",
        "/v1beta/models/m:generateContent",
        "x-goog-api-key: k",
        r#"{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}"#,
    ),
    (
        "ollama",
        "/api/chat",
        "x: y",
        r#"{"model":"m","stream":false,"messages":[{"role":"user","content":"Hi"}]}"#,
    ),
];

#[cfg(unix)]
#[test]
fn all_protocols_are_served_and_named() {
    let mut served = Served::new(r#"[{ "text": "It rains." }]"#, &["--strict", "--repeat"]);
    let url = served.url();
    for (name, path, header, body) in REQUESTS {
        let (status, reply) = ask_with(&url, "POST", path, header, body);
        assert_eq!(status, 200, "{reply}");
        assert!(reply.contains("It rains."), "{reply}");
        let line = format!("POST /v1{path} → {name}, reply 1 of 1, not streamed");
        assert_eq!(served.line(), line);
        // The rules are checked, and the reason is shown.
        let (status, _) = ask_with(&url, "POST", path, header, "{}");
        assert_eq!(status, 400);
        let line = served.line();
        assert!(
            line.starts_with(&format!("POST /v1{path} → {name}, error: ")),
            "{line}"
        );
    }
}

#[test]
fn one_protocol_can_be_served_alone_with_its_own_base_url() {
    for (only, ..) in REQUESTS {
        let served = Served::new(
            r#"[{ "text": "It rains." }]"#,
            &["--protocol", only, "--lenient", "--repeat"],
        );
        let url = served.url();
        let versioned = matches!(only, "chat_completions" | "responses");
        assert_eq!(url.ends_with("/v1"), versioned, "{url}");
        let url = format!("{}/v1", url.trim_end_matches("/v1"));
        for (name, path, ..) in REQUESTS {
            let (status, _) = ask(&url, "POST", path, "{}");
            assert_eq!(
                status,
                if name == only { 200 } else { 404 },
                "{only}: {path}"
            );
        }
    }
    let ran = run_with(&["serve-script", "-", "--protocol", "smtp"], SCRIPT);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err
            .contains("chat_completions, responses, anthropic, gemini, ollama"),
        "{}",
        ran.err
    );
}

#[cfg(unix)]
#[test]
fn a_script_ends_or_repeats_after_its_last_reply() {
    let mut once = Served::new(r#"[{ "text": "Hi" }]"#, &[]);
    let mut again = Served::new(r#"[{ "text": "Hi" }]"#, &["--repeat"]);
    for served in [&mut once, &mut again] {
        let (_, reply) = ask(&served.url(), "POST", "/chat/completions", "{}");
        assert!(reply.contains("\"Hi\""), "{reply}");
        served.line();
    }
    let (status, reply) = ask(&once.url(), "POST", "/chat/completions", "{}");
    assert_eq!(status, 400);
    assert!(reply.contains("script_ended"), "{reply}");
    assert!(once.line().contains("replies of the script were used"));
    let (status, reply) = ask(&again.url(), "POST", "/chat/completions", "{}");
    assert_eq!(status, 200);
    assert!(reply.contains("\"Hi\""), "{reply}");
    assert!(again.line().ends_with("reply 1 of 1, not streamed"));
    assert_eq!(again.end("-INT"), (0, String::new()));
    let unasked = Served::new(SCRIPT, &[]);
    let (code, rest) = unasked.end("-INT");
    assert_eq!(
        (code, rest.as_str()),
        (0, "2 of 2 replies were not requested\n")
    );
}

#[test]
fn the_server_continues_if_its_output_is_closed() {
    let mut served = Served::new(r#"[{ "text": "Hi" }, { "text": "Ho" }]"#, &[]);
    let url = served.url();
    // The reader has the address and closes the output.
    served.out = None;
    for word in ["Hi", "Ho"] {
        let (status, reply) = ask(&url, "POST", "/chat/completions", "{}");
        assert_eq!(status, 200);
        assert!(reply.contains(word), "{reply}");
    }
}

#[test]
fn a_port_in_use_is_reported_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = run_with(&["serve-script", "-", "--port", &port], SCRIPT);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    let messages = format!(
        "error: port {port} of 127.0.0.1 is in use. Choose another port, or remove `--port` to use a free one\n"
    );
    assert_eq!(ran.err, messages);
}

#[test]
fn a_free_port_is_used_as_requested() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    let served = Served::new(SCRIPT, &["--port", &port]);
    assert_eq!(served.url(), format!("http://127.0.0.1:{port}/v1"));
}

#[test]
fn invalid_script_is_refused_with_its_place_and_an_example() {
    let folder = Folder::new();
    let file = folder.write("bad.json", "[\n  { \"txet\": \"Hello\" }\n]");
    let ran = run(&["serve-script", &file]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    for word in [
        "bad.json` is not a script",
        "`txet`",
        "line 2 column 10",
        "{\"text\": ",
    ] {
        assert!(ran.err.contains(word), "{word} is missing in {}", ran.err);
    }
    let missing = run(&["serve-script", "no-such-script.json"]);
    assert_eq!(missing.code, 2);
    assert!(
        missing
            .err
            .contains("cannot read the script from `no-such-script.json`")
    );
    for text in ["", "{}", "[1]", "[{\"calls\": [{}]}]"] {
        let ran = run_with(&["serve-script", "-"], text);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{text}");
        assert!(
            ran.err.contains("standard input is not a script"),
            "{}",
            ran.err
        );
    }
}
