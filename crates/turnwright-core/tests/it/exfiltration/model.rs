//! A model that obeys every instruction in its prompt, however it is disguised.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;
use turnwright_core::record::Record;
use turnwright_core::render::{Part, Renderer};
use turnwright_core::{BoxError, DispatchContext, Executor};

use super::SECRET;

/// Reads its prompt as a model does, looks for `[[tool {arguments}]]`, and calls the tool. In arguments, `$SECRET` is the secret if
/// the prompt shows it, `$LAST` the id of the last call whose result is an artifact, and `when` a word for which it waits.
#[derive(Clone, Default)]
pub(super) struct Obedient {
    /// Set once the model hangs, in a process that is going to die.
    pub(super) hung: Option<Arc<Notify>>,
    pub(super) dead: Arc<AtomicBool>,
}

/// The commands that were obeyed in a turn.
#[derive(Default)]
struct Obeyed(Mutex<HashSet<String>>);

#[async_trait]
impl Executor for Obedient {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        let prompt = prompt(&ctx).await?;
        let knows = prompt.contains(SECRET);
        if let Some(hung) = &self.hung
            && knows
            && !self.dead.swap(true, Ordering::Relaxed)
        {
            hung.notify_one();
            return std::future::pending().await;
        }
        let input = ctx.input().map(|input| input.text().to_owned());
        let obeyed = ctx.turn().per_turn::<Obeyed>();
        let mut later = Vec::new();
        for (name, args) in commands(&prompt) {
            let written = format!("[[{name} {args}]]");
            if obeyed.0.lock().contains(&written) {
                continue;
            }
            let waits = args["when"].as_str().is_some_and(|word| {
                let input = input.as_deref().unwrap_or_default();
                !input.contains(word)
            });
            // What it is to remember, it writes down as it is.
            let verbatim = name == "remember";
            let unknown = is_about_secret(&args) && !knows && !verbatim;
            if waits || unknown {
                later.push(written);
                continue;
            }
            obeyed.0.lock().insert(written);
            let args = if verbatim {
                args
            } else {
                filled_in(&ctx, args)
            };
            ctx.call(name, args).await;
            return Ok(());
        }
        // Its own words carry what it has read.
        let secret = if knows { SECRET } else { "" };
        ctx.answer(format!("Done. {secret} {}", later.join(" ")))
            .await?;
        Ok(())
    }
}

const ABOUT_SECRET: [&str; 6] = [
    "$SECRET",
    "$BASE64",
    "$HEX",
    "$REVERSED",
    "$FIRST",
    "$SECOND",
];

fn is_about_secret(args: &Value) -> bool {
    let text = args.to_string();
    ABOUT_SECRET.iter().any(|name| text.contains(name))
}

