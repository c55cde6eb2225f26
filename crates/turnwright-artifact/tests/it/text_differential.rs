//! Compares `head`, `tail`, `cat` and `grep` with the programs of the same names (and `sed -n`), on generated files.
//!
//! The programs read a copy in which every `\r\n` is `\n`, because our lines have no line breaks.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::runtime::Runtime;
use turnwright_artifact::artifact::text::{Excerpt, Grep, Matches};
use turnwright_artifact::artifact::{ArtifactKind, ArtifactLimits, SpooledArtifact};
use turnwright_artifact::spool::{ByteReader, FileReader, MemoryReader};

mod files;

use files::{Dice, Shape};

/// Patterns with the same meaning on both sides.
const PATTERNS: &[&str] = &[
    "ERROR",
    "^ERROR",
    "[0-9]+$",
    "^$",
    "(ab|cd)+e",
    "a{2,3}b",
    "\u{e9}",
    "\u{65e5}\u{672c}|\u{8a9e}$",
    "[[:digit:]]{3}",
    "x.y",
    "^.{3}$",
    "[^a-z ]",
    "\\.|\\(",
    "",
];

#[test]
fn lines_match_those_of_the_programs() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let missing: Vec<&str> = ["head", "tail", "sed", "grep"]
        .into_iter()
        .filter(|program| Command::new(program).arg("--version").output().is_err())
        .collect();
    if !missing.is_empty() {
        crate::say(format!(
            "SKIPPED: text against the programs: {missing:?} not installed"
        ));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut dice = Dice::new(42);
    let (mut files, mut bytes, mut compared) = (0, 0, 0);
    for shape in Shape::all() {
        let content = shape.content(&mut dice);
        let pair = Pair::new(&folder, files, &content);
        compared += pair.compare(&runtime, &mut dice, shape.is_large());
        files += 1;
        bytes += content.len();
    }
    crate::say(format!(
        "text against head, tail, sed and grep: {files} files, {bytes} bytes, {compared} comparisons"
    ));
    assert!(compared > 500, "{compared}");
}

