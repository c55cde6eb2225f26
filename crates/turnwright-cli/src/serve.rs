//! `turnwright serve-script`: a model server with scripted replies.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use turnwright_testkit::server::Server;
use turnwright_testkit::server::model::{Player, Script, What};

use crate::args::ServeScript;
use crate::exit::{Exit, misuse};
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, Signals, one_line};
use crate::text;

/// The most characters of a path that are shown.
const PATH: usize = 120;

pub(crate) async fn run(options: ServeScript, mut screen: Screen) -> anyhow::Result<Exit> {
    let script = read(&options.file)?;
    let of = script.replies().len();
    let mut player = script.player();
    if options.repeat {
        player = player.repeat();
    }
    let player = Arc::new(player);
    let (server, mut requests) = start(options.port, Arc::clone(&player)).await?;
    let url = format!("{}/v1", server.url());
    // Before the address is printed: its reader may stop the server at once.
    let mut signals = Signals::listen()?;
    match screen.is_json() {
        true => screen.value(&json!({ "url": url }))?,
        false => screen.line(format_args!("listening on {url}"))?,
    }
    loop {
        tokio::select! {
            biased;
            Some(request) = requests.recv() => {
                // The server is useful even if its output is not read.
                let _ = match screen.is_json() {
                    true => screen.value(&request.as_json(of)),
                    false => screen.line(request.in_words(of)).map_err(Into::into),
                };
            }
            // Ctrl-C, or a request to terminate.
            _ = signals.next() => break,
        }
    }
    server.shutdown().await;
    let left = player.left();
    if screen.is_json() {
        screen.value(&json!({ "replies": of, "left": left }))?;
    } else if left > 0 {
        let text = format!("{left} of {of} replies were not requested");
        screen.painted(style::WARN, text)?;
    }
    Ok(Exit::Done)
}

fn read(path: &Path) -> anyhow::Result<Script> {
    let text = text::file(path, text::SCRIPT)?;
    text.parse().map_err(|error: io::Error| {
        let name = text::name_of(path);
        misuse(format!(
            "{name} is {error}. A script is a JSON array of replies, for example \
             [{{\"calls\": [{{\"name\": \"weather\", \"arguments\": {{\"city\": \"Bern\"}}}}]}}, {{\"text\": \"It rains.\"}}]. \
             See `turnwright serve-script --help`"
        ))
    })
}

/// A request and its answer.
struct Request {
    method: String,
    path: String,
    what: What,
}

async fn start(
    port: u16,
    player: Arc<Player>,
) -> anyhow::Result<(Server, UnboundedReceiver<Request>)> {
    let (note, requests) = unbounded_channel();
    // It may run for long, and its requests are not needed.
    let server = Server::builder().port(port).keep_requests(0);
    let server = server.start(move |request| {
        let played = player.answer(request);
        // Fails only while the program ends.
        let _ = note.send(Request {
            method: request.method.clone(),
            path: request.path.clone(),
            what: played.what,
        });
        played.answer
    });
    let server = server.await.map_err(|error| {
        misuse(match error.kind() {
            io::ErrorKind::AddrInUse => format!(
                "port {port} of 127.0.0.1 is in use. Choose another port, or remove `--port` to use a free one"
            ),
            _ => format!(
                "cannot listen on port {port} of 127.0.0.1: {error}. Remove `--port` to use a free port"
            ),
        })
    })?;
    Ok((server, requests))
}

impl Request {
    fn in_words(&self, of: usize) -> String {
        let (method, path) = (one_line(&self.method, PATH), one_line(&self.path, PATH));
        let answer = match self.what {
            What::Reply {
                number, streamed, ..
            } => {
                let how = if streamed { "streamed" } else { "not streamed" };
                format!("reply {} of {of}, {how}", number + 1)
            }
            What::Models => "list of models".to_owned(),
            What::Ended => {
                let text = format!("error: all {of} replies of the script were used");
                paint(style::BAD, text)
            }
            _ => paint(style::BAD, "error: unknown path"),
        };
        format!("{method} {path} → {answer}")
    }

    fn as_json(&self, of: usize) -> Value {
        let (answer, reply, streamed) = match self.what {
            What::Reply {
                number, streamed, ..
            } => ("reply", Some(number + 1), Some(streamed)),
            What::Models => ("models", None, None),
            What::Ended => ("ended", None, None),
            _ => ("refused", None, None),
        };
        json!({
            "method": self.method,
            "path": self.path,
            "answer": answer,
            "reply": reply,
            "of": of,
            "streamed": streamed,
        })
    }
}
