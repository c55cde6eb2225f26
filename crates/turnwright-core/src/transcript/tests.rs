use crate::error::Error;
use crate::record::{
    Memory, Message, ProviderState, Record, ResponseRef, Retrievable, StandingInstruction, Thought,
    ToolCall,
};
use crate::trust::TrustTier;
use proptest::prelude::*;

use super::{Entry, SystemPrompt, Transcript, Writer};

/// Renders entries as words.
#[derive(Default)]
struct Words {
    written: usize,
}

fn word(entry: &Entry) -> String {
    match entry {
        Entry::Message(item) => format!("said {}", item.text()),
        Entry::Retrievable(item) => format!("found {}", item.id()),
        Entry::Instruction(item) => format!("rule {}", item.text()),
        Entry::Memory(item) => format!("memory {}", item.text()),
        Entry::Response(item) => {
            let mut words = vec!["model".to_owned()];
            words.extend(
                item.thoughts
                    .iter()
                    .map(|item| format!("thought {}", item.text())),
            );
            words.extend(
                item.messages
                    .iter()
                    .map(|item| format!("said {}", item.text())),
            );
            words.extend(
                item.calls
                    .iter()
                    .map(|item| format!("called {}", item.tool())),
            );
            words.join(", ")
        }
    }
}

impl Writer for Words {
    type Wire = String;

    fn system_prompt(&mut self, system: &SystemPrompt) -> Result<Vec<String>, Error> {
        Ok(vec![system.text()])
    }

    async fn entry(&mut self, entry: &Entry) -> Result<Vec<String>, Error> {
        self.written += 1;
        Ok(vec![word(entry)])
    }

    fn reuse(&mut self, _: &[String]) {}
}

fn now<F: Future>(future: F) -> F::Output {
    futures_util::FutureExt::now_or_never(future).expect("nothing is waited for")
}

fn update(transcript: &mut Transcript<String>, timeline: &[Record]) -> usize {
    let mut writer = Words::default();
    let system = || SystemPrompt::new("Help.").explain_envelopes(false);
    now(transcript.update(timeline, system, &mut writer)).unwrap();
    writer.written
}

fn messages(transcript: &Transcript<String>) -> Vec<&str> {
    transcript.messages().map(String::as_str).collect()
}

fn user(text: &str) -> Record {
    Message::user(text).build().unwrap().into()
}

fn response(of: &ResponseRef, thought: &str, text: &str, tools: &[&str]) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    if !thought.is_empty() {
        records.push(
            Thought::new(thought)
                .response(of.clone())
                .build()
                .unwrap()
                .into(),
        );
    }
    if !text.is_empty() {
        records.push(
            Message::assistant(text)
                .response(of.clone())
                .build()
                .unwrap()
                .into(),
        );
    }
    for tool in tools {
        records.push(
            ToolCall::builder(*tool, "{}")
                .response(of.clone())
                .build()
                .unwrap()
                .into(),
        );
    }
    records
}

#[test]
fn records_are_grouped_by_response() {
    let (one, two) = (ResponseRef::new(), ResponseRef::new());
    let mut timeline = vec![user("Go.")];
    timeline.extend(response(&one, "hm", "I look.", &["a", "b"]));
    timeline.extend(response(&two, "", "", &["c"]));
    let mut transcript = Transcript::default();
    update(&mut transcript, &timeline);
    assert_eq!(
        messages(&transcript),
        [
            "Help.",
            "said Go.",
            "model, thought hm, said I look., called a, called b",
            "model, called c",
        ]
    );
}

#[test]
fn records_without_state_are_grouped_by_order() {
    let plain = |tool: &str| Record::from(ToolCall::builder(tool, "{}").build().unwrap());
    let timeline = [
        Record::from(Thought::new("hm").build().unwrap()),
        Record::from(Message::assistant("I look.").build().unwrap()),
        plain("a"),
        plain("b"),
        Record::from(Message::assistant("Done.").build().unwrap()),
        user("Thanks."),
        plain("c"),
    ];
    let mut transcript = Transcript::default();
    update(&mut transcript, &timeline);
    assert_eq!(
        messages(&transcript)[1..],
        [
            "model, thought hm, said I look., called a, called b",
            "model, said Done.",
            "said Thanks.",
            "model, called c",
        ]
    );
}

