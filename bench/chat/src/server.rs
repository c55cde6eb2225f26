//! A model server on loopback that answers immediately, in a separate process, so that its cost is not measured.

use std::collections::VecDeque;
use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use memchr::memmem;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use turnwright_models::Protocol;

use crate::script::{CALLS, Script, mark_of_result, response};

/// The server; stops when dropped.
pub(crate) struct Server {
    child: Child,
    port: u16,
}

impl Server {
    pub(crate) fn start() -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().ok_or("the server printed nothing")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let port = line.trim().parse()?;
        Ok(Server { child, port })
    }

    /// Returns the base URL of a script in a protocol.
    pub(crate) fn url(&self, script: Script, protocol: Protocol) -> String {
        let (port, script, protocol) = (self.port, script.path(), protocol.name());
        format!("http://127.0.0.1:{port}/{script}/{protocol}/v1")
    }

    /// Returns the sizes of the requests since the last call, including heads.
    pub(crate) fn sizes(&self, runtime: &Runtime) -> Result<Vec<usize>, Box<dyn Error>> {
        let text = runtime.block_on(async {
            let mut socket = TcpStream::connect(("127.0.0.1", self.port)).await?;
            socket.write_all(b"GET /sizes HTTP/1.1\r\n\r\n").await?;
            let mut text = String::new();
            socket.read_to_string(&mut text).await?;
            Ok::<String, Box<dyn Error>>(text)
        })?;
        let sizes: Result<Vec<usize>, _> = text.split_whitespace().map(str::parse).collect();
        Ok(sizes?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The responses of a script in a protocol.
struct Responses {
    /// How the paths of its requests begin.
    path: String,
    mark_of_result: &'static str,
    /// The writes of each response, by the number of tool results in the prompt.
    writes: Vec<Vec<Vec<u8>>>,
}

type Sizes = Mutex<VecDeque<usize>>;

/// Serves until the parent process ends.
pub(crate) fn serve() -> Result<(), Box<dyn Error>> {
    thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let of = |script: Script, protocol: Protocol| Responses {
        path: format!("/{}/{}/", script.path(), protocol.name()),
        mark_of_result: mark_of_result(protocol),
        writes: (0..=CALLS)
            .map(|results| response(script, protocol, results))
            .collect(),
    };
    let all = Script::ALL
        .into_iter()
        .flat_map(|script| Protocol::ALL.map(|protocol| of(script, protocol)));
    let (responses, sizes) = (Arc::new(Vec::from_iter(all)), Arc::new(Sizes::default()));
    let runtime = Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        println!("{}", listener.local_addr()?.port());
        loop {
            let (socket, _) = listener.accept().await?;
            socket.set_nodelay(true)?;
            let (responses, sizes) = (Arc::clone(&responses), Arc::clone(&sizes));
            tokio::spawn(async move {
                // A disconnecting client ends the task.
                let _ = answer(socket, &responses, &sizes).await;
            });
        }
    })
}

async fn answer(
    mut socket: TcpStream,
    responses: &[Responses],
    sizes: &Sizes,
) -> Result<(), Box<dyn Error>> {
    let mut read = Vec::with_capacity(16 * 1024);
    loop {
        let head = loop {
            if let Some(at) = memmem::find(&read, b"\r\n\r\n") {
                break at + 4;
            }
            if socket.read_buf(&mut read).await? == 0 {
                return Ok(());
            }
        };
        let text = std::str::from_utf8(&read[..head])?.to_owned();
        if text.starts_with("GET /sizes ") {
            let sizes: Vec<String> = {
                let mut sizes = sizes.lock().unwrap_or_else(PoisonError::into_inner);
                sizes.drain(..).map(|size| size.to_string()).collect()
            };
            socket.write_all(sizes.join(" ").as_bytes()).await?;
            return Ok(());
        }
        let complete = head + length(&text)?;
        while read.len() < complete {
            if socket.read_buf(&mut read).await? == 0 {
                return Ok(());
            }
        }
        let path = text.split(' ').nth(1).ok_or("a request without a path")?;
        let found = responses
            .iter()
            .find(|responses| path.starts_with(&responses.path))
            .ok_or("no such script")?;
        let results = memmem::find_iter(&read[head..complete], found.mark_of_result).count();
        {
            let mut sizes = sizes.lock().unwrap_or_else(PoisonError::into_inner);
            sizes.truncate(CALLS);
            sizes.push_front(complete);
        }
        for piece in &found.writes[results.min(CALLS)] {
            socket.write_all(piece).await?;
        }
        read.drain(..complete);
    }
}

fn length(head: &str) -> Result<usize, Box<dyn Error>> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let line = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let (_, value) = line.ok_or("a request without a length")?;
    Ok(value.trim().parse()?)
}
