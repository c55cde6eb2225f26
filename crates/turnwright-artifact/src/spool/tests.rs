use std::path::PathBuf;
use std::sync::Arc;
use std::{fs, io};

use proptest::prelude::*;

use super::*;
use crate::spool::ByteStream;

/// A path that does not exist yet, in a temporary folder.
struct Folder(
    PathBuf,
    #[allow(dead_code, reason = "deleted on drop")] tempfile::TempDir,
);

impl Folder {
    fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        Folder(temporary.path().join("spool"), temporary)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

async fn all(reader: &Arc<dyn ByteReader>) -> Vec<u8> {
    reader.read(0..u64::MAX).await.unwrap().to_vec()
}

/// Sends pieces, then an error if there is one.
fn stream(pieces: Vec<Vec<u8>>, failure: Option<io::Error>) -> Body {
    let (sender, stream) = ByteStream::channel(1);
    tokio::spawn(async move {
        for piece in pieces {
            if sender.send(piece).await.is_err() {
                return;
            }
        }
        if let Some(error) = failure {
            let _ = sender.fail(error).await;
        }
    });
    Body::Stream(stream)
}

async fn stores_and_replaces_content(spool: &dyn Spool) {
    assert!(spool.open("a").await.unwrap().is_none());
    assert!(!spool.delete("a").await.unwrap());

    let text = spool.put("a", Body::Text("text".to_owned())).await.unwrap();
    assert_eq!(all(&text).await, b"text");
    let bytes = Body::Bytes(vec![0, 255].into());
    assert_eq!(all(&spool.put("b", bytes).await.unwrap()).await, [0, 255]);
    let pieces = stream(vec![b"one ".to_vec(), Vec::new(), b"two".to_vec()], None);
    assert_eq!(
        all(&spool.put("c", pieces).await.unwrap()).await,
        b"one two"
    );
    assert_eq!(
        spool
            .put("d", Body::Text(String::new()))
            .await
            .unwrap()
            .len(),
        0
    );

    let mut ids = spool.list().await.unwrap();
    ids.sort();
    assert_eq!(ids, ["a", "b", "c", "d"]);
    assert_eq!(
        all(&spool.open("c").await.unwrap().unwrap()).await,
        b"one two"
    );

    let again = spool
        .put("a", Body::Text("another".to_owned()))
        .await
        .unwrap();
    assert_eq!(all(&again).await, b"another", "as a whole");
    let torn = stream(vec![vec![b'x'; 600_000]], Some(io::Error::other("torn")));
    assert_eq!(spool.put("a", torn).await.unwrap_err().to_string(), "torn");
    assert_eq!(
        all(&spool.open("a").await.unwrap().unwrap()).await,
        b"another",
        "what was there before a failure is still there"
    );
    let torn = stream(vec![b"half".to_vec()], Some(io::Error::other("torn")));
    assert!(spool.put("e", torn).await.is_err());
    assert!(spool.open("e").await.unwrap().is_none(), "nothing half");

    assert!(spool.delete("a").await.unwrap());
    assert!(spool.open("a").await.unwrap().is_none());
}

#[tokio::test]
async fn memory_spool_stores_and_replaces_content() {
    stores_and_replaces_content(&MemorySpool::default()).await;
}

#[tokio::test]
async fn disk_spool_stores_and_replaces_content_without_leftovers() {
    let folder = Folder::new();
    let spool = DiskSpool::open(&folder.0).await.unwrap();
    stores_and_replaces_content(&spool).await;
    assert_eq!(folder.names(), ["b.spool", "c.spool", "d.spool"]);
    let reopened = DiskSpool::open(&folder.0).await.unwrap();
    assert_eq!(
        all(&reopened.open("b").await.unwrap().unwrap()).await,
        [0, 255]
    );
}

#[tokio::test]
async fn a_cancelled_put_leaves_nothing_behind() {
    let folder = Folder::new();
    let spool = DiskSpool::open(&folder.0).await.unwrap();
    let (sender, stream) = ByteStream::channel(1);
    let writing = spool.clone();
    let put = tokio::spawn(async move { writing.put("a", Body::Stream(stream)).await.map(drop) });
    for _ in 0..4 {
        sender.send(vec![b'x'; 300_000]).await.unwrap();
    }
    while folder.names().is_empty() {
        tokio::task::yield_now().await;
    }
    put.abort();
    assert!(put.await.unwrap_err().is_cancelled());
    // A write in progress on another thread ends first.
    while !folder.names().is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(spool.open("a").await.unwrap().is_none());
}

#[tokio::test]
async fn unfinished_files_are_not_results_and_are_removed_after_a_day() {
    let folder = Folder::new();
    fs::create_dir_all(&folder.0).unwrap();
    let (old, new) = (
        folder.0.join(".unfinished-old"),
        folder.0.join(".unfinished-new"),
    );
    fs::write(&old, "half").unwrap();
    fs::write(&new, "half").unwrap();
    let two_days_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(172_800);
    fs::File::options()
        .write(true)
        .open(&old)
        .unwrap()
        .set_modified(two_days_ago)
        .unwrap();
    let spool = DiskSpool::open(&folder.0).await.unwrap();
    assert_eq!(folder.names(), [".unfinished-new"]);
    assert!(spool.list().await.unwrap().is_empty());
}

#[tokio::test]
async fn ids_that_are_not_file_names_are_encoded_or_rejected() {
    let folder = Folder::new();
    let spool = DiskSpool::open(folder.0.join("inner")).await.unwrap();
    let text = || Body::Text("x".to_owned());
    for refused in ["", &"é".repeat(42), &"a".repeat(250)] {
        let error = spool.put(refused, text()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
    let hostile = [
        "..",
        ".",
        "../../x",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "A",
        "a",
        "nul",
        "con.spool",
        "\0",
        "%2e",
        ".unfinished-x",
        "é",
        "a b",
        "a:b",
    ];
    for id in hostile {
        spool.put(id, Body::Text(id.to_owned())).await.unwrap();
    }
    assert_eq!(folder.names(), ["inner"], "nothing left its folder");
    for id in hostile {
        let reader = spool.open(id).await.unwrap().unwrap();
        assert_eq!(all(&reader).await, id.as_bytes(), "no two ids meet");
    }
    let mut names: Vec<String> = fs::read_dir(folder.0.join("inner"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().to_lowercase())
        .collect();
    names.sort();
    names.dedup();
    assert_eq!(
        names.len(),
        hostile.len(),
        "not even where case is not known"
    );
}

proptest! {
    #[test]
    fn list_returns_every_stored_id_unchanged(id in "\\PC{1,40}|[./\\\\%a-zA-Z]{1,20}") {
        let folder = Folder::new();
        let listed = runtime().block_on(async {
            let spool = DiskSpool::open(&folder.0).await.unwrap();
            let is_kept = spool.put(&id, Body::Text(String::new())).await.is_ok();
            (is_kept, spool.list().await.unwrap())
        });
        match listed {
            (true, ids) => prop_assert_eq!(ids, vec![id]),
            (false, ids) => prop_assert!(ids.is_empty() && id.len() * 3 + 6 > 255),
        }
    }
}

#[tokio::test]
async fn ranges_are_clamped_by_every_reader() {
    let folder = Folder::new();
    let spool = DiskSpool::open(&folder.0).await.unwrap();
    let text = || Body::Text("0123456789".to_owned());
    let readers = [
        spool.put("a", text()).await.unwrap(),
        MemorySpool::default().put("a", text()).await.unwrap(),
    ];
    for reader in readers {
        for (range, expected) in [
            (0..10, "0123456789"),
            (3..5, "34"),
            (8..99, "89"),
            (10..20, ""),
            (u64::MAX - 1..u64::MAX, ""),
            (0..0, ""),
        ] {
            assert_eq!(
                reader.read(range.clone()).await.unwrap(),
                expected.as_bytes(),
                "{range:?} of {reader:?}"
            );
            let mut buffer = vec![0; 4];
            let came = reader.read_now(range.start, &mut buffer).unwrap().unwrap();
            let there = 10_usize.saturating_sub(usize::try_from(range.start).unwrap_or(10));
            assert_eq!(came, there.min(4));
        }
        #[expect(
            clippy::reversed_empty_ranges,
            reason = "the reversed range is the test"
        )]
        let backwards = reader.read(5..3).await.unwrap();
        assert!(backwards.is_empty());
    }
}

#[tokio::test]
async fn a_truncated_or_deleted_file_is_an_error_and_a_longer_one_is_not() {
    let folder = Folder::new();
    fs::create_dir_all(&folder.0).unwrap();
    let path = folder.0.join("log");
    fs::write(&path, "0123456789").unwrap();
    let reader = FileReader::open(&path).await.unwrap();
    fs::write(&path, "0123456789 and more").unwrap();
    assert_eq!(reader.read(8..20).await.unwrap(), "89");
    fs::write(&path, "0123").unwrap();
    let error = reader.read(0..10).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert!(error.to_string().contains("shorter"));
    fs::remove_file(&path).unwrap();
    let error = reader.read(0..10).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(FileReader::open(&folder.0).await.is_err(), "no directory");
}

#[tokio::test]
async fn a_reader_fails_after_its_file_was_replaced() {
    let folder = Folder::new();
    let spool = DiskSpool::open(&folder.0).await.unwrap();
    let first = spool.put("k", Body::Text("AAAA".to_owned())).await.unwrap();
    let second = spool
        .put("k", Body::Text("BBBBBB".to_owned()))
        .await
        .unwrap();
    let error = first.read(0..4).await.unwrap_err();
    assert!(error.to_string().contains("was replaced"), "{error}");
    assert_eq!(all(&second).await, b"BBBBBB");
    fs::create_dir(folder.0.join("x.spool")).unwrap();
    fs::write(folder.0.join("%6b.spool"), "another spelling").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder.0.join("k.spool")), 0o600);
        assert_eq!(mode(&folder.0), 0o700);
    }
    assert_eq!(spool.list().await.unwrap(), ["k"]);
}

