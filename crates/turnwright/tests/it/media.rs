//! Media whose bytes cannot be read, are too many to copy, or stay in place: the same with a database as in memory.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may panic"
)]

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::Notify;
use turnwright::bytes::Bytes;
use turnwright::event::EventKind;
use turnwright::media::{MediaKind, MediaReader};
use turnwright::prelude::*;
use turnwright::runner::TurnRunnerBuilder;
use turnwright::spool::{ByteReader, FileReader, MemoryReader};
use turnwright::sqlite::SqliteStore;
use turnwright::{Cancellation, Media, async_trait};
use turnwright_testkit::server::model::{self, Reply, Script};

/// Fails after the first 64 KiB.
#[derive(Clone, Debug)]
struct Torn;

#[async_trait]
impl ByteReader for Torn {
    fn len(&self) -> u64 {
        200_000
    }

    async fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        match range.start {
            0 => Ok(vec![7; 65_536].into()),
            _ => Err(io::Error::other("the disk is gone")),
        }
    }

    fn read_now(&self, _: u64, _: &mut [u8]) -> Option<io::Result<usize>> {
        None
    }
}

fn picture(reader: impl MediaReader + 'static) -> turnwright::media::MediaBuilder {
    Media::user_attachment(MediaKind::Image, "image/png", "cat.png", reader).id("cat")
}

/// A folder that is gone after the test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn database(&self) -> PathBuf {
        self.0.path().join("chat.db")
    }

    /// The number of files in the spool.
    fn spooled(&self) -> usize {
        fn count(folder: &Path) -> usize {
            let entries = fs::read_dir(folder).into_iter().flatten();
            let paths = entries.map(|entry| entry.unwrap().path());
            paths
                .map(|path| if path.is_dir() { count(&path) } else { 1 })
                .sum()
        }
        count(&self.0.path().join("chat.db.results"))
    }
}

/// Runs one turn in the conversation `chat`. Returns what the model was sent last, and the warnings.
async fn run(
    storage: Storage,
    replies: Vec<Reply>,
    input: TurnInput,
    more: impl FnOnce(TurnRunnerBuilder) -> TurnRunnerBuilder,
) -> (Value, Vec<String>) {
    let server = Script::new(replies).serve().await.unwrap();
    let model = ChatCompletions::builder(format!("{}/v1", server.url())).model("any");
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&warnings);
    let runner = turnwright::runner(model.no_proxy().build().unwrap())
        .storage(storage)
        .observer(move |event| {
            if let EventKind::Warning { message, .. } = &event.kind {
                noted.lock().unwrap().push(message.clone());
            }
        });
    let runner = more(runner).build().unwrap();
    let outcome = runner.run(input.conversation("chat")).await;
    assert_eq!(outcome.into_answer().unwrap(), "I see.");
    let sent = server.requests().last().unwrap().json().unwrap()["messages"].clone();
    let warnings = warnings.lock().unwrap().clone();
    (sent, warnings)
}

fn answer() -> Vec<Reply> {
    vec![model::text("I see.", 1)]
}

/// The texts of a prompt, without the codes of envelopes and the ids of calls.
fn texts(sent: &Value) -> Vec<String> {
    let messages = sent.as_array().unwrap().iter();
    let parts = messages.flat_map(|message| match &message["content"] {
        Value::Array(parts) => parts.iter().map(|part| part["text"].to_string()).collect(),
        text => vec![text.to_string()],
    });
    let without_code = |text: String| {
        let words = text.split_whitespace();
        words
            .filter(|word| !word.contains("tw-") && !word.starts_with("id="))
            .collect::<Vec<_>>()
            .join(" ")
    };
    parts.map(without_code).collect()
}

