//! An open directory, below which names are opened without following links.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, a device, a socket.
    Other,
}

#[cfg(unix)]
pub(super) use unix::Dir;

#[cfg(not(unix))]
pub(super) use by_path::Dir;

/// By file descriptors: what was opened stays the same, whatever its path leads to later.
#[cfg(unix)]
mod unix {
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, readlinkat, statat};

    use super::*;

    pub(in super::super) struct Dir(OwnedFd);

    const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);
    const DIRECTORY: OFlags = READ.union(OFlags::DIRECTORY);

    impl Dir {
        pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
            Ok(Dir(openat(CWD, path, DIRECTORY, Mode::empty())?))
        }

        pub(in super::super) fn dir(&self, name: &OsStr) -> io::Result<Self> {
            let flags = DIRECTORY | OFlags::NOFOLLOW;
            Ok(Dir(openat(&self.0, name, flags, Mode::empty())?))
        }

        /// Does not wait for the other end of a pipe.
        pub(in super::super) fn file(&self, name: &OsStr) -> io::Result<File> {
            let flags = READ | OFlags::NOFOLLOW | OFlags::NONBLOCK;
            Ok(File::from(openat(&self.0, name, flags, Mode::empty())?))
        }

        pub(in super::super) fn kind(&self, name: &OsStr) -> io::Result<Kind> {
            let found = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(kind(FileType::from_raw_mode(found.st_mode)))
        }

        pub(in super::super) fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
            let target = readlinkat(&self.0, name, Vec::new())?;
            Ok(OsString::from_vec(target.into_bytes()).into())
        }

        pub(in super::super) fn entries(
            &self,
        ) -> io::Result<impl Iterator<Item = (OsString, Kind)>> {
            let entries = rustix::fs::Dir::read_from(&self.0)?;
            Ok(entries.filter_map(|entry| {
                let entry = entry.ok()?;
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    return None;
                }
                let kind = match entry.file_type() {
                    FileType::Unknown => self.kind(name).ok()?,
                    known => kind(known),
                };
                Some((name.to_owned(), kind))
            }))
        }
    }

    fn kind(kind: FileType) -> Kind {
        match kind {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        }
    }
}

/// By paths: a link that is swapped in after a check is followed.
#[cfg(not(unix))]
mod by_path {
    use super::*;

    pub(in super::super) struct Dir(PathBuf);

    impl Dir {
        pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
            std::fs::read_dir(path)?;
            Ok(Dir(path.to_owned()))
        }

        pub(in super::super) fn dir(&self, name: &OsStr) -> io::Result<Self> {
            if self.kind(name)? == Kind::Folder {
                Ok(Dir(self.0.join(name)))
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            }
        }

        pub(in super::super) fn file(&self, name: &OsStr) -> io::Result<File> {
            File::open(self.0.join(name))
        }

        pub(in super::super) fn kind(&self, name: &OsStr) -> io::Result<Kind> {
            Ok(kind(self.0.join(name).symlink_metadata()?.file_type()))
        }

        pub(in super::super) fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
            self.0.join(name).read_link()
        }

        pub(in super::super) fn entries(
            &self,
        ) -> io::Result<impl Iterator<Item = (OsString, Kind)>> {
            let entries = std::fs::read_dir(&self.0)?;
            Ok(entries.filter_map(|entry| {
                let entry = entry.ok()?;
                Some((entry.file_name(), kind(entry.file_type().ok()?)))
            }))
        }
    }

    fn kind(kind: std::fs::FileType) -> Kind {
        if kind.is_symlink() {
            Kind::Link
        } else if kind.is_dir() {
            Kind::Folder
        } else if kind.is_file() {
            Kind::File
        } else {
            Kind::Other
        }
    }
}
