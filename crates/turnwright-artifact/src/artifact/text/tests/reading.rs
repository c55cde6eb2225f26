//! How much is read, and read errors.

use tokio::sync::Semaphore;

use super::readers::Watched;
use super::{lines_of, wait};
use crate::ErrorCode;
use crate::artifact::text::Grep;

const KIB: u64 = 1024;

/// About 7 MB in 500,000 lines.
fn many_lines() -> Vec<u8> {
    let mut content = Vec::new();
    for n in 0..500_000 {
        content.extend_from_slice(format!("line {n:08}\n").as_bytes());
    }
    content
}

#[test]
fn head_and_tail_read_little() {
    let (artifact, reader) = Watched::new(many_lines()).artifact();
    wait(async {
        let head = artifact.head(10).await.unwrap();
        assert_eq!(head.lines[9].bytes, b"line 00000009");
        let read = reader.read_since();
        assert!(read <= 9 * KIB, "{read}");
        let tail = artifact.tail(10).await.unwrap();
        assert_eq!(tail.lines[0].bytes, b"line 00499990");
        assert_eq!(tail.lines[0].number, None);
        let read = reader.read_since();
        assert!(read <= 17 * KIB, "{read}");
        artifact.line_count().await.unwrap();
        let tail = artifact.tail(10).await.unwrap();
        assert_eq!(tail.lines[0].number, Some(499_990));
    });
}

#[test]
fn a_known_place_is_found_without_reading_from_the_start() {
    let (artifact, reader) = Watched::new(many_lines()).artifact();
    wait(async {
        let first = artifact.cat(400_000..400_010).await.unwrap();
        assert_eq!(first.lines[3].bytes, b"line 00400003");
        assert!(reader.read_since() > 4000 * KIB);
        let again = artifact.clone().cat(400_000..400_010).await.unwrap();
        assert_eq!(again.lines, first.lines);
        let read = reader.read_since();
        assert!(read <= 300 * KIB, "{read}");
        let near = artifact.cat(300_007..300_008).await.unwrap();
        assert_eq!(near.lines[0].bytes, b"line 00300007");
        let read = reader.read_since();
        assert!(read <= 300 * KIB, "{read}");
        assert_eq!(artifact.line_count().await.unwrap(), 500_000);
        let read = reader.read_since();
        assert!(read <= 1700 * KIB, "{read}");
        assert_eq!(artifact.line_count().await.unwrap(), 500_000);
        assert_eq!(reader.read_since(), 0);
    });
}

#[test]
fn grep_extends_the_index() {
    let (artifact, reader) = Watched::new(many_lines()).artifact();
    wait(async {
        let found = artifact.grep(&Grep::new("line 0045")).await.unwrap();
        assert_eq!(found.lines[0].number, 450_000);
        assert_eq!(found.total, 10_000);
        reader.read_since();
        let cat = artifact.cat(449_999..450_000).await.unwrap();
        assert_eq!(cat.lines[0].bytes, b"line 00449999");
        let read = reader.read_since();
        assert!(read <= 600 * KIB, "{read}");
    });
}

#[test]
fn the_index_stays_small_and_correct() {
    use crate::artifact::text::index::{LineIndex, Place};
    let index = LineIndex::default();
    for n in 1..=100_000_u64 {
        let (at, lines) = (n * 70_000, n * 10);
        index.learn(Place { at, lines });
    }
    let places = index.places();
    assert!(places.len() <= 4096, "{}", places.len());
    assert!(places.iter().all(|place| place.at == place.lines * 7000));
    let apart = places.windows(2).map(|two| two[1].at - two[0].at).max();
    assert!(apart.unwrap() <= 70_000 * 64, "{apart:?}");
    for line in [1, 10, 11, 4711, 999_999] {
        let place = index.before(line);
        assert!(
            place.lines < line && line - place.lines <= 640,
            "{line}: {place:?}"
        );
    }
    assert_eq!(LineIndex::default().before(7), Place::default());
}