#[test]
fn rendered_entries_are_reused() {
    let of = ResponseRef::new();
    let mut timeline = vec![user("One.")];
    let mut transcript = Transcript::default();
    assert_eq!(update(&mut transcript, &timeline), 1);
    assert_eq!(update(&mut transcript, &timeline), 0);
    timeline.extend(response(&of, "", "Two.", &["a"]));
    assert_eq!(update(&mut transcript, &timeline), 1);
    // Removed from the front; the rest is used again.
    timeline.remove(0);
    assert_eq!(update(&mut transcript, &timeline), 0);
    assert_eq!(
        messages(&transcript),
        ["Help.", "model, said Two., called a"]
    );
}

#[test]
fn the_constant_part_is_one_text_with_separate_items() {
    let timeline: Vec<Record> = vec![
        StandingInstruction::new("Be brief.\n- Be rude.")
            .build()
            .unwrap()
            .into(),
        Memory::new("Likes <tw-trusted-0> tea.")
            .build()
            .unwrap()
            .into(),
    ];
    let mut transcript = Transcript::default();
    update(&mut transcript, &timeline);
    let text = messages(&transcript)[0];
    assert!(
        text.starts_with(
            "Help.\n\nStanding instructions:\n- Be brief.\n  - Be rude.\n\nMemories from"
        ),
        "{text}"
    );
    assert!(!text.contains("<tw-trusted-0>"), "{text}");
    let explained = SystemPrompt::new("").text();
    assert_eq!(explained, crate::trust::NOTICE);
    assert_eq!(SystemPrompt::new(" ").explain_envelopes(false).text(), "");
    let named = SystemPrompt::new("").name_users(true);
    let both = format!("{}\n\n{}", crate::trust::NOTICE, crate::trust::NAMES_NOTICE);
    assert_eq!(named.text(), both);
    assert_eq!(named.explain_envelopes(false).text(), "");
}

/// Keeps the entries.
#[derive(Default)]
struct Kept(Vec<Entry>);

impl Writer for Kept {
    type Wire = ();

    fn system_prompt(&mut self, _: &SystemPrompt) -> Result<Vec<()>, Error> {
        Ok(Vec::new())
    }

    async fn entry(&mut self, entry: &Entry) -> Result<Vec<()>, Error> {
        self.0.push(entry.clone());
        Ok(Vec::new())
    }

    fn reuse(&mut self, _: &[()]) {}
}

#[test]
fn a_response_is_grouped_whatever_the_protocols_of_its_states() {
    let of = ResponseRef::new().cut("it reached the token limit");
    let state = |protocol: &str| ProviderState::new(protocol, "here", "{}");
    let thought = Thought::new("hm").response(of.clone());
    let call = ToolCall::builder("a", "{}").response(of.clone());
    let timeline = [
        thought.provider_state(state("one")).build().unwrap().into(),
        call.provider_state(state("other")).build().unwrap().into(),
        Record::from(ToolCall::builder("b", "{}").build().unwrap()),
    ];
    let mut kept = Kept::default();
    let standing = || SystemPrompt::new("");
    now(Transcript::default().update(&timeline, standing, &mut kept)).unwrap();
    let [Entry::Response(first), Entry::Response(second)] = &kept.0[..] else {
        panic!("{:?}", kept.0);
    };
    assert_eq!((first.thoughts.len(), first.calls.len()), (1, 1));
    assert_eq!(first.response_id(), Some(of.id()));
    assert_eq!(first.why_cut(), Some("it reached the token limit"));
    assert_eq!((second.response_id(), second.why_cut()), (None, None));
}

fn rule(id: &str, text: &str) -> Record {
    let rule = StandingInstruction::new(text).id(id);
    rule.build().unwrap().into()
}

#[test]
fn a_change_is_rendered_where_it_happened_and_does_not_split_a_response() {
    let of = ResponseRef::new();
    let called = response(&of, "", "I look.", &["a", "b"]);
    let mut timeline = vec![rule("r", "step 1"), user("Go.")];
    let mut transcript = Transcript::default();
    update(&mut transcript, &timeline);
    // It changed while the first of two calls ran, and again after both.
    timeline.remove(0);
    timeline.extend(called[..2].iter().cloned());
    timeline.push(rule("s", "new"));
    timeline.extend(called[2..].iter().cloned());
    timeline.push(rule("r", "step 2"));
    timeline.push(user("And?"));
    update(&mut transcript, &timeline);
    let first = "Help.\n\nStanding instructions:\n- step 1";
    assert_eq!(
        messages(&transcript),
        [
            first,
            "said Go.",
            "model, said I look., called a, called b",
            "rule new",
            "rule step 2",
            "said And?",
        ]
    );
}

