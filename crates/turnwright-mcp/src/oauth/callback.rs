//! The page on this machine to which a person is redirected after they have authorised this program.
//!
//! The page is shown and not opened: the MCP server chooses it, so a person sees its host first. The callback listens
//! on 127.0.0.1 and ignores requests without the right `state`.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use url::Url;

use super::grant::Secret;
use super::responses;

const PATH: &str = "/callback";

/// Maximum size of the head of a request.
const MAX_HEAD: u64 = 16 << 10;

/// Maximum time for a request. Browsers open connections that they do not use.
const REQUEST: Duration = Duration::from_secs(10);

/// Maximum number of connections at a time.
const MAX_CONNECTIONS: usize = 16;

const DONE: &str = "Authorisation is complete. You can close this window.";
const FAILED: &str = "Authorisation was not given. You can close this window.";
const UNKNOWN: &str = "This page is for an authorisation that is under way.";

/// A listener on this machine alone.
pub(super) struct Callback {
    listener: TcpListener,
    redirect_uri: String,
}

/// What the authorization server sent with the redirect.
#[derive(Debug)]
pub(super) struct Redirected {
    pub(super) code: Secret,
    /// `iss` of RFC 9207.
    pub(super) issuer: Option<String>,
}

impl Callback {
    /// Listens on a port, or on a free one for 0.
    pub(super) async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok(Callback {
            redirect_uri: format!("http://{address}{PATH}"),
            listener,
        })
    }

    pub(super) fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Waits for the redirect with this `state`. Other requests are answered and ignored: any program and any web page can send them.
    ///
    /// # Errors
    /// Returns why the authorization server did not authorise.
    pub(super) async fn redirected(&self, state: &str) -> Result<Redirected, String> {
        let mut connections = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(served) = connections.next(), if !connections.is_empty() => {
                    if let Some(redirected) = served {
                        return redirected;
                    }
                }
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    match accepted {
                        Ok((stream, _)) => connections.push(self.serve(stream, state)),
                        Err(error) => return Err(format!("the redirect cannot be received: {error}")),
                    }
                }
            }
        }
    }

    async fn serve(
        &self,
        mut stream: TcpStream,
        state: &str,
    ) -> Option<Result<Redirected, String>> {
        let line = timeout(REQUEST, request_line(&mut stream)).await.ok()??;
        let redirected = self.read(&line, state);
        let (status, text) = match &redirected {
            Some(Ok(_)) => ("200 OK", DONE),
            Some(Err(_)) => ("200 OK", FAILED),
            None => ("404 Not Found", UNKNOWN),
        };
        let length = text.len();
        let page = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
             Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{text}"
        );
        // The browser may be gone. What it sent counts.
        let _ = timeout(REQUEST, async {
            stream.write_all(page.as_bytes()).await?;
            stream.shutdown().await
        })
        .await;
        redirected
    }

    /// Reads the first line of a request. `None` if it is not the redirect.
    fn read(&self, line: &str, state: &str) -> Option<Result<Redirected, String>> {
        let target = line.strip_prefix("GET ")?.split(' ').next()?;
        let url = Url::parse(&self.redirect_uri).ok()?;
        let is_page = |target: &Url| target.origin() == url.origin() && target.path() == PATH;
        let url = url.join(target).ok().filter(is_page)?;
        let fields = |name: &'static str| url.query_pairs().filter(move |(key, _)| key == name);
        let field = |name| fields(name).next().map(|(_, value)| value.into_owned());
        // A field that is there twice may have been added by an attacker.
        let is_twice = |name: &&'static str| fields(name).count() > 1;
        if ["code", "error", "iss", "state"].iter().any(is_twice) {
            return None;
        }
        if field("state").as_deref() != Some(state) {
            return None;
        }
        Some(match (field("code"), field("error")) {
            (Some(code), None) if !code.is_empty() => Ok(Redirected {
                code: Secret::new(code),
                issuer: field("iss"),
            }),
            (_, Some(error)) => {
                let code = responses::error_code(&error).unwrap_or("an unknown error");
                Err(format!("the authorization server answered `{code}`"))
            }
            _ => Err("the authorization server sent no code".to_owned()),
        })
    }
}

/// Reads the head of a request, and returns its first line. `None` if there is none.
async fn request_line(stream: &mut TcpStream) -> Option<String> {
    let mut lines = BufReader::new(stream.take(MAX_HEAD)).lines();
    let first = lines.next_line().await.ok()??;
    while !lines.next_line().await.ok()??.is_empty() {}
    Some(first)
}