#[tokio::test]
async fn an_attachment_that_cannot_be_read_is_described_with_a_database_and_in_memory() {
    let folder = Folder::new();
    let input = || TurnInput::new("What is this?").media(picture(Torn).build().unwrap());
    let sqlite = Storage::sqlite(folder.database()).await.unwrap();
    let (stored, warnings) = run(sqlite, answer(), input(), |runner| runner).await;
    let (in_memory, _) = run(Storage::memory(), answer(), input(), |runner| runner).await;
    assert_eq!(texts(&stored), texts(&in_memory));
    assert!(
        stored
            .to_string()
            .contains("its bytes are no longer available")
    );
    assert_eq!(
        warnings[0],
        "the bytes of the image \"cat.png\" were not copied into the spool: the disk is gone"
    );
    assert_eq!(folder.spooled(), 0);

    // After a restart too.
    let sqlite = Storage::sqlite(folder.database()).await.unwrap();
    let (later, _) = run(sqlite, answer(), "And now?".into(), |runner| runner).await;
    assert!(
        later
            .to_string()
            .contains("its bytes are no longer available")
    );
}

#[tokio::test]
async fn a_result_that_cannot_be_read_is_described_with_a_database_and_in_memory() {
    let as_result = |_: Value, _: ToolContext| async { picture(Torn).build().unwrap() };
    let attached = |_: Value, _: ToolContext| async {
        ToolOutput::text("Here.").with_media([picture(Torn).build().unwrap()])
    };
    let tool = || Tool::dynamic("look", json!({ "type": "object" })).description("Looks.");
    for tool in [tool().handler(as_result), tool().handler(attached)] {
        let (tool, folder) = (tool.build().unwrap(), Folder::new());
        let replies = || {
            vec![
                model::calls([("c1", "look", "{}")]),
                model::text("I see.", 1),
            ]
        };
        let with = |runner: TurnRunnerBuilder| runner.tool(tool.clone());
        let sqlite = Storage::sqlite(folder.database()).await.unwrap();
        let (stored, warnings) = run(sqlite.clone(), replies(), "Look!".into(), with).await;
        let (in_memory, _) = run(Storage::memory(), replies(), "Look!".into(), with).await;
        assert_eq!(texts(&stored), texts(&in_memory));
        assert!(
            stored
                .to_string()
                .contains("its bytes are no longer available")
        );
        assert!(warnings[0].contains("the disk is gone"), "{warnings:?}");
        let calls = sqlite.store().tool_calls("chat").await.unwrap();
        assert!(!calls[0].is_error());
        assert_eq!(folder.spooled(), 0);
    }
}

/// Returns more than its length, or never returns.
#[derive(Clone, Debug, Default)]
struct Faulty {
    /// Notified when it is read, and then it does not return.
    read: Option<Arc<Notify>>,
}

#[async_trait]
impl ByteReader for Faulty {
    fn len(&self) -> u64 {
        10
    }

    async fn read(&self, _: Range<u64>) -> io::Result<Bytes> {
        if let Some(read) = &self.read {
            read.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(vec![7; 1 << 20].into())
    }

    fn read_now(&self, _: u64, _: &mut [u8]) -> Option<io::Result<usize>> {
        None
    }
}

#[tokio::test]
async fn a_reader_that_returns_more_than_its_length_is_not_copied() {
    let folder = Folder::new();
    let sqlite = Storage::sqlite(folder.database()).await.unwrap();
    let photo = picture(Faulty::default()).build().unwrap();
    let input = TurnInput::new("What is this?").media(photo);
    let (_, warnings) = run(sqlite, answer(), input, |runner| runner).await;
    assert!(
        warnings[0].contains("more bytes than it was asked for"),
        "{warnings:?}"
    );
    assert_eq!(folder.spooled(), 0);
}

#[tokio::test]
async fn a_reader_that_never_returns_holds_up_no_turn_that_is_cancelled() {
    let folder = Folder::new();
    let sqlite = Storage::sqlite(folder.database()).await.unwrap();
    let runner = turnwright::runner(turnwright_testkit::script::ScriptedModel::new([]));
    let runner = runner.storage(sqlite).build().unwrap();
    let read = Arc::new(Notify::new());
    let photo = Faulty {
        read: Some(Arc::clone(&read)),
    };
    let photo = picture(photo).build().unwrap();
    let input = TurnInput::new("What is this?")
        .media(photo)
        .conversation("chat");
    let turn = runner.start(input);
    read.notified().await;
    turn.cancel().unwrap();
    assert_eq!(turn.outcome().await.status.as_str(), "aborted");
}

/// Returns its bytes only after the turn was cancelled.
#[derive(Clone, Debug)]
struct Slow {
    /// Notified when it is read.
    read: Arc<Notify>,
    cancelled: Cancellation,
}

#[async_trait]
impl ByteReader for Slow {
    fn len(&self) -> u64 {
        3
    }

