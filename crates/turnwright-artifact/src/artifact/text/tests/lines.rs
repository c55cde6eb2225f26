//! Line splitting, and the notes of answers.

use proptest::prelude::*;

use super::{answering, hostile, lines_of, text, wait};
use crate::artifact::text::Excerpt;

fn shown(excerpt: &Excerpt) -> Vec<Vec<u8>> {
    let lines = excerpt.lines.iter();
    lines.map(|line| line.bytes.to_vec()).collect()
}

#[test]
fn lines_match_the_specification() {
    let table: &[(&str, &[&str])] = &[
        ("", &[]),
        ("\n", &[""]),
        ("a", &["a"]),
        ("a\n", &["a"]),
        ("a\nb", &["a", "b"]),
        ("a\n\n", &["a", ""]),
        ("\n\na", &["", "", "a"]),
        ("a\r\nb\r\n", &["a", "b"]),
        ("a\r\n\r\nb", &["a", "", "b"]),
        ("a\rb\n", &["a\rb"]),
        ("a\r\r\nb", &["a\r", "b"]),
        ("abc\r", &["abc\r"]),
        ("\r", &["\r"]),
        ("\r\n", &[""]),
        ("a\nabc\r", &["a", "abc\r"]),
    ];
    for (content, lines) in table {
        let lines: Vec<Vec<u8>> = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
        assert_eq!(lines_of(content.as_bytes()), lines, "{content:?}");
        let artifact = text(*content);
        wait(async {
            let name = format!("{content:?}");
            assert_eq!(shown(&artifact.cat(..).await.unwrap()), lines, "cat {name}");
            assert_eq!(
                shown(&artifact.head(99).await.unwrap()),
                lines,
                "head {name}"
            );
            assert_eq!(
                shown(&artifact.tail(99).await.unwrap()),
                lines,
                "tail {name}"
            );
            let count = text(*content).line_count().await.unwrap();
            assert_eq!(count, lines.len() as u64, "line_count {name}");
        });
    }
}

#[test]
fn ranges_are_half_open_and_clamped() {
    let artifact = text("0\n1\n2\n3\n");
    wait(async {
        let cat = async |from: u64, to: u64| shown(&artifact.cat(from..to).await.unwrap()).concat();
        assert_eq!(cat(1, 3).await, b"12");
        assert_eq!(cat(2, 99).await, b"23");
        assert_eq!(cat(4, 99).await, b"");
        assert_eq!(cat(9, 99).await, b"");
        assert_eq!(cat(2, 2).await, b"");
        assert_eq!(cat(3, 1).await, b"");
        assert_eq!(cat(0, u64::MAX).await, b"0123");
        assert_eq!(cat(u64::MAX, u64::MAX).await, b"");
        let from_inside = artifact.cat_from(2.., 1).await.unwrap();
        assert_eq!(shown(&from_inside), [b"".to_vec(), b"3".to_vec()]);
        let beyond = artifact.cat_from(2.., 50).await.unwrap();
        assert_eq!(beyond.lines[0].offset, Some(1));
        assert_eq!(shown(&beyond), [b"".to_vec(), b"3".to_vec()]);
    });
}

#[test]
fn answers_say_how_to_continue() {
    let numbers: String = (0..1000).map(|n| format!("number {n}\n")).collect();
    let artifact = answering(text(numbers), 1024);
    wait(async {
        let answer = artifact.head(2).await.unwrap().to_page();
        assert_eq!(
            answer,
            "number 0\nnumber 1\n[more lines follow: continue with artifact_cat start=2]"
        );
        let answer = artifact.head(100).await.unwrap().to_page();
        assert!(
            answer.ends_with("[not all lines fit: continue with artifact_cat start=52 end=100]"),
            "{answer}"
        );
        let answer = artifact.cat(999..).await.unwrap().to_page();
        assert_eq!(answer, "number 999");
        let answer = artifact.cat(5000..).await.unwrap().to_page();
        assert_eq!(
            answer,
            "[no lines in this range: the artifact has 1000 lines, 0 to 999]"
        );
        let answer = artifact.cat(7..7).await.unwrap().to_page();
        assert_eq!(
            answer,
            "[the range is empty: `end` must be greater than `start`]"
        );
        let answer = artifact.tail(2).await.unwrap().to_page();
        assert_eq!(answer, "number 998\nnumber 999\n[lines 998 to 999]");
        let answer = artifact.tail(100).await.unwrap().to_page();
        assert!(
            answer.ends_with("read the earlier ones with artifact_cat start=900 end=954]"),
            "{answer}"
        );
        let answer = text("").head(5).await.unwrap().to_page();
        assert_eq!(answer, "[the artifact is empty]");
        let answer = text("").tail(5).await.unwrap().to_page();
        assert_eq!(answer, "[the artifact is empty]");
    });
}

