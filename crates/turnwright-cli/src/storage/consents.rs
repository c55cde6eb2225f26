//! The files of other people that the user has agreed to use.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use turnwright::files::read_regular_file;

use super::NewFile;
use super::home;
use crate::exit::misuse;

/// The file in the data directory.
const FILE: &str = "mcp-consent.json";

/// Maximum size of the file.
const MAX_BYTES: u64 = 16 << 20;

/// What the user has agreed to, by path.
pub(crate) struct Consents {
    file: PathBuf,
    given: BTreeMap<String, Consent>,
}

/// What the user has agreed to. Only digests are stored: there may be secrets in a file and in variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Consent {
    /// Digest of the path and the text.
    pub(crate) file: String,
    /// Digests of values with variables, after these were expanded, by their keys.
    pub(crate) expanded: BTreeMap<String, String>,
}

impl Consents {
    /// Reads them. A file that is missing counts as empty.
    ///
    /// # Errors
    /// The file is damaged or cannot be read. It is left as it is, because the next answer would replace all answers in it.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let file = home()?.join(FILE);
        let given = match read_regular_file(&file, MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(error.to_string()),
            Ok(text) => serde_json::from_str(&text).map_err(|error| error.to_string()),
        };
        match given {
            Ok(given) => Ok(Consents { file, given }),
            Err(why) => Err(misuse(format!(
                "the file with your answers about MCP configurations, `{}`, is damaged: {why}. Restore it, or delete it to be asked \
                 again about each configuration",
                file.display()
            ))),
        }
    }

    /// What the user has agreed to for this file.
    pub(crate) fn of(&self, path: &Path) -> Option<&Consent> {
        self.given.get(&*path.to_string_lossy())
    }

    /// Stores that the user has agreed.
    pub(crate) fn add(mut self, path: &Path, consent: Consent) -> anyhow::Result<()> {
        let path = path.to_string_lossy().into_owned();
        self.given.insert(path, consent);
        self.write()
            .with_context(|| format!("cannot write `{}`", self.file.display()))
    }

    fn write(&self) -> anyhow::Result<()> {
        if let Some(folder) = self.file.parent() {
            turnwright::files::create_private_folder(folder)?;
        }
        let mut file = NewFile::create(&self.file)?;
        serde_json::to_writer_pretty(&mut file.writer, &self.given)?;
        file.writer.write_all(b"\n")?;
        file.persist(true)?;
        Ok(())
    }
}
