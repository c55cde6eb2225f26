//! A client that sees every byte.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    Closed,
    Reset,
    Silent,
    /// The limit was read.
    Enough,
}

/// What arrived over a connection.
pub(crate) struct Seen {
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: End,
}

/// The content of a chunked body, and whether it ended properly.
pub(crate) struct Body {
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) complete: bool,
}

pub(crate) fn request(body: &str, more: &str) -> String {
    let length = body.len();
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n{more}content-length: {length}\r\n\r\n{body}"
    )
}

/// Sends one request and reads at most `most` bytes, until the connection ends.
pub(crate) async fn ask(address: SocketAddr, body: &str, most: usize) -> Seen {
    read(&mut send(address, body).await, most).await
}

/// Sends one request and reads until nothing more arrives, after something arrived if that is expected.
pub(crate) async fn ask_silent(address: SocketAddr, body: &str, begins: bool) -> Seen {
    let mut stream = send(address, body).await;
    let mut seen = Seen {
        bytes: Vec::new(),
        end: End::Enough,
    };
    if begins {
        seen.more(&mut stream).await;
    }
    // The only wait of these tests: everything before the silence is one write that has started to arrive.
    let quiet = Duration::from_millis(300);
    while seen.end == End::Enough {
        if tokio::time::timeout(quiet, seen.more(&mut stream))
            .await
            .is_err()
        {
            seen.end = End::Silent;
        }
    }
    seen
}

async fn send(address: SocketAddr, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = request(body, "connection: close\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Reads until the connection ends, or `most` bytes were read.
pub(crate) async fn read(stream: &mut TcpStream, most: usize) -> Seen {
    let mut seen = Seen {
        bytes: Vec::new(),
        end: End::Enough,
    };
    while seen.end == End::Enough && seen.bytes.len() < most {
        seen.more(stream).await;
    }
    seen
}

impl Seen {
    async fn more(&mut self, stream: &mut TcpStream) {
        match stream.read_buf(&mut self.bytes).await {
            Ok(0) => self.end = End::Closed,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => self.end = End::Reset,
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns the head, without the blank line after it.
    pub(crate) fn head(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.split()]).unwrap()
    }

    /// Returns everything after the head, unmodified.
    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.split() + 4..).unwrap_or_default()
    }

    fn split(&self) -> usize {
        let at = self.bytes.windows(4).position(|four| four == b"\r\n\r\n");
        at.unwrap_or(self.bytes.len())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(self.rest()).unwrap()
    }

    pub(crate) fn chunked(&self) -> Body {
        assert!(
            self.head().contains("transfer-encoding: chunked"),
            "{}",
            self.head()
        );
        let (mut rest, mut chunks) = (self.rest(), Vec::new());
        while let Some(line) = rest.windows(2).position(|two| two == b"\r\n") {
            let size = std::str::from_utf8(&rest[..line]).unwrap();
            let size = usize::from_str_radix(size, 16).unwrap();
            let Some(chunk) = rest.get(line + 2..line + 2 + size) else {
                break;
            };
            rest = rest.get(line + 4 + size..).unwrap_or_default();
            if size == 0 {
                return Body {
                    chunks,
                    complete: true,
                };
            }
            chunks.push(chunk.to_vec());
        }
        Body {
            chunks,
            complete: false,
        }
    }
}

impl Body {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }
}