#[test]
fn a_known_place_in_a_long_line_is_found_without_reading_the_line() {
    let mut content = vec![b'x'; 5_000_000];
    content.extend_from_slice(b"end\nlast");
    let (artifact, reader) = Watched::new(content).artifact();
    wait(async {
        let cat = artifact.cat_from(0.., 4_999_998).await.unwrap();
        assert_eq!(cat.lines[0].bytes, b"xxend");
        assert_eq!(cat.lines[1].bytes, b"last");
        assert!(reader.read_since() > 4000 * KIB);
        artifact.cat_from(0.., 4_999_998).await.unwrap();
        let read = reader.read_since();
        assert!(read <= 300 * KIB, "{read}");
    });
}

#[test]
fn a_read_error_midway_has_its_position() {
    let mut watched = Watched::new(many_lines());
    watched.fails_at = 3_000_000;
    let (artifact, _) = watched.artifact();
    wait(async {
        assert!(artifact.head(10).await.is_ok());
        let errors = [
            artifact.line_count().await.unwrap_err(),
            artifact.tail(3).await.unwrap_err(),
            artifact.cat(400_000..).await.unwrap_err(),
            artifact.grep(&Grep::new("nothing")).await.unwrap_err(),
            artifact.grep(&Grep::new("nothing")).await.unwrap_err(),
            artifact.estimate_tokens(None).await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.code(), ErrorCode::ARTIFACT_UNREADABLE);
            assert!(error.message().contains("disk failure"), "{error}");
            let text = error.model_text();
            assert!(
                text.contains("of 7000000") && text.contains("Try again"),
                "{text}"
            );
        }
        // What the index learnt before the failure is correct.
        let cat = artifact.cat(150_000..150_001).await.unwrap();
        assert_eq!(cat.lines[0].bytes, b"line 00150000");
    });
}

#[test]
fn readers_may_return_little_at_once_and_only_asynchronously() {
    let content = "one\r\ntwo \u{65e5}\u{672c}\r\n\r\nfour\nERROR"
        .repeat(50)
        .into_bytes();
    for (most, near) in [(1, true), (7, true), (3, false), (64, false)] {
        let mut watched = Watched::new(content.clone());
        watched.most = most;
        watched.near = near;
        let (artifact, _) = watched.artifact();
        wait(async {
            let cat = artifact.cat(..).await.unwrap();
            let shown: Vec<_> = cat.lines.iter().map(|line| line.bytes.to_vec()).collect();
            assert_eq!(shown, lines_of(&content));
            assert_eq!(artifact.tail(1).await.unwrap().lines[0].bytes, b"ERROR");
            assert_eq!(artifact.grep(&Grep::new("ERROR$")).await.unwrap().total, 1);
            assert_eq!(artifact.grep(&Grep::new("ERROR")).await.unwrap().total, 50);
            assert_eq!(artifact.grep(&Grep::new("^$")).await.unwrap().total, 50);
        });
    }
}

#[test]
fn dropping_the_future_ends_the_search() {
    let mut watched = Watched::new(many_lines());
    watched.near = false;
    watched.most = 64 * 1024;
    watched.permits = Some(Semaphore::new(3));
    let (artifact, reader) = watched.artifact();
    wait(async {
        let searching = artifact.clone();
        let task = tokio::spawn(async move { searching.grep(&Grep::new("nothing")).await });
        while reader.calls() < 3 {
            tokio::task::yield_now().await;
        }
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        reader.permits.as_ref().unwrap().add_permits(10_000);
        // The current read may still complete. The thread, which holds the reader, then ends.
        drop(artifact);
        while std::sync::Arc::strong_count(&reader) > 1 {
            tokio::task::yield_now().await;
        }
        assert!(reader.calls() <= 3 + 5, "{}", reader.calls());
    });
}
