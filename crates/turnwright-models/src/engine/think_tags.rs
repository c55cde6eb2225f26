//! Splits `<think>…</think>` off the text, for models that put their reasoning there.

use crate::decode::Delta;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Turns text inside of `<think>…</think>` at the start of a response into reasoning. A closing tag that was never
/// opened counts too: some chat templates open it in the prompt.
#[derive(Default)]
pub(super) struct ThinkTags {
    place: Place,
    /// Text that may be the start of a tag.
    held: String,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// Before the first character that is not whitespace.
    #[default]
    Start,
    /// After `<think>`.
    Inside,
    /// In text that did not start with `<think>`.
    Unopened,
    /// After `</think>`, before the answer.
    Closed,
    /// In the answer.
    Answer,
}

impl ThinkTags {
    /// Splits the text of deltas, in place. How the text is split into deltas does not affect the result.
    pub(super) fn split(&mut self, deltas: &mut Vec<Delta>) {
        for delta in std::mem::take(deltas) {
            match delta {
                Delta::Text(text) => self.text(text, deltas),
                Delta::Call { .. } | Delta::Finish { .. } | Delta::Done => {
                    self.flush(deltas);
                    deltas.push(delta);
                }
                delta => deltas.push(delta),
            }
        }
    }

    fn text(&mut self, text: String, deltas: &mut Vec<Delta>) {
        if self.place == Place::Answer {
            return deltas.push(Delta::Text(text));
        }
        self.held.push_str(&text);
        loop {
            match self.place {
                Place::Start => {
                    let begun = self.held.trim_start();
                    if begun.len() < OPEN.len() && OPEN.starts_with(begun) {
                        return;
                    }
                    self.place = match begun.strip_prefix(OPEN) {
                        Some(rest) => {
                            self.held = rest.to_owned();
                            Place::Inside
                        }
                        None => Place::Unopened,
                    };
                }
                Place::Inside | Place::Unopened => {
                    let Some(at) = self.held.find(CLOSE) else {
                        let keep = partial(&self.held, CLOSE);
                        let rest = self.held.split_off(self.held.len() - keep);
                        let ready = std::mem::replace(&mut self.held, rest);
                        self.emit(ready, deltas);
                        return;
                    };
                    let after = self.held.split_off(at);
                    let ready = std::mem::take(&mut self.held);
                    self.emit(ready, deltas);
                    if self.place == Place::Unopened {
                        deltas.push(Delta::TextWasReasoning);
                    }
                    self.held = after.get(CLOSE.len()..).unwrap_or_default().to_owned();
                    self.place = Place::Closed;
                }
                Place::Closed => {
                    let answer = self.held.trim_start().to_owned();
                    self.held.clear();
                    if answer.is_empty() {
                        return;
                    }
                    self.place = Place::Answer;
                    return deltas.push(Delta::Text(answer));
                }
                Place::Answer => return,
            }
        }
    }

    /// Releases what was held back.
    fn flush(&mut self, deltas: &mut Vec<Delta>) {
        let held = std::mem::take(&mut self.held);
        self.emit(held, deltas);
    }

    fn emit(&self, text: String, deltas: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        deltas.push(match self.place {
            Place::Inside => Delta::Reasoning(text),
            _ => Delta::Text(text),
        });
    }
}

/// Returns the length of the longest end of `text` that is a start of `tag`.
fn partial(text: &str, tag: &str) -> usize {
    let longest = tag.len().saturating_sub(1).min(text.len());
    let fits = |length: &usize| {
        text.as_bytes()
            .ends_with(tag.as_bytes().get(..*length).unwrap_or_default())
    };
    (1..=longest).rev().find(fits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::ThinkTags;
    use crate::decode::{Collector, Delta, Finish};

    fn split(pieces: &[&str]) -> (String, String) {
        let (mut tags, mut collector) = (ThinkTags::default(), Collector::new());
        let finish = Delta::Finish {
            reason: "stop".to_owned(),
            finish: Finish::Stop,
        };
        let texts = pieces.iter().map(|piece| Delta::Text((*piece).to_owned()));
        for delta in texts.chain([finish]) {
            let mut deltas = vec![delta];
            tags.split(&mut deltas);
            collector.extend(deltas);
        }
        let reply = collector.into_reply();
        (reply.reasoning, reply.text)
    }

    #[test]
    fn reasoning_in_tags_is_split_off() {
        let cases = [
            ("<think>hm</think>\n\nYes.", "hm", "Yes."),
            (" \n<think>hm</think>Yes.", "hm", "Yes."),
            ("hm\n</think>\nYes.", "hm\n", "Yes."),
            ("Yes.", "", "Yes."),
            ("<thin", "", "<thin"),
            ("<think>cut off", "cut off", ""),
            ("a < b </thin", "", "a < b </thin"),
            (
                "<think>a</think>b <think>c</think>",
                "a",
                "b <think>c</think>",
            ),
            ("", "", ""),
        ];
        for (text, reasoning, answer) in cases {
            let expected = (reasoning.to_owned(), answer.to_owned());
            assert_eq!(split(&[text]), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("<think>".to_owned()),
                    Just("</think>".to_owned()),
                    "[a-z<>/ \n]{0,6}",
                ],
                0..6,
            ),
            cuts in prop::collection::vec(0_usize..60, 0..8),
        ) {
            let text: String = parts.concat();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&str> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            prop_assert_eq!(split(&pieces), split(&[&text]));
        }
    }
}