    async fn read(&self, _: Range<u64>) -> io::Result<Bytes> {
        self.read.notify_one();
        self.cancelled.cancelled().await;
        tokio::task::yield_now().await;
        Ok(vec![0; 3].into())
    }

    fn read_now(&self, _: u64, _: &mut [u8]) -> Option<io::Result<usize>> {
        None
    }
}

#[tokio::test]
async fn a_copy_that_has_begun_is_completed_after_a_cancellation() {
    let folder = Folder::new();
    let sqlite = Storage::sqlite(folder.database()).await.unwrap();
    let runner = turnwright::runner(turnwright_testkit::script::ScriptedModel::new([]));
    let runner = runner.storage(sqlite).build().unwrap();
    let token = Cancellation::new();
    let read = Arc::new(Notify::new());
    let photo = Slow {
        read: Arc::clone(&read),
        cancelled: token.clone(),
    };
    let photo = picture(photo).build().unwrap();
    let input = TurnInput::new("What is this?").media(photo);
    let turn = runner.start(input.conversation("chat").cancellation(token.clone()));
    read.notified().await;
    token.cancel();
    assert_eq!(turn.outcome().await.status.as_str(), "aborted");

    let reopened = Storage::sqlite(folder.database()).await.unwrap();
    let (sent, _) = run(reopened, answer(), "And now?".into(), |runner| runner).await;
    assert!(
        sent.to_string().contains("data:image/png;base64,AAAA"),
        "{sent}"
    );
}

#[tokio::test]
async fn media_above_the_limit_are_not_copied() {
    let folder = Folder::new();
    for (length, copied) in [(11, 0), (10, 1)] {
        let sqlite = Storage::sqlite(folder.database()).await.unwrap();
        let photo = picture(MemoryReader::new(vec![0; length])).build().unwrap();
        let input = TurnInput::new("What is this?").media(photo);
        let limited = |runner: TurnRunnerBuilder| runner.max_spooled_media_bytes(10);
        let (sent, warnings) = run(sqlite, answer(), input, limited).await;
        // The model sees it all the same.
        assert!(sent.to_string().contains("data:image/png;base64,AAAA"));
        assert_eq!(folder.spooled(), copied);
        let expected = "the image \"cat.png\" has 11 bytes and is not copied into the spool, whose limit for media is 10: \
                        increase `max_spooled_media_bytes`";
        let warned = warnings.iter().any(|warning| warning.starts_with(expected));
        assert_eq!(warned, copied == 0, "{warnings:?}");
    }
}

#[tokio::test]
async fn media_in_place_are_not_copied_and_are_found_after_a_restart() {
    let folder = Folder::new();
    let file = folder.0.path().join("cat.png");
    fs::write(&file, [0; 3]).unwrap();
    let open = async || {
        let store = SqliteStore::builder(folder.database()).byte_resolver(|resolver| {
            resolver.media(async |described| {
                let Some(path) = described.source else {
                    return Ok(None);
                };
                Ok(Some(
                    Arc::new(FileReader::open(path).await?) as Arc<dyn MediaReader>
                ))
            })
        });
        store.open().await.unwrap().storage().await.unwrap()
    };
    let photo = picture(FileReader::open(&file).await.unwrap());
    let photo = photo
        .source(file.to_str().unwrap())
        .in_place()
        .build()
        .unwrap();
    let input = TurnInput::new("What is this?").media(photo);
    for input in [input, "And now?".into()] {
        let (sent, warnings) = run(open().await, answer(), input, |runner| runner).await;
        assert!(sent.to_string().contains("data:image/png;base64,AAAA"));
        assert_eq!((folder.spooled(), warnings), (0, Vec::<String>::new()));
    }
}