/// A file, its copy for the programs, and our views of it.
struct Pair {
    name: String,
    plain: PathBuf,
    count: usize,
    views: Vec<(&'static str, SpooledArtifact)>,
}

impl Pair {
    fn new(folder: &tempfile::TempDir, number: usize, content: &[u8]) -> Self {
        let path = folder.path().join(format!("{number}.txt"));
        let plain = folder.path().join(format!("{number}.lf"));
        let mut copy = Vec::new();
        for (at, byte) in content.iter().enumerate() {
            if *byte != b'\r' || content.get(at + 1) != Some(&b'\n') {
                copy.push(*byte);
            }
        }
        fs::write(&path, content).unwrap();
        fs::write(&plain, &copy).unwrap();
        let far = Far {
            bytes: Bytes::copy_from_slice(content),
            most: [1021, 65_537, 262_145][number % 3],
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let file = runtime.block_on(FileReader::open(&path)).unwrap();
        let memory = MemoryReader::new(content.to_vec());
        let readers: [(&'static str, Arc<dyn ByteReader>); 3] = [
            ("file", Arc::new(file)),
            ("memory", Arc::new(memory)),
            ("far", Arc::new(far)),
        ];
        let limits = ArtifactLimits::default().page(256 << 20);
        let view = |reader| SpooledArtifact::new(reader, ArtifactKind::TEXT).with_limits(limits);
        Pair {
            name: format!("file {number}"),
            count: split(&copy).len(),
            plain,
            views: readers
                .into_iter()
                .map(|(name, reader)| (name, view(reader)))
                .collect(),
        }
    }

    fn compare(&self, runtime: &Runtime, dice: &mut Dice, large: bool) -> usize {
        let mut compared = 0;
        for (question, pattern) in PATTERNS.iter().enumerate() {
            let context = [0, 0, 1, 3][dice.below(4)];
            let mut grep = Grep::new(*pattern).max(u64::MAX).context(context as u64);
            let mut words = vec!["-anE".to_owned(), "-e".to_owned(), (*pattern).to_owned()];
            if context > 0 {
                words.push(format!("-C{context}"));
            }
            if question % 4 == 0 {
                grep = grep.flags("i").unwrap();
                words.push("-i".to_owned());
            }
            let theirs = split(&self.program("grep", &words));
            for (reader, artifact) in self.readers(large, question) {
                let what = format!("{} {reader}: grep {words:?}", self.name);
                let ours = runtime.block_on(artifact.grep(&grep)).unwrap();
                same(&ours_as_grep(&ours, context > 0), &theirs, &what);
                compared += 1;
            }
        }
        let some = dice.below(self.count + 3);
        for (question, n) in [1, 10, some.max(1)].into_iter().enumerate() {
            let words = ["-n".to_owned(), n.to_string()];
            let first = split(&self.program("head", &words));
            let last = split(&self.program("tail", &words));
            for (reader, artifact) in self.readers(large, question) {
                let what = format!("{} {reader}: {words:?}", self.name);
                let head = runtime.block_on(artifact.head(n as u64)).unwrap();
                same(&ours_as_lines(&head), &first, &format!("head {what}"));
                let tail = runtime.block_on(artifact.tail(n as u64)).unwrap();
                same(&ours_as_lines(&tail), &last, &format!("tail {what}"));
                compared += 2;
            }
        }
        let ranges = [
            (0, 1),
            (some, some + 1 + dice.below(20)),
            (self.count / 2, self.count),
        ];
        for (question, (from, to)) in ranges.into_iter().enumerate() {
            if from == to {
                continue;
            }
            let words = ["-n".to_owned(), format!("{},{to}p", from + 1)];
            let theirs = split(&self.program("sed", &words));
            for (reader, artifact) in self.readers(large, question) {
                let cat = runtime
                    .block_on(artifact.cat(from as u64..to as u64))
                    .unwrap();
                let what = format!("{} {reader}: sed {words:?}", self.name);
                same(&ours_as_lines(&cat), &theirs, &what);
                compared += 1;
            }
        }
        compared
    }

    /// Checks all of them, or one after the other for a large file.
    fn readers(
        &self,
        large: bool,
        question: usize,
    ) -> impl Iterator<Item = &(&'static str, SpooledArtifact)> {
        let count = self.views.len();
        let mine = move |at: usize| !large || question % count == at;
        self.views
            .iter()
            .enumerate()
            .filter(move |(at, _)| mine(*at))
            .map(|(_, view)| view)
    }

    fn program(&self, program: &str, words: &[String]) -> Vec<u8> {
        let output = Command::new(program)
            .env("LC_ALL", "C.UTF-8")
            .args(words)
            .arg(&self.plain)
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(
            output.status.code() < Some(2),
            "{program} {words:?}: {}",
            output.status
        );
        output.stdout
    }
}

fn ours_as_lines(excerpt: &Excerpt) -> Vec<Vec<u8>> {
    assert!(!excerpt.is_truncated);
    excerpt
        .lines
        .iter()
        .map(|line| line.bytes.to_vec())
        .collect()
}

/// Formats like `grep -n`, whose line numbers start at 1.
fn ours_as_grep(matches: &Matches, context: bool) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let mut last = None;
    for line in &matches.lines {
        assert!(line.line.is_complete());
        if context && last.is_some_and(|last| last + 1 != line.number) {
            lines.push(b"--".to_vec());
        }
        last = Some(line.number);
        let mark = if line.matches { ':' } else { '-' };
        let mut text = format!("{}{mark}", line.number + 1).into_bytes();
        text.extend_from_slice(&line.line.bytes);
        lines.push(text);
    }
    lines
}

fn same(ours: &[Vec<u8>], theirs: &[Vec<u8>], what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}: so many lines");
    for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let short =
            |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
        assert!(
            ours == theirs,
            "{what}: {at}: {:?}, theirs {:?}",
            short(ours),
            short(theirs)
        );
    }
}

fn split(output: &[u8]) -> Vec<Vec<u8>> {
    if output.is_empty() {
        return Vec::new();
    }
    let lines = output.strip_suffix(b"\n").unwrap_or(output);
    lines
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

/// A remote reader: it must be awaited and returns one piece at a time.
#[derive(Debug)]
struct Far {
    bytes: Bytes,
    most: usize,
}

#[async_trait]
impl ByteReader for Far {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        tokio::task::yield_now().await;
        let at = |place: u64| usize::try_from(place).unwrap().min(self.bytes.len());
        let start = at(range.start);
        Ok(self
            .bytes
            .slice(start..at(range.end).min(start + self.most)))
    }

    fn read_now(&self, _at: u64, _into: &mut [u8]) -> Option<io::Result<usize>> {
        None
    }
}
