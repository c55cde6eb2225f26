//! How a server is to be.

use std::io;

use super::{Answer, ReceivedRequest, Server};

/// How a server is to be: see [`Server::builder`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `start` is called"]
pub struct ServerBuilder {
    pub(super) port: u16,
    pub(super) kept: usize,
}

impl ServerBuilder {
    pub(super) fn new() -> Self {
        ServerBuilder {
            port: 0,
            kept: usize::MAX,
        }
    }

    /// On this port. A free one unless told.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Keeps the last requests for [`Server::requests`], at most so many. All of them unless told, which is not for a server
    /// that is to live long.
    pub fn keep_requests(mut self, most: usize) -> Self {
        self.kept = most;
        self
    }

    /// Starts it: see [`Server::start`].
    ///
    /// # Errors
    /// The port is not to be had.
    pub async fn start(
        self,
        answers: impl Fn(&ReceivedRequest) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Server> {
        Server::start_as(&self, Box::new(answers)).await
    }
}