#[tokio::test]
async fn a_stream_whose_producer_panics_is_not_stored() {
    let folder = Folder::new();
    let spool = DiskSpool::open(&folder.0).await.unwrap();
    let (sender, stream) = ByteStream::channel(4);
    let maker = tokio::spawn(async move {
        sender.send("half").await.unwrap();
        panic!("out of ideas");
    });
    let error = spool.put("a", Body::Stream(stream)).await.unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
    assert!(maker.await.unwrap_err().is_panic());
    assert!(spool.list().await.unwrap().is_empty());
}

/// A directory from an untrusted source must not make the spool read other files.
#[cfg(unix)]
#[test]
fn a_symbolic_link_is_not_followed() {
    runtime().block_on(async {
        let (folder, elsewhere) = (Folder::new(), Folder::new());
        let spool = DiskSpool::open(&folder.0).await.unwrap();
        spool.put("a", Body::Text("mine".to_owned())).await.unwrap();
        fs::create_dir_all(&elsewhere.0).unwrap();
        let secret = elsewhere.0.join("secret");
        fs::write(&secret, "theirs").unwrap();
        let file = folder.0.join(folder.names().remove(0));
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&secret, &file).unwrap();
        let error = spool.open("a").await.err().unwrap();
        assert_eq!(error.raw_os_error(), Some(libc::ELOOP), "{error}");
    });
}