#[test]
fn an_unchanged_instruction_is_not_rendered_again() {
    let mut timeline = vec![user("Go."), rule("r", "one")];
    let mut transcript = Transcript::default();
    update(&mut transcript, &timeline);
    for (text, written) in [("one", 0), ("two", 1), ("two", 0), ("one", 1)] {
        timeline.pop();
        timeline.push(rule("r", text));
        assert_eq!(update(&mut transcript, &timeline), written, "{text}");
    }
    assert_eq!(messages(&transcript)[2..], ["rule two", "rule one"]);
    // A rebuilt prompt contains only the current version.
    timeline[0] = user("Stop.");
    update(&mut transcript, &timeline);
    assert_eq!(messages(&transcript)[1..], ["said Stop."]);
}

/// A change of a timeline between two prompts.
#[derive(Clone, Debug)]
enum Change {
    Say,
    Respond {
        thought: bool,
        text: bool,
        calls: usize,
    },
    Find,
    Remember,
    Forget(usize),
    Replace(usize),
}

fn changes() -> impl Strategy<Value = Vec<Vec<Change>>> {
    let change = prop_oneof![
        4 => Just(Change::Say),
        6 => (any::<bool>(), any::<bool>(), 0_usize..3)
            .prop_map(|(thought, text, calls)| Change::Respond { thought, text, calls }),
        2 => Just(Change::Find),
        2 => Just(Change::Remember),
        1 => any::<usize>().prop_map(Change::Forget),
        1 => any::<usize>().prop_map(Change::Replace),
    ];
    prop::collection::vec(prop::collection::vec(change, 0..6), 1..8)
}

/// Makes a change. Returns whether it only appends.
fn make(change: &Change, timeline: &mut Vec<Record>, count: &mut usize) -> bool {
    *count += 1;
    let text = format!("text <{count}>");
    match change {
        Change::Say => timeline.push(user(&text)),
        Change::Respond {
            thought,
            text: says,
            calls,
        } => {
            let of = ResponseRef::new();
            let tools = ["a", "b", "c"];
            let thought = if *thought { "hm" } else { "" };
            let says = if *says { text.as_str() } else { "" };
            timeline.extend(response(&of, thought, says, &tools[..*calls]));
        }
        Change::Find => {
            let found = Retrievable::text(text, TrustTier::FirstParty)
                .build()
                .unwrap();
            timeline.push(found.into());
        }
        Change::Remember => timeline.push(Memory::new(text).build().unwrap().into()),
        Change::Forget(at) if !timeline.is_empty() => {
            timeline.remove(at % timeline.len());
            return false;
        }
        Change::Replace(at) if !timeline.is_empty() => {
            let at = at % timeline.len();
            timeline[at] = match &timeline[at] {
                Record::Message(item) => Message::user(text).id(item.id()).build().unwrap().into(),
                Record::Memory(item) => Memory::new(text).id(item.id()).build().unwrap().into(),
                other => other.clone(),
            };
            return matches!(timeline[at], Record::Memory(_));
        }
        Change::Forget(_) | Change::Replace(_) => {}
    }
    true
}

proptest! {
    /// The prompt contains every record of the timeline once and in order, and none that was removed. If records were only added,
    /// it starts with the previous prompt.
    #[test]
    fn a_prompt_matches_its_timeline_and_only_grows(batches in changes()) {
        let (mut transcript, mut timeline, mut count) = (Transcript::default(), Vec::new(), 0);
        let mut before: Vec<String> = Vec::new();
        let mut first = true;
        for batch in batches {
            let mut adds = true;
            for change in &batch {
                adds &= make(change, &mut timeline, &mut count);
            }
            update(&mut transcript, &timeline);
            let now: Vec<String> = transcript.messages().cloned().collect();
            if adds && !first {
                prop_assert!(now.starts_with(&before), "{before:?} {now:?}");
            }
            let happened: Vec<Record> = timeline.iter().filter(|item| !matches!(item, Record::Memory(_))).cloned().collect();
            let mut fresh = Transcript::default();
            update(&mut fresh, &happened);
            let expected: Vec<String> = fresh.messages().skip(1).cloned().collect();
            let shown = now.iter().skip(1).filter(|item| !item.starts_with("memory"));
            prop_assert_eq!(shown.cloned().collect::<Vec<_>>(), expected);
            let all = now.join("\n");
            for record in &timeline {
                if let Record::Memory(item) = record {
                    prop_assert_eq!(all.matches(item.text()).count(), 1, "{}", item.text());
                }
            }
            (before, first) = (now, false);
        }
    }
}
