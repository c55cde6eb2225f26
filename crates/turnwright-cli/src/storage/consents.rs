//! The files of other people that the user has agreed to use.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::files::{self, NewFile};
use super::home;

/// The file in the data directory.
const FILE: &str = "mcp-consent.json";

/// The digests of files that the user has agreed to use, by path.
pub(crate) struct Consents {
    file: PathBuf,
    digests: BTreeMap<String, String>,
}

impl Consents {
    /// Reads them. A file that is missing or damaged counts as empty: the user is asked again.
    pub(crate) fn read() -> anyhow::Result<Self> {
        Ok(Consents::read_from(home()?.join(FILE)))
    }

    fn read_from(file: PathBuf) -> Self {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let digests = serde_json::from_str(&text).unwrap_or_default();
        Consents { file, digests }
    }

    /// Whether the user has agreed to use this file with this content.
    pub(crate) fn contains(&self, path: &Path, digest: &str) -> bool {
        let stored = self.digests.get(&*path.to_string_lossy());
        stored.is_some_and(|stored| stored == digest)
    }

    /// Stores that the user has agreed.
    pub(crate) fn add(mut self, path: &Path, digest: &str) -> anyhow::Result<()> {
        let path = path.to_string_lossy().into_owned();
        self.digests.insert(path, digest.to_owned());
        self.write()
            .with_context(|| format!("cannot write `{}`", self.file.display()))
    }

    fn write(&self) -> anyhow::Result<()> {
        if let Some(folder) = self.file.parent() {
            files::make_folder(folder)?;
        }
        let mut file = NewFile::create(&self.file)?;
        serde_json::to_writer_pretty(&mut file.writer, &self.digests)?;
        file.writer.write_all(b"\n")?;
        file.persist(true)?;
        Ok(())
    }
}
