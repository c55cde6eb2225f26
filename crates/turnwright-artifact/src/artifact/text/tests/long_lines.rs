//! Lines that are too long to hold in memory.

use proptest::prelude::*;

use super::readers::Watched;
use super::{answering, lines_of, text, wait};
use crate::artifact::text::Grep;
use crate::artifact::text::grep::Sizes;

/// Small windows for tests.
const SMALL: Sizes = Sizes {
    block: 32,
    line: 64,
    overlap: 16,
};

fn small(pattern: &str) -> Grep {
    Grep::new(pattern).sizes(SMALL)
}

#[test]
fn a_match_across_windows_is_found() {
    for before in 0..200 {
        let content = format!(
            "x\n{}NEEDLE{}\nNEEDLE\n",
            "a".repeat(before),
            "b".repeat(100)
        );
        let matches = wait(text(content).grep(&small("NEEDLE"))).unwrap();
        let numbers: Vec<u64> = matches.lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [1, 2], "{before}");
        assert!(matches.windowed);
        assert!(matches.to_page().contains("was searched in windows"));
    }
}

#[test]
fn anchors_do_not_match_at_window_boundaries() {
    for length in (60..260).step_by(7) {
        let content = format!(
            "{}Z\r\nshort\r\n",
            "ab ".repeat(length / 3) + &"c".repeat(length % 3)
        );
        let count = |pattern: &str| {
            wait(text(content.clone()).grep(&small(pattern)))
                .unwrap()
                .total
        };
        assert_eq!(count("^b"), 0, "{length}");
        assert_eq!(count("[ab ]$"), 0, "{length}");
        assert_eq!(count(r"\A[b ]"), 0, "{length}");
        assert_eq!(count(r"[ab ]\z"), 0, "{length}");
        assert_eq!(count(r"\r"), 0, "{length}");
        assert_eq!(count("Z$"), 1, "{length}");
        assert_eq!(count("^a"), 1, "{length}");
        assert_eq!(count("^short$"), 1, "{length}");
        // No word starts in the middle of one.
        assert_eq!(count(r"\bb"), 0, "{length}");
    }
}

#[test]
fn word_boundaries_are_correct_at_window_boundaries() {
    for before in (50..90).step_by(3) {
        let content = format!(
            "{}\u{e9}\u{e9} {}",
            "\u{e8}".repeat(before),
            "z ".repeat(80)
        );
        let count = |pattern: &str| {
            wait(text(content.clone()).grep(&small(pattern)))
                .unwrap()
                .total
        };
        assert_eq!(count("\u{e8}\\b"), 0, "{before}");
        assert_eq!(count("\\b\u{e9}"), 0, "{before}");
        assert_eq!(count("\u{e9}\\b"), 1, "{before}");
    }
}

#[test]
fn a_long_line_is_shown_around_its_match_and_can_be_continued() {
    let content = format!(
        "{}caf\u{e9}NEEDLE{}\nend",
        "\u{65e5}".repeat(2000),
        "\u{e9}".repeat(3000)
    );
    let artifact = answering(text(content.clone()), 1024);
    wait(async {
        let matches = artifact.grep(&small("NEEDLE")).await.unwrap();
        let line = &matches.lines[0].line;
        let offset = usize::try_from(line.offset.unwrap()).unwrap();
        assert_eq!(
            line.bytes,
            &content.as_bytes()[offset..offset + line.bytes.len()]
        );
        let shown = std::str::from_utf8(&line.bytes).expect("no character is split");
        assert!(shown.contains("caf\u{e9}NEEDLE\u{e9}"), "{shown}");
        assert!(line.continues);
        let at_end = artifact.grep(&small("\u{e9}$")).await.unwrap();
        assert!(!at_end.lines[0].line.continues || at_end.lines[0].line.offset > Some(6000));
    });
}

#[test]
fn tail_shows_the_end_of_a_long_last_line() {
    let content = format!("first\n{}THE END", "\u{65e5}".repeat(100_000));
    let artifact = answering(text(content), 1024);
    wait(async {
        let tail = artifact.tail(5).await.unwrap();
        assert_eq!(tail.lines.len(), 1);
        let line = &tail.lines[0];
        assert!(
            std::str::from_utf8(&line.bytes)
                .unwrap()
                .ends_with("THE END")
        );
        assert_eq!((line.number, line.offset), (None, None));
        let answer = tail.to_page();
        assert!(
            answer.len() <= 1024 && answer.contains("artifact_cat start=N-1"),
            "{answer}"
        );
        artifact.line_count().await.unwrap();
        let answer = artifact.tail(5).await.unwrap().to_page();
        assert!(
            answer.contains("read it from its start with artifact_cat start=1"),
            "{answer}"
        );
    });
}

#[test]
fn only_the_requested_part_of_a_huge_line_is_read() {
    let (artifact, reader) = Watched::new(vec![b'x'; 20_000_000]).artifact();
    wait(async {
        assert!(artifact.head(10).await.unwrap().is_truncated);
        let read = reader.read_since();
        assert!(read <= 9 * 1024, "{read}");
        assert!(artifact.tail(10).await.unwrap().is_truncated);
        let read = reader.read_since();
        assert!(read <= 64 * 1024, "{read}");
        assert_eq!(artifact.grep(&Grep::new("y")).await.unwrap().total, 0);
        assert_eq!(
            artifact
                .grep(&Grep::new("x$").context(3))
                .await
                .unwrap()
                .total,
            1
        );
        assert_eq!(artifact.line_count().await.unwrap(), 1);
    });
}

proptest! {

    #[test]
    fn windows_find_the_same_as_complete_lines(
        pieces in proptest::collection::vec(
            prop_oneof![
                20 => Just("a"), 20 => Just("b"), 4 => Just(" "), 4 => Just("\u{e9}"), 4 => Just("\u{65e5}"), 1 => Just("\r"),
                1 => Just("\r\n"), 1 => Just("\n"),
            ],
            0..900,
        ),
        which in 0_usize..8,
    ) {
        let patterns = ["abab", "a{6}", r"\bba\b", "\u{e9}a$", "^b", r"\r", "b{3,9} a", "\u{65e5}[ab]\u{e9}"];
        let content = pieces.concat();
        let complete = Grep::new(patterns[which]).max(u64::MAX);
        let artifact = answering(text(content.clone()), 1 << 20);
        let wide = wait(artifact.grep(&complete)).unwrap();
        let narrow = wait(artifact.grep(&complete.sizes(SMALL))).unwrap();
        let numbers = |matches: &crate::artifact::text::Matches| -> Vec<u64> {
            matches.lines.iter().map(|line| line.number).collect()
        };
        prop_assert_eq!(numbers(&narrow), numbers(&wide));
        let longest = lines_of(content.as_bytes()).iter().map(Vec::len).max().unwrap_or(0);
        // A last line of 64 bytes without a newline just fits.
        prop_assert!(narrow.windowed || longest <= 64);
        prop_assert!(!narrow.windowed || longest >= 62);
    }
}
