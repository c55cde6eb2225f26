//! Following the notes of answers shows everything once.

use proptest::prelude::*;

use super::{answering, hostile, lines_of, text, wait};
use crate::artifact::SpooledArtifact;
use crate::artifact::text::Grep;

/// The number after `name=` in the notes of an answer.
fn noted(answer: &str, name: &str) -> Option<u64> {
    let (_, note) = answer.rsplit_once("continue with ")?;
    let (_, number) = note.split_once(&format!("{name}="))?;
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// All lines, by following each note.
async fn read_all(artifact: &SpooledArtifact, first: u64) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut excerpt = artifact.head(first).await.unwrap();
    loop {
        for line in &excerpt.lines {
            let number = usize::try_from(line.number.unwrap()).unwrap();
            match line.offset.unwrap() {
                0 => {
                    assert_eq!(number, lines.len(), "a line is missing or comes twice");
                    lines.push(line.bytes.to_vec());
                }
                offset => {
                    assert_eq!(number + 1, lines.len());
                    assert_eq!(offset as usize, lines[number].len());
                    lines[number].extend_from_slice(&line.bytes);
                }
            }
        }
        let answer = excerpt.to_page();
        let Some(start) = noted(&answer, "start") else {
            return lines;
        };
        let offset = noted(&answer, "offset").unwrap_or(0);
        assert_eq!(excerpt.next, Some((start, offset)), "{answer}");
        // Up to the end, whatever the limit of the first query was.
        excerpt = artifact.cat_from(start.., offset).await.unwrap();
    }
}

/// All matching lines, by following each note.
async fn find_all(artifact: &SpooledArtifact, grep: Grep) -> Vec<u64> {
    let mut found = Vec::new();
    let mut start = 0;
    loop {
        let matches = artifact.grep(&grep.clone().start(start)).await.unwrap();
        let answer = matches.to_page();
        assert!(answer.len() <= artifact.limits().page, "{answer}");
        let numbers: Vec<u64> = matches.lines.iter().map(|line| line.number).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        let hits = matches.lines.iter().filter(|line| line.matches);
        found.extend(hits.map(|line| line.number));
        match noted(&answer, "start") {
            Some(next) => {
                assert_eq!(matches.next, Some(next));
                assert!(next > start || start == 0 && next > 0, "{answer}");
                start = next;
            }
            None => return found,
        }
    }
}

proptest! {

    #[test]
    fn notes_lead_through_every_byte(content in hostile(), first in 1_u64..30) {
        let artifact = answering(text(content.clone()), 1024);
        prop_assert_eq!(wait(read_all(&artifact, first)), lines_of(&content));
    }

    #[test]
    fn notes_lead_to_every_matching_line(content in hostile(), context in 0_u64..4, max in 1_u64..20) {
        let lines = lines_of(&content);
        let expected: Vec<u64> = (0..lines.len() as u64)
            .filter(|n| lines[*n as usize].windows(2).any(|two| two == b"ab" || two == b"xx"))
            .collect();
        let artifact = answering(text(content), 1024);
        let grep = Grep::new("ab|xx").context(context).max(max);
        prop_assert_eq!(&wait(find_all(&artifact, grep.clone())), &expected);
        prop_assert_eq!(wait(artifact.grep(&grep)).unwrap().total, expected.len() as u64);
    }
}

#[test]
fn a_line_of_many_pages_is_read_to_its_end() {
    let long = "\u{65e5}\u{672c}\u{8a9e} text ".repeat(2000);
    let content = format!("first\r\n{long}\r\nlast\r\n");
    let artifact = answering(text(content.clone()), 1024);
    assert_eq!(wait(read_all(&artifact, 1)), lines_of(content.as_bytes()));
}
