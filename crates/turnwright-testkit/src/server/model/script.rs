//! A sequence of replies.

use std::io;
use std::path::Path;
use std::str::FromStr;

use serde::Deserialize;

use super::player::Player;
use super::reply::Reply;
use crate::server::Server;

/// The replies of a model, one per request, in order. See the [module](super) for its form in files.
///
/// ```
/// use turnwright_testkit::server::model::{self, Script};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let server = Script::new([model::text("Hello!", 2)]).serve().await?;
/// assert!(server.url().starts_with("http://127.0.0.1:"));
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Script(Vec<Reply>);

impl Script {
    /// Creates a script from these replies.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Script(replies.into_iter().collect())
    }

    /// Reads a script from a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not a script. The message has the location.
    pub fn load(path: impl AsRef<Path>) -> io::Result<Self> {
        std::fs::read_to_string(path)?.parse()
    }

    /// Returns the replies, in order.
    pub fn replies(&self) -> &[Reply] {
        &self.0
    }

    /// Starts a server that plays the script in all [protocols](super::Protocol), on one port: the path of a request
    /// decides. Anything but a request for a reply or for the list of models is answered with 404 or 400 and takes no
    /// reply. So is a request after the last reply, as with [`Server::script`], and a request that breaks a rule of its
    /// protocol, except in Chat Completions. See [`Script::player`] for other settings.
    ///
    /// # Errors
    /// Fails if no port is available.
    pub async fn serve(self) -> io::Result<Server> {
        self.player().serve().await
    }

    /// Returns a player, to restrict the protocols, to change how strict it is, or for your own server.
    pub fn player(self) -> Player {
        Player::new(self.0)
    }
}

impl FromStr for Script {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        serde_json::from_str(text).map_err(|error| {
            let message = format!("not a script of replies: {error}");
            io::Error::new(io::ErrorKind::InvalidData, message)
        })
    }
}
