//! The lock file: pins of servers and their tools.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use turnwright_core::call::digest_of;
use turnwright_core::files::{read_regular_file, replace_file};
use turnwright_core::schema::is_invisible;

use crate::definition::Definition;

/// Maximum size of a lock file.
const MAX_BYTES: u64 = 64 << 20;

/// The version of the format.
const VERSION: u32 = 1;

/// Pins by the aliases of servers, as in `mcp.lock.json`.
///
/// ```
/// use turnwright_mcp::LockFile;
///
/// let lock = LockFile::default();
/// let text = lock.to_json();
/// assert_eq!(LockFile::from_json(&text).unwrap(), lock);
/// assert!(LockFile::from_json(r#"{"version": 2, "servers": {}}"#).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockFile {
    version: u32,
    /// The pins, by alias.
    pub servers: BTreeMap<String, LockedServer>,
}

/// The pins of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedServer {
    /// Digest of all that follows.
    pub pin: String,
    /// Digest of the command line or the URL. Either may contain a secret, so they are not stored.
    pub source: String,
    /// The instructions of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The tools, by the names that the server uses.
    pub tools: BTreeMap<String, LockedTool>,
}

/// The pin of one tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedTool {
    /// Digest of the definition.
    pub pin: String,
    /// The definition as the server sent it, to show differences.
    pub definition: Value,
}

impl LockedServer {
    /// Creates the pins of what a server says.
    pub(crate) fn of<'d>(
        source: String,
        instructions: Option<String>,
        definitions: impl IntoIterator<Item = &'d Definition>,
    ) -> Self {
        let tools = definitions.into_iter().map(|definition| {
            let tool = LockedTool {
                pin: definition.pin().to_owned(),
                definition: definition.raw().clone(),
            };
            (definition.name().to_owned(), tool)
        });
        let mut server = LockedServer {
            pin: String::new(),
            source,
            instructions,
            tools: tools.collect(),
        };
        server.pin = server.digest();
        server
    }

    fn digest(&self) -> String {
        let pins = self.tools.iter();
        let pins: BTreeMap<&String, &String> = pins.map(|(name, tool)| (name, &tool.pin)).collect();
        digest_of(&json!({
            "source": self.source, "instructions": self.instructions, "tools": pins,
        }))
    }

    /// Returns what does not fit its pin.
    fn damage(&self) -> Option<String> {
        let mut tools = self.tools.iter();
        if let Some((name, _)) = tools.find(|(_, tool)| digest_of(&tool.definition) != tool.pin) {
            return Some(format!("the definition of `{name}` does not fit its pin"));
        }
        (self.digest() != self.pin).then(|| "its pin does not fit its content".to_owned())
    }
}

impl Default for LockFile {
    fn default() -> Self {
        LockFile {
            version: VERSION,
            servers: BTreeMap::new(),
        }
    }
}

impl LockFile {
    /// Reads the JSON of a lock file.
    ///
    /// # Errors
    /// The text is not a lock file, has another version, or was edited so that pins do not fit.
    pub fn from_json(text: &str) -> Result<Self, LockFileError> {
        LockFile::parse(text).map_err(|why| LockFileError(format!("lock file: {why}")))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let lock: LockFile =
            serde_json::from_str(text).map_err(|error| format!("it cannot be read: {error}"))?;
        if lock.version != VERSION {
            let version = lock.version;
            return Err(format!(
                "its version is {version}; this program reads {VERSION}"
            ));
        }
        let damage = |(alias, server): (&String, &LockedServer)| {
            let damage = server.damage()?;
            Some(format!("server `{alias}`: {damage}"))
        };
        match lock.servers.iter().find_map(damage) {
            Some(damage) => Err(damage),
            None => Ok(lock),
        }
    }

    /// Returns the JSON of the file.
    #[must_use]
    pub fn to_json(&self) -> String {
        // It has no maps with other keys than strings, so it cannot fail.
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        let mut escaped = String::with_capacity(text.len() + 1);
        for ch in text.chars() {
            // A reviewer must see them. They occur only in strings.
            if ch != '\n' && (ch.is_control() || is_invisible(ch)) {
                let units = ch.encode_utf16(&mut [0; 2]).to_vec();
                escaped.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            } else {
                escaped.push(ch);
            }
        }
        escaped.push('\n');
        escaped
    }

    /// Reads a file. `None` if there is none.
    ///
    /// # Errors
    /// The file cannot be read, or see [`from_json`](Self::from_json).
    pub fn read(path: impl AsRef<Path>) -> Result<Option<Self>, LockFileError> {
        let path = path.as_ref();
        let read = match read_regular_file(path, MAX_BYTES) {
            Ok(text) => LockFile::parse(&text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        };
        read.map_err(|why| LockFileError::of(path, &why))
    }

    /// Writes a file. It appears complete or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), LockFileError> {
        let path = path.as_ref();
        replace_file(path, self.to_json().as_bytes(), |path| {
            File::create_new(path)
        })
        .map_err(|error| LockFileError::of(path, &error.to_string()))
    }
}

/// A lock file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LockFileError(String);

impl LockFileError {
    fn of(path: &Path, why: &str) -> Self {
        LockFileError(format!("lock file `{}`: {why}", path.display()))
    }
}
