//! HTTP servers on loopback for tests of model clients in any language. They answer as configured, and fail on
//! request.
//!
//! ```
//! use serde_json::json;
//! use turnwright_testkit::server::{Answer, Server};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let server = Server::script([
//!     Answer::status(429).header("retry-after", "1"),
//!     Answer::json(200, json!({ "object": "list", "data": [] })),
//! ])
//! .await?;
//!
//! // Your client talks to `server.url()`.
//! # use std::io::{Read as _, Write as _};
//! # let address = server.address();
//! # tokio::task::spawn_blocking(move || {
//! #     let mut stream = std::net::TcpStream::connect(address)?;
//! #     stream.write_all(b"GET /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
//! #     stream.read_to_string(&mut String::new())
//! # }).await??;
//! assert_eq!(server.requests()[0].path, "/v1/models");
//! # Ok::<(), std::io::Error>(()) }).unwrap();
//! ```
//!
//! - [`Answer`]: a status, headers, and a body that may pause, hang, end too early or reset the connection
//! - [`model`]: a scripted model with five protocols
//! - [`fault`]: a table of faults of model servers

mod answer;
pub mod fault;
pub mod model;
mod play;
mod received;
mod run;
mod wire;

pub use answer::{Answer, Step};
pub use received::ReceivedRequest;
pub use run::{BODY_LIMIT, Server, ServerBuilder};
