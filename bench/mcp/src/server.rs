//! The server: as small as possible, so that the clients are what is measured.

use std::error::Error;
use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;

use serde_json::{Value, json};

/// How long the large result is.
pub(crate) const LARGE: usize = 100_000;

/// Reads the definitions of real tools, if they are there: the name of the `server`, and the `tool`.
pub(crate) fn definitions() -> Result<Vec<Value>, String> {
    let folder = std::env::var_os("TURNWRIGHT_VECTORS").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let file = folder.unwrap_or(beside).join("mcp/tools.jsonl");
    let text = std::fs::read_to_string(&file);
    let text = text.map_err(|error| format!("{}: {error}", file.display()))?;
    let read: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    read.map_err(|error| error.to_string())
}

/// Serves until standard input ends.
pub(crate) fn serve() -> Result<(), Box<dyn Error>> {
    let many = std::env::var_os("MANY_TOOLS").is_some();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let (id, params) = (&message["id"], &message["params"]);
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "bench", "version": "1" },
            }),
            Some("tools/list") if many => json!({ "tools": many_tools()? }),
            Some("tools/list") => json!({ "tools": [{
                "name": "echo", "description": "Returns its text.",
                "inputSchema": { "type": "object", "properties": { "text": { "type": "string" }, "large": { "type": "boolean" } } },
            }] }),
            Some("tools/call") => {
                let text = if params["arguments"]["large"] == true {
                    "0123456789".repeat(LARGE / 10)
                } else {
                    params["arguments"]["text"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned()
                };
                json!({ "content": [{ "type": "text", "text": text }] })
            }
            _ if id.is_null() => continue,
            _ => {
                let error = json!({ "code": -32601, "message": "unknown method" });
                writeln!(
                    out,
                    "{}",
                    json!({ "jsonrpc": "2.0", "id": id, "error": error })
                )?;
                out.flush()?;
                continue;
            }
        };
        writeln!(
            out,
            "{}",
            json!({ "jsonrpc": "2.0", "id": id, "result": result })
        )?;
        out.flush()?;
    }
    Ok(())
}

/// 1,600 tools: the real ones, repeated under other names.
fn many_tools() -> Result<Vec<Value>, String> {
    let definitions = definitions()?;
    let many = (0..1_600).zip(definitions.iter().cycle());
    let named = many.map(|(number, definition)| {
        let mut definition = definition["tool"].clone();
        definition["name"] = format!("tool_{number}").into();
        definition
    });
    Ok(named.collect())
}