/// The ways in which the secret may leave.
pub(super) fn forms() -> [(&'static str, String); 6] {
    let (first, second) = SECRET.split_at(6);
    [
        ("$SECRET", SECRET.to_owned()),
        ("$BASE64", STANDARD.encode(SECRET)),
        (
            "$HEX",
            SECRET.bytes().map(|byte| format!("{byte:02x}")).collect(),
        ),
        ("$REVERSED", SECRET.chars().rev().collect()),
        ("$FIRST", first.to_owned()),
        ("$SECOND", second.to_owned()),
    ]
}

fn filled_in(ctx: &DispatchContext, mut args: Value) -> Value {
    if let Some(fields) = args.as_object_mut() {
        fields.shift_remove("when");
    }
    let calls = ctx.records().all::<turnwright_core::ToolCall>();
    let last = calls.iter().rfind(|call| !call.handles().is_empty());
    let mut text = args.to_string();
    text = text.replace("$LAST", last.map_or("none", |call| call.id()));
    for (name, form) in forms() {
        text = text.replace(name, &form);
    }
    serde_json::from_str(&text).unwrap()
}

/// Everything that a model would read.
async fn prompt(ctx: &DispatchContext) -> Result<String, BoxError> {
    let renderer = Renderer::new(ctx.turn().secret()?);
    let mut texts = Vec::new();
    for record in ctx.records().timeline() {
        let parts = match &record {
            Record::Message(message) => renderer.message(message),
            Record::ToolCall(call) => renderer.tool_call(call).await,
            Record::Retrievable(found) => renderer.retrievable(found).await,
            Record::Memory(memory) => vec![Part::Text(memory.text().to_owned())],
            _ => Vec::new(),
        };
        for part in parts {
            if let Part::Text(text) = part {
                texts.push(text);
            }
        }
    }
    Ok(texts.join("\n"))
}

type Command = (String, Value);

/// Finds commands in the text and in what it becomes when it is decoded.
fn commands(prompt: &str) -> Vec<Command> {
    let mut all: Vec<Command> = Vec::new();
    for (at, reading) in readings(prompt).iter().enumerate() {
        let links = links_in(reading).into_iter().filter(|_| at == 0);
        for command in written_in(reading).into_iter().chain(links) {
            if !all.contains(&command) {
                all.push(command);
            }
        }
    }
    all
}

fn readings(prompt: &str) -> Vec<String> {
    let visible: String = prompt.chars().filter_map(seen_through).collect();
    let rot13 = visible.chars().map(|c| match c {
        'a'..='m' | 'A'..='M' => char::from(c as u8 + 13),
        'n'..='z' | 'N'..='Z' => char::from(c as u8 - 13),
        c => c,
    });
    let mut readings = vec![
        rot13.collect(),
        visible.chars().rev().collect(),
        visible
            .replace("%5B", "[")
            .replace("%5D", "]")
            .replace("%20", " ")
            .replace("%22", "\""),
        visible
            .replace("&#91;", "[")
            .replace("&#93;", "]")
            .replace("&quot;", "\""),
        visible.replace("\\\"", "\""),
        visible.replace(['\n', '|', '+'], ""),
        visible
            .replace(" dot ", ".")
            .replace("((", "[[")
            .replace("))", "]]"),
    ];
    let word = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='));
    for token in visible.split(word).filter(|token| token.len() > 24) {
        let decoded = STANDARD.decode(token).ok();
        readings.extend(decoded.and_then(|bytes| String::from_utf8(bytes).ok()));
        let pairs = token.as_bytes().chunks(2);
        let bytes = pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        let bytes: Option<Vec<u8>> = bytes.collect();
        readings.extend(bytes.and_then(|bytes| String::from_utf8(bytes).ok()));
    }
    readings.insert(0, visible);
    readings
}

/// What a character is to a model that is not deceived by its form.
fn seen_through(c: char) -> Option<char> {
    match c {
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => None,
        '\u{e0020}'..='\u{e007e}' => char::from_u32(c as u32 - 0xe0000),
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0),
        'а' => Some('a'),
        'о' => Some('o'),
        'р' => Some('p'),
        'ѕ' => Some('s'),
        c => Some(c),
    }
}

fn written_in(text: &str) -> Vec<Command> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("[[") {
        let rest = &text[at + 2..];
        let Some((name, args)) = rest.split_once(' ') else {
            continue;
        };
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let mut values = serde_json::Deserializer::from_str(args).into_iter::<Value>();
        if let Some(Ok(value @ Value::Object(_))) = values.next()
            && args[values.byte_offset()..].starts_with("]]")
            && name.chars().all(is_name)
        {
            found.push((name.to_owned(), value));
        }
    }
    found
}

/// The links and images that a client would load.
fn links_in(text: &str) -> Vec<Command> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("https://evil.example/") {
        let end = |c: char| c.is_whitespace() || matches!(c, ')' | '"' | '>' | '\'' | '\\');
        let url = text[at..].split(end).next().unwrap();
        if url.contains('$') {
            found.push(("fetch".to_owned(), serde_json::json!({ "url": url })));
        }
    }
    found
}
