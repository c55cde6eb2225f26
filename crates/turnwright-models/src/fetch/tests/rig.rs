//! A server on loopback, a resolver with names for a test, and a map that dials the server for every permitted
//! address.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::fetch::{AddressGuard, Fetcher, FetcherBuilder, Resolver};

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// Sends this and closes.
    Text(String),
    /// Sends this and then nothing, until the client closes.
    Hold(String),
    /// Sends this, then repeats the second text until the client closes.
    Flood(String, Vec<u8>),
}

pub(super) fn ok(body: &str) -> Answer {
    let length = body.len();
    Answer::Text(format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}"
    ))
}

pub(super) fn redirect(to: &str) -> Answer {
    Answer::Text(format!(
        "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n"
    ))
}

/// Returns one answer after another, and repeats the last.
#[derive(Debug)]
struct Answers<T>(VecDeque<T>);

impl<T: Clone> Answers<T> {
    fn next(&mut self) -> Option<T> {
        if self.0.len() > 1 {
            return self.0.pop_front();
        }
        self.0.front().cloned()
    }
}

#[derive(Debug, Default)]
struct Seen {
    asked: Mutex<Vec<String>>,
    dialled: Mutex<Vec<IpAddr>>,
    requests: Mutex<Vec<String>>,
    /// The client closed a connection that was held or flooded.
    closed: Notify,
}

type Names = Arc<Mutex<HashMap<String, Answers<Vec<IpAddr>>>>>;

#[derive(Debug)]
pub(super) struct Rig {
    pub(super) server: SocketAddr,
    names: Names,
    seen: Arc<Seen>,
}

impl Rig {
    pub(super) async fn answering<const N: usize>(answers: [Answer; N]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        tokio::spawn(serve(listener, Answers(answers.into()), Arc::clone(&seen)));
        let names = Names::default();
        let rig = Rig {
            server,
            names,
            seen,
        };
        rig.name("media.example", &["93.184.215.14"]);
        rig
    }

    /// Sets the addresses of a name.
    pub(super) fn name(&self, name: &str, addresses: &[&str]) {
        self.name_in_turn(name, &[addresses]);
    }

    /// Sets the addresses of a name for the first lookup, the second lookup, and so on.
    pub(super) fn name_in_turn(&self, name: &str, answers: &[&[&str]]) {
        let parse = |answer: &&[&str]| answer.iter().map(|item| item.parse().unwrap()).collect();
        let answers = Answers(answers.iter().map(parse).collect());
        self.names.lock().insert(name.to_owned(), answers);
    }

    pub(super) fn builder(&self) -> FetcherBuilder {
        let (seen, server) = (Arc::clone(&self.seen), self.server);
        let dial = move |address| {
            seen.dialled.lock().push(address);
            server
        };
        let resolver = MadeUp {
            names: Arc::clone(&self.names),
            seen: Arc::clone(&self.seen),
        };
        Fetcher::builder().resolver(resolver).dial(Arc::new(dial))
    }

    pub(super) fn fetcher(&self) -> Fetcher {
        self.builder().build().unwrap()
    }

    pub(super) fn guarded(&self, guard: AddressGuard) -> Fetcher {
        self.builder().guard(guard).build().unwrap()
    }

    /// Returns the names that were looked up.
    pub(super) fn asked(&self) -> Vec<String> {
        self.seen.asked.lock().clone()
    }

    /// Returns the addresses that were permitted.
    pub(super) fn dialled(&self) -> Vec<String> {
        let dialled = self.seen.dialled.lock();
        dialled.iter().map(IpAddr::to_string).collect()
    }

    /// Returns the request heads that the server read.
    pub(super) fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().clone()
    }

    /// Waits until the client has closed a held or flooded connection. The timeout prevents a hanging test.
    pub(super) async fn closed(&self) {
        let closed = self.seen.closed.notified();
        let closed = tokio::time::timeout(Duration::from_secs(30), closed).await;
        assert!(closed.is_ok(), "the connection is still open");
    }

    #[track_caller]
    pub(super) fn saw_nothing(&self) {
        assert_eq!(self.dialled(), [""; 0]);
        assert_eq!(self.requests(), [""; 0]);
    }
}

#[derive(Debug)]
struct MadeUp {
    names: Names,
    seen: Arc<Seen>,
}

#[async_trait]
impl Resolver for MadeUp {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.seen.asked.lock().push(host.to_owned());
        let mut names = self.names.lock();
        let answers = names.get_mut(host).and_then(Answers::next);
        answers.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such name"))
    }
}

async fn serve(listener: TcpListener, mut answers: Answers<Answer>, seen: Arc<Seen>) {
    while let Ok((connection, _)) = listener.accept().await {
        let answer = answers.next().unwrap();
        let seen = Arc::clone(&seen);
        tokio::spawn(async move {
            // An error after the client closed is expected.
            let _ = converse(connection, answer, &seen).await;
        });
    }
}

async fn converse(mut connection: TcpStream, answer: Answer, seen: &Seen) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(connection.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    seen.requests.lock().push(head);
    match answer {
        Answer::Text(text) => {
            connection.write_all(text.as_bytes()).await?;
            connection.shutdown().await?;
        }
        Answer::Hold(text) => {
            connection.write_all(text.as_bytes()).await?;
            let _ = connection.read_u8().await;
            seen.closed.notify_one();
        }
        Answer::Flood(text, again) => {
            connection.write_all(text.as_bytes()).await?;
            while connection.write_all(&again).await.is_ok() {
                tokio::task::yield_now().await;
            }
            seen.closed.notify_one();
        }
    }
    Ok(())
}
