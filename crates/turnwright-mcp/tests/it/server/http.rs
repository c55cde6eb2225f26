//! The server for tests over HTTP. It writes bytes itself, because no library would let it misbehave.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use turnwright_mcp::McpServer;

use super::behaviour::{Action, Behaviour};

/// A server on loopback, until it is dropped.
pub(crate) struct HttpServer {
    url: String,
    task: JoinHandle<()>,
    mode: watch::Sender<String>,
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl HttpServer {
    pub(crate) async fn start(mode: &str, folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let behaviour = Arc::new(Mutex::new(Behaviour::new(mode, folder)));
        let mode = watch::Sender::new(mode.to_owned());
        let current = mode.subscribe();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (behaviour, mode) = (Arc::clone(&behaviour), current.borrow().clone());
                // A client that goes away is no error.
                tokio::spawn(async move { serve(stream, &behaviour, &mode).await.ok() });
            }
        });
        HttpServer { url, task, mode }
    }

    /// Changes how the transport behaves from now on.
    pub(crate) fn becomes(&self, mode: &str) {
        self.mode.send_replace(mode.to_owned());
    }

    /// Ends the server, and waits until it has ended.
    pub(crate) async fn end(mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    /// Returns the server for a client.
    pub(crate) fn server(&self) -> McpServer {
        McpServer::http(&self.url).alias("test")
    }
}

async fn serve(
    mut stream: TcpStream,
    behaviour: &Mutex<Behaviour>,
    mode: &str,
) -> std::io::Result<()> {
    let Some((method, session, body)) = read(&mut stream).await? else {
        return Ok(());
    };
    let plain = |status: &str, more: &str| {
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n{more}\r\n")
    };
    if method == "GET" && mode == "session-large-stream" {
        return endless_event(&mut stream).await;
    }
    if method != "POST" {
        return stream
            .write_all(plain("405 Method Not Allowed", "").as_bytes())
            .await;
    }
    let is_call = serde_json::from_slice::<Value>(&body)
        .is_ok_and(|message| message["method"] == "tools/call");
    if is_call && mode == "large-event" {
        return endless_event(&mut stream).await;
    }
    let refusal = match mode {
        "session-1" | "session-2" if session.as_deref().is_some_and(|session| session != mode) => {
            Some(plain("404 Not Found", ""))
        }
        "busy-at-calls" if is_call => Some(plain("429 Too Many Requests", "Retry-After: 7\r\n")),
        "fails-at-calls" if is_call => Some(plain("500 Internal Server Error", "")),
        "rejects-calls" if is_call => Some(plain("413 Content Too Large", "")),
        "redirects" => Some(plain("307 Temporary Redirect", "Location: http://127.0.0.1:1/\r\n")),
        "unauthorised" => Some(plain("401 Unauthorized", "WWW-Authenticate: Bearer\r\n")),
        "not-found" | "old-transport" => Some(plain("404 Not Found", "")),
        "fails" => Some(plain("500 Internal Server Error", "")),
        "login-page" => Some(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\n\r\n<html>Log in</html>".to_owned(),
        ),
        _ => None,
    };
    if let Some(refusal) = refusal {
        return stream.write_all(refusal.as_bytes()).await;
    }
    let Ok(message) = serde_json::from_slice::<Value>(&body) else {
        return stream
            .write_all(plain("400 Bad Request", "").as_bytes())
            .await;
    };
    let actions = {
        let mut behaviour = behaviour.lock();
        let mut actions = behaviour.starts();
        actions.extend(behaviour.receives(&message));
        actions
    };
    if actions.is_empty() && message.get("id").is_none() {
        return stream.write_all(plain("202 Accepted", "").as_bytes()).await;
    }
    let answer = match actions.as_slice() {
        [Action::Send(answer)] if mode == "large-json" && message["method"] == "tools/call" => {
            answer
        }
        _ => &Value::Null,
    };
    if !answer.is_null() {
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n";
        stream.write_all(head.as_bytes()).await?;
        return stream.write_all(answer.to_string().as_bytes()).await;
    }
    // The name of the session is the mode in which it began.
    let head = format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n{}\r\n",
        if mode.starts_with("session") && message["method"] == "initialize" {
            format!("Mcp-Session-Id: {mode}\r\n")
        } else {
            String::new()
        }
    );
    stream.write_all(head.as_bytes()).await?;
    for action in actions {
        match action {
            Action::Send(message) => event(&mut stream, &message.to_string()).await?,
            Action::Text(text) => event(&mut stream, &text).await?,
            Action::Endless(text) => {
                stream.write_all(b"data: ").await?;
                loop {
                    stream.write_all(text.repeat(4_096).as_bytes()).await?;
                }
            }
            Action::Repeat(message) => loop {
                event(&mut stream, &message.to_string()).await?;
            },
            Action::Exit => return Ok(()),
        }
    }
    if message["method"].is_string() && matches!(mode, "silent" | "never" | "silent-list") {
        // Keeps the response open.
        std::future::pending::<()>().await;
    }
    Ok(())
}

/// Sends a stream that can be resumed, with an event that never ends.
async fn endless_event(stream: &mut TcpStream) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\nid: 1\ndata:\n\ndata: ";
    stream.write_all(head.as_bytes()).await?;
    loop {
        stream.write_all(&[b'x'; 4_096]).await?;
    }
}

async fn event(stream: &mut TcpStream, data: &str) -> std::io::Result<()> {
    stream
        .write_all(format!("data: {data}\n\n").as_bytes())
        .await
}

/// Reads a request: its method, its session and its body.
async fn read(
    stream: &mut TcpStream,
) -> std::io::Result<Option<(String, Option<String>, Vec<u8>)>> {
    let mut bytes = Vec::new();
    let end = loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let length: usize = length.unwrap_or(0);
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
    let method = head
        .split(' ')
        .next()
        .unwrap_or_default()
        .to_ascii_uppercase();
    let session = head
        .lines()
        .find_map(|line| line.strip_prefix("mcp-session-id: "));
    let session = session.map(str::to_owned);
    Ok(Some((method, session, bytes[end..end + length].to_vec())))
}