#[tokio::test]
async fn a_full_memory_spool_rejects_and_stores_nothing_partially() {
    let spool = MemorySpool::with_capacity(100);
    let bytes = |length: usize| Body::Bytes(vec![b'x'; length].into());
    let first = spool.put("a", bytes(60)).await.unwrap();
    let full = spool.put("b", bytes(41)).await.unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    let message = full.to_string();
    assert!(
        message.contains("100 bytes") && message.contains("use 60"),
        "{message}"
    );
    assert!(message.contains("DiskSpool") && message.contains("with_capacity"));

    // A stream is rejected while it is read, and its sender finds it closed.
    let (sender, stream) = ByteStream::channel(1);
    let endless = tokio::spawn(async move { while sender.send(vec![b'x'; 10]).await.is_ok() {} });
    let full = spool.put("a", Body::Stream(stream)).await.unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    endless.await.unwrap();
    assert_eq!(all(&first).await.len(), 60, "what was there is still there");
    assert_eq!(spool.list().await.unwrap(), ["a"]);

    // Bytes count as long as anything holds them.
    spool.delete("a").await.unwrap();
    let part = first.read(0..1).await.unwrap();
    drop(first);
    assert!(spool.put("b", bytes(41)).await.is_err());
    drop(part);
    spool.put("b", bytes(100)).await.unwrap();
}