#[test]
fn unprintable_bytes_are_escaped_in_answers_only() {
    let content = b"tab\there \xff\x00 \x1b[31mred \xc3 \xc2\x85 caf\xc3\xa9\n";
    wait(async {
        let excerpt = text(content.to_vec()).head(1).await.unwrap();
        assert_eq!(excerpt.lines[0].bytes, &content[..content.len() - 1]);
        assert_eq!(
            excerpt.to_page(),
            "tab\there \\xFF\\x00 \\x1B[31mred \\xC3 \\xC2\\x85 caf\u{e9}\n\
             [bytes that are not printable UTF-8 are shown as \\xNN]"
        );
    });
}

#[test]
fn as_text_reports_replacements() {
    wait(async {
        let plain = text("caf\u{e9}").as_text().await.unwrap();
        assert_eq!((plain.text.as_str(), plain.replaced), ("caf\u{e9}", 0));
        let broken = text(b"a\xff\xfeb\xe6\x97c".to_vec())
            .as_text()
            .await
            .unwrap();
        assert_eq!(broken.text, "a\u{fffd}\u{fffd}b\u{fffd}c");
        assert_eq!(broken.replaced, 3);
    });
}

#[test]
fn contents_are_not_in_debug() {
    wait(async {
        let artifact = text("secret\n");
        let head = artifact.head(1).await.unwrap();
        assert!(!format!("{head:?}").contains("secret"), "{head:?}");
        let found = artifact
            .grep(&crate::artifact::text::Grep::new("secret"))
            .await
            .unwrap();
        assert!(!format!("{found:?}").contains("secret"), "{found:?}");
    });
}

proptest! {

    #[test]
    fn excerpts_show_the_requested_lines_within_the_limit(
        content in hostile(), budget in 1024_usize..3000, from in 0_u64..40, many in 0_u64..40, offset in 0_u64..90,
    ) {
        let lines = lines_of(&content);
        let artifact = answering(text(content), budget);
        let range = |from: usize, to: usize| lines.get(from.min(lines.len())..to.min(lines.len())).unwrap().to_vec();
        wait(async {
            let head = artifact.head(many).await.unwrap();
            let tail = artifact.tail(many).await.unwrap();
            let cat = artifact.cat(from..from + many).await.unwrap();
            let inside = artifact.cat_from(from..from + many, offset).await.unwrap();
            for excerpt in [&head, &tail, &cat, &inside] {
                let answer = excerpt.to_page();
                prop_assert!(answer.len() <= budget, "{} bytes of {budget}: {answer}", answer.len());
                prop_assert!(excerpt.lines.len() as u64 <= many);
                prop_assert!(!excerpt.is_truncated || !excerpt.lines.is_empty());
            }
            let (from, many) = (from as usize, many as usize);
            if !head.is_truncated { prop_assert_eq!(shown(&head), range(0, many)); }
            if !cat.is_truncated { prop_assert_eq!(shown(&cat), range(from, from + many)); }
            if !tail.is_truncated { prop_assert_eq!(shown(&tail), range(lines.len().saturating_sub(many), lines.len())); }
            for (line, given) in tail.lines.iter().zip(&lines[lines.len() - tail.lines.len()..]) {
                prop_assert!(given.ends_with(&line.bytes));
                prop_assert_eq!(line.offset.unwrap() as usize, given.len() - line.bytes.len());
            }
            for excerpt in [&head, &tail, &cat, &inside] {
                for line in &excerpt.lines {
                    let given = &lines[line.number.unwrap() as usize];
                    let begin = line.offset.unwrap() as usize;
                    prop_assert_eq!(&line.bytes[..], &given[begin..begin + line.bytes.len()]);
                }
            }
            Ok(())
        })?;
    }
}

#[test]
fn a_line_with_invalid_utf_8_can_be_read_as_text() {
    let excerpt = wait(text(b"caf\xc3\xa9\n\xff!\n".to_vec()).head(2)).unwrap();
    let lines: Vec<_> = excerpt.lines.iter().map(|line| line.text()).collect();
    assert_eq!(lines, ["café", "\u{FFFD}!"]);
}
