//! An MCP server for tests, over standard input and output. It is this test binary, started again with a variable that names a
//! folder: there are its definitions, and there it writes down the calls. If there is a file `announce`, it announces after each call
//! that its definitions have changed. If there is a pipe `meet`, it waits until another server has opened the other end. If
//! there is a file `silent`, it writes the text in it to standard error instead of its definitions. Calls of a tool `hang` have no
//! answer.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::program::{Ran, program};

/// The variable with the folder, which makes this binary a server.
const FOLDER: &str = "TURNWRIGHT_TEST_MCP_FOLDER";

/// The variable with the end of the pipe that a server opens: `read` or `write`.
pub(crate) const END: &str = "TURNWRIGHT_TEST_MCP_END";

/// The configuration in the folder.
pub(crate) const CONFIG: &str = ".mcp.json";

/// A folder with a configuration of one server, `files`, and a data directory.
pub(crate) struct Setup {
    pub(crate) folder: Folder,
    pub(crate) home: Folder,
}

impl Setup {
    /// A configuration that was not used before.
    pub(crate) fn new() -> Self {
        let setup = Setup {
            folder: Folder::new(),
            home: Folder::new(),
        };
        setup.configure(&json!({}));
        setup.define(&usual());
        setup
    }

    /// A configuration that the user has agreed to, with pinned tools.
    pub(crate) fn pinned() -> Self {
        let setup = Setup::new();
        let ran = setup.run(&["mcp", "pin", "--yes"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        setup
    }

    /// Writes the configuration, with more fields for the server.
    pub(crate) fn configure(&self, more: &Value) {
        self.write_config(&self.config("files", more).to_string());
    }

    /// A configuration of the server, with this alias and more fields.
    pub(crate) fn config(&self, alias: &str, more: &Value) -> Value {
        let mut server = json!({
            "command": std::env::current_exe().unwrap(),
            "args": ["--exact", "mcp_server::runs_when_it_is_started_as_a_server", "--nocapture"],
            "env": { FOLDER: self.folder.path() },
        });
        for (name, value) in more.as_object().unwrap() {
            server[name] = value.clone();
        }
        json!({ "mcpServers": { alias: server } })
    }

    pub(crate) fn write_config(&self, text: &str) {
        self.folder.write(CONFIG, text);
    }

    /// Sets the definitions of the server.
    pub(crate) fn define(&self, tools: &Value) {
        self.folder.write("definitions.json", &tools.to_string());
    }

    /// Runs the program in the folder, without a terminal.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let mut command = program();
        let command = command
            .args(args)
            .env("TURNWRIGHT_HOME", self.home.path())
            .current_dir(self.folder.path());
        Ran::of(command, "")
    }

    /// The arguments of the calls that reached the server.
    pub(crate) fn calls(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.file("calls")).unwrap_or_default();
        let calls = text.lines().map(|line| serde_json::from_str(line).unwrap());
        calls.collect()
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.folder.file("mcp.lock.json")
    }
}

/// The definitions of a server that nothing is wrong with.
pub(crate) fn usual() -> Value {
    json!([
        definition("read_note", "Reads a note."),
        definition(
            "write_note",
            "Writes a note to a file. Existing notes are replaced."
        ),
    ])
}

pub(crate) fn definition(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object", "properties": { "text": { "type": "string", "maxLength": 40 } }, "required": ["text"],
        },
        "annotations": { "readOnlyHint": name.starts_with("read") },
    })
}

#[test]
fn runs_when_it_is_started_as_a_server() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        serve(Path::new(&folder));
        std::process::exit(0);
    }
}

fn serve(folder: &Path) {
    if folder.join("broken").exists() {
        eprintln!("reading settings\nthe \x1b[31mdatabase\x1b[0m is locked");
        std::process::exit(3);
    }
    let _pipe = folder.join("meet").exists().then(|| {
        let reads = std::env::var(END).unwrap() == "read";
        let mut pipe = std::fs::File::options();
        let pipe = pipe.read(reads).write(!reads);
        pipe.open(folder.join("meet")).unwrap()
    });
    while let Some(line) = read_line() {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let (Some(method), false) = (message["method"].as_str(), message["id"].is_null()) else {
            continue;
        };
        let params = &message["params"];
        if params["name"] == "hang" {
            continue;
        }
        let silent = std::fs::read_to_string(folder.join("silent"));
        if let ("tools/list", Ok(text)) = (method, silent) {
            eprintln!("{text}");
            continue;
        }
        let mut answer = json!({ "jsonrpc": "2.0", "id": message["id"] });
        match result(folder, method, params) {
            Some(result) => answer["result"] = result,
            None => answer["error"] = json!({ "code": -32601, "message": "unknown method" }),
        }
        send(&answer);
        if method == "tools/call" && folder.join("announce").exists() {
            let notice = "notifications/tools/list_changed";
            send(&json!({ "jsonrpc": "2.0", "method": notice }));
        }
    }
}

/// Asks the user for a colour. Returns the answer.
fn ask() -> String {
    ask_for(&json!({
        "jsonrpc": "2.0", "id": "question", "method": "elicitation/create",
        "params": {
            "message": "Which colour?",
            "requestedSchema": {
                "type": "object",
                "properties": { "colour": { "type": "string", "maxLength": 4 }, "shade": { "type": "integer" } },
                "required": ["colour"],
            },
        },
    }))
}

/// Sends a request with the id `question`. Returns the result.
fn ask_for(question: &Value) -> String {
    send(question);
    let mut lines = std::iter::from_fn(read_line);
    let answer = lines.find(|line| line.contains("\"question\"")).unwrap();
    serde_json::from_str::<Value>(&answer).unwrap()["result"].to_string()
}

/// Reads a line, or `None` at the end.
fn read_line() -> Option<String> {
    let mut line = String::new();
    let length = std::io::stdin().read_line(&mut line).unwrap();
    (length > 0).then_some(line)
}

fn send(message: &Value) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{message}").unwrap();
    out.flush().unwrap();
}

fn result(folder: &Path, method: &str, params: &Value) -> Option<Value> {
    match method {
        "initialize" => Some(json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": { "tools": { "listChanged": true }, "resources": {} },
            "serverInfo": { "name": "notes\u{1b}[2J", "version": "1.2" },
        })),
        "tools/list" => {
            let tools = std::fs::read_to_string(folder.join("definitions.json")).unwrap();
            let tools: Value = serde_json::from_str(&tools).unwrap();
            Some(json!({ "tools": tools }))
        }
        "tools/call" => {
            let mut file = std::fs::File::options();
            let file = file.append(true).create(true).open(folder.join("calls"));
            writeln!(file.unwrap(), "{}", params["arguments"]).unwrap();
            let text = match params["name"].as_str() {
                Some("ask_colour") => ask(),
                Some("ask_roots") => {
                    ask_for(&json!({ "jsonrpc": "2.0", "id": "question", "method": "roots/list" }))
                }
                _ => format!("noted: {}", params["arguments"]["text"].as_str().unwrap()),
            };
            Some(json!({ "content": [{ "type": "text", "text": text }] }))
        }
        "resources/read" => {
            Some(json!({ "contents": [{ "uri": params["uri"], "text": "a resource" }] }))
        }
        _ => None,
    }
}