proptest! {
    #[test]
    fn a_memory_spool_never_exceeds_its_capacity(
        steps in proptest::collection::vec((0_usize..4, proptest::option::of(0_usize..60), any::<bool>()), 1..40),
    ) {
        runtime().block_on(async {
            let spool = MemorySpool::with_capacity(100);
            let mut held = std::collections::BTreeMap::new();
            for (id, put, streamed) in steps {
                let name = id.to_string();
                let Some(length) = put else {
                    prop_assert_eq!(spool.delete(&name).await.unwrap(), held.remove(&id).is_some());
                    continue;
                };
                let body = if streamed { stream(vec![vec![b'x'; length / 2], vec![b'x'; length - length / 2]], None) } else { Body::Bytes(vec![b'x'; length].into()) };
                // A result is replaced only after the new one has been read.
                let fits = held.values().sum::<usize>() + length <= 100;
                prop_assert_eq!(spool.put(&name, body).await.is_ok(), fits);
                if fits {
                    held.insert(id, length);
                }
            }
            for (id, length) in held {
                let reader = spool.open(&id.to_string()).await.unwrap().unwrap();
                prop_assert_eq!(reader.len(), length as u64);
            }
            Ok(())
        })?;
    }
}

/// Fails instead of hanging the test run if a thread waits for a writer.
#[cfg(unix)]
#[test]
fn a_pipe_is_rejected_without_waiting_for_a_writer() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let folder = Folder::new();
    let checked = runtime.block_on(async {
        let spool = DiskSpool::open(&folder.0).await.unwrap();
        let reader = spool.put("a", Body::Text("mine".to_owned())).await.unwrap();
        let file = folder.0.join("a.spool");
        fs::remove_file(&file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.unwrap().success());
        let check = async {
            for error in [
                reader.read(0..4).await.unwrap_err(),
                spool.open("a").await.err().unwrap(),
                FileReader::open(&file).await.unwrap_err(),
            ] {
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(60), check).await
    });
    runtime.shutdown_background();
    checked.expect("a thread waits for a writer");
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_that_replaces_an_opened_file_is_rejected() {
    let folder = Folder::new();
    let spool = DiskSpool::open(&folder.0).await.unwrap();
    let reader = spool.put("a", Body::Text("mine".to_owned())).await.unwrap();
    let (file, moved) = (folder.0.join("a.spool"), folder.0.join("moved"));
    // The same file, behind a link.
    fs::rename(&file, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &file).unwrap();
    let error = reader.read(0..4).await.unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ELOOP), "{error}");
    // The caller of `FileReader` chose the path, so a link is followed there.
    let chosen = FileReader::open(&file).await.unwrap();
    assert_eq!(chosen.read(0..4).await.unwrap(), "mine");
}

#[tokio::test]
async fn the_directory_is_created_with_the_first_result() {
    let folder = Folder::new();
    let spool = DiskSpool::at(folder.0.join("results"));
    assert!(spool.open("a").await.unwrap().is_none());
    assert!(spool.list().await.unwrap().is_empty());
    assert!(!spool.delete("a").await.unwrap());
    assert!(!folder.0.exists());
    stores_and_replaces_content(&spool).await;
    assert!(folder.0.join("results").is_dir());
}
