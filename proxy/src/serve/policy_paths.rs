//! Where a policy is read from: files, and folders of files.
//!
//! In: paths as the command line has them. Out: the files' content in a fixed order, and a stamp that changes when any of it does: a
//! file's content, or which files there are.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thiserror::Error;
use tollgate_policy::{Source, Sources};

/// No honest policy is larger; one byte more is read, so that the loader can say that it is too large.
const LARGEST: u64 = 1 << 20;

/// Files, and folders that stand for their `*.yaml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyPaths(Vec<PathBuf>);

/// A file or folder that can't be read.
#[derive(Debug, Error)]
#[error("{}: error[unreadable]: cannot be read: {source}", .path.display())]
pub struct Unreadable {
    /// It.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

/// What changes when a file does.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileStamp {
    path: PathBuf,
    /// `None` while there is no such file.
    state: Option<FileState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What changes when the policy does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stamp(Vec<FileStamp>);

impl From<PathBuf> for PolicyPaths {
    fn from(path: PathBuf) -> Self {
        PolicyPaths(vec![path])
    }
}

impl From<Vec<PathBuf>> for PolicyPaths {
    fn from(paths: Vec<PathBuf>) -> Self {
        PolicyPaths(paths)
    }
}

impl fmt::Display for PolicyPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, path) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{}", path.display())?;
        }
        Ok(())
    }
}

impl PolicyPaths {
    /// The files, those of a folder sorted by name.
    pub fn files(&self) -> Result<Vec<PathBuf>, Unreadable> {
        let mut files = Vec::new();
        for path in &self.0 {
            let unreadable = |source| Unreadable {
                path: path.clone(),
                source,
            };
            if !fs::metadata(path).map_err(unreadable)?.is_dir() {
                files.push(path.clone());
                continue;
            }
            let within = files_of(path).map_err(unreadable)?;
            if within.is_empty() {
                return Err(unreadable(io::Error::other("the folder has no *.yaml")));
            }
            files.extend(within);
        }
        Ok(files)
    }

    /// Reads all of it.
    pub fn read(&self) -> Result<Sources, Unreadable> {
        let mut left = LARGEST + 1;
        let mut sources = Vec::new();
        for path in self.files()? {
            let content = read(&path, left).map_err(|source| Unreadable {
                path: path.clone(),
                source,
            })?;
            left = left.saturating_sub(content.len() as u64);
            sources.push(Source::new(path.display().to_string(), content));
        }
        Ok(sources.into())
    }

    /// How it looks now.
    pub(super) fn stamp(&self) -> Stamp {
        let mut files = Vec::new();
        for path in &self.0 {
            files.push(FileStamp::of(path.clone()));
            if path.is_dir() {
                files.extend(files_of(path).unwrap_or_default().into_iter().map(FileStamp::of));
            }
        }
        Stamp(files)
    }
}

/// The `*.yaml` of a folder, sorted by name. Hidden ones are left out: editors keep half-written copies there.
fn files_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.extension().is_some_and(|extension| extension == "yaml") && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for a writer, and reading a device might never end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut content = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut content)?;
    Ok(content)
}

impl FileStamp {
    fn of(path: PathBuf) -> Self {
        let state = fs::metadata(&path).ok().map(|metadata| {
            // A folder's own times also change with files that are no policies.
            let times = metadata.is_file();
            let time = |seconds, nanoseconds| if times { (seconds, nanoseconds) } else { (0, 0) };
            FileState {
                device: metadata.dev(),
                inode: metadata.ino(),
                length: if times { metadata.len() } else { 0 },
                modified: time(metadata.mtime(), metadata.mtime_nsec()),
                changed: time(metadata.ctime(), metadata.ctime_nsec()),
            }
        });
        FileStamp { path, state }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_folder_stands_for_its_yaml_files_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["20-b.yaml", "10-a.yaml", ".10-a.yaml", "note.txt", "c.yml", "x.yaml~"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        fs::create_dir(folder.path().join("folder.yaml")).unwrap();
        let paths = PolicyPaths::from(vec![folder.path().to_owned(), folder.path().join("note.txt")]);
        let names: Vec<PathBuf> = paths.files().unwrap();
        let expected = ["10-a.yaml", "20-b.yaml", "note.txt"].map(|name| folder.path().join(name));
        assert_eq!(names, expected);
        let sources = paths.read().unwrap();
        let texts: Vec<&str> = sources.iter().map(|(_, source)| source.text()).collect();
        assert_eq!(texts, ["10-a.yaml", "20-b.yaml", "note.txt"]);
    }

    #[test]
    fn an_empty_folder_is_no_policy() {
        let folder = tempfile::tempdir().unwrap();
        let error = PolicyPaths::from(folder.path().to_owned()).read().unwrap_err();
        assert!(error.to_string().contains("has no *.yaml"), "{error}");
    }

    #[test]
    fn the_stamp_changes_with_files_and_not_with_others() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("a.yaml", "a");
        let paths = PolicyPaths::from(folder.path().to_owned());
        let first = paths.stamp();
        write("notes.txt", "x");
        assert_eq!(paths.stamp(), first);
        write("b.yaml", "b");
        let second = paths.stamp();
        assert_ne!(second, first);
        write("b.yaml", "bb");
        assert_ne!(paths.stamp(), second);
        fs::remove_file(folder.path().join("b.yaml")).unwrap();
        assert_eq!(paths.stamp(), first);
    }
}
