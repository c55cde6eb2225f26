//! Where tokens are kept.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use turnwright_core::files::{
    create_private_file, create_private_folder, open_regular_file, read_bounded, replace_file,
};

use super::grant::Grant;

/// The version of the file.
const VERSION: u32 = 1;

/// Maximum size of the file.
const MAX_BYTES: u64 = 4 << 20;

/// Where the tokens of [`OAuth`](crate::OAuth) are kept. A handle: clones share the tokens. One store can have the tokens of many
/// servers; each server gets only its own.
///
/// ```
/// use turnwright_mcp::{OAuth, TokenStore};
///
/// // Tokens survive the end of the process.
/// let tokens = TokenStore::file("/home/me/.config/my-agent/mcp-tokens.json");
/// let oauth = OAuth::new().token_store(tokens);
/// ```
#[derive(Clone)]
pub struct TokenStore(Arc<Kind>);

enum Kind {
    Memory(Mutex<BTreeMap<String, Grant>>),
    /// The lock is for this process. Other processes see whole files.
    File(PathBuf, Mutex<()>),
}

/// The content of a file. Tokens by the URL of their server.
#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    servers: BTreeMap<String, Grant>,
}

impl TokenStore {
    /// Keeps tokens in memory.
    #[must_use]
    pub fn memory() -> Self {
        TokenStore(Arc::new(Kind::Memory(Mutex::default())))
    }

    /// Keeps tokens in a file that only its owner can read (mode 0600). A missing folder is created (mode 0700). Each change replaces
    /// the file as a whole.
    ///
    /// A file that others can read is refused. Permissions are not checked on systems other than Unix.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        TokenStore(Arc::new(Kind::File(path.into(), Mutex::default())))
    }

    /// Returns the tokens of a server.
    pub(super) async fn load(&self, server: &str) -> Result<Option<Grant>, String> {
        let server = server.to_owned();
        self.blocking(move |kind| kind.load(&server)).await
    }

    /// Sets or removes the tokens of a server.
    ///
    /// # Cancel safety
    /// Once the future was polled, the change is made even if the future is dropped.
    pub(super) async fn save(&self, server: &str, grant: Option<Grant>) -> Result<(), String> {
        let server = server.to_owned();
        self.blocking(move |kind| kind.save(&server, grant)).await
    }

    /// Runs code that may read or write the file.
    async fn blocking<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Kind) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let kind = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || run(&kind)).await;
        done.unwrap_or_else(|error| Err(format!("the token store: {error}")))
    }
}

impl Kind {
    fn load(&self, server: &str) -> Result<Option<Grant>, String> {
        match self {
            Kind::Memory(grants) => Ok(grants.lock().get(server).cloned()),
            Kind::File(path, _) => {
                let mut content = read(path).map_err(|error| shown(path, &error))?;
                Ok(content.servers.remove(server))
            }
        }
    }

    fn save(&self, server: &str, grant: Option<Grant>) -> Result<(), String> {
        let change = |grants: &mut BTreeMap<String, Grant>| match grant {
            Some(grant) => grants.insert(server.to_owned(), grant),
            None => grants.remove(server),
        };
        match self {
            Kind::Memory(grants) => {
                change(&mut grants.lock());
                Ok(())
            }
            Kind::File(path, lock) => {
                let _lock = lock.lock();
                let saved = read(path).and_then(|mut content| {
                    change(&mut content.servers);
                    write(path, &content)
                });
                saved.map_err(|error| shown(path, &error))
            }
        }
    }
}

impl Default for TokenStore {
    fn default() -> Self {
        TokenStore::memory()
    }
}

impl fmt::Debug for TokenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URLs of servers may contain keys.
        match &*self.0 {
            Kind::Memory(_) => f.write_str("TokenStore::memory"),
            Kind::File(path, _) => f.debug_tuple("TokenStore::file").field(path).finish(),
        }
    }
}

fn shown(path: &Path, error: &io::Error) -> String {
    format!("the token file `{}`: {error}", path.display())
}

fn read(path: &Path) -> io::Result<Content> {
    let file = match open_regular_file(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Content {
                version: VERSION,
                servers: BTreeMap::new(),
            });
        }
        Err(error) => return Err(error),
    };
    check_permissions(&file)?;
    let text = read_bounded(file, MAX_BYTES)?;
    // The error of the parser would show parts of the file.
    let content: Content = serde_json::from_str(&text).map_err(|_| {
        io::Error::other("it is not a file of tokens: delete it to authorise again")
    })?;
    match content.version {
        VERSION => Ok(content),
        other => Err(io::Error::other(format!(
            "its version is {other}; this program reads {VERSION}"
        ))),
    }
}

#[cfg(unix)]
fn check_permissions(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let message = format!("others can access it (mode {mode:o}): set its mode to 600");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

#[cfg(not(unix))]
fn check_permissions(_: &File) -> io::Result<()> {
    Ok(())
}

/// Replaces the file: it is complete or as before.
fn write(path: &Path, content: &Content) -> io::Result<()> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        create_private_folder(folder)?;
    }
    let text = serde_json::to_vec_pretty(content)?;
    replace_file(path, &text, create_private_file)
}
