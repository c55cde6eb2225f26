//! Random deltas, collected.

use turnwright_core::Usage;
use turnwright_models::decode::{Cut, Delta, Finish, ReportedUsage};

use super::{Tally, run};
use crate::rng::Rng;
use crate::wire::collect;

#[test]
fn random_deltas_are_collected_without_loss() {
    let tally = run(judge_deltas);
    assert!(
        tally["complete"] > 0 && tally["not complete"] > 0,
        "{tally:?}"
    );
}

/// Sums of the input, independent of the collector.
#[derive(Default)]
struct Sums {
    text: usize,
    reasoning: usize,
    refusal: usize,
    names: usize,
    arguments: usize,
    slots: usize,
    complete: Option<bool>,
    /// Output followed the finish reason without another one.
    continues: bool,
    /// A call began or went on after the finish reason, without another one.
    late_call: bool,
    done: bool,
    usage: Option<Usage>,
}

fn judge_deltas(rng: &mut Rng, tally: &mut Tally) {
    let mut sums = Sums::default();
    let count = rng.below(40);
    let deltas: Vec<Delta> = (0..count).map(|_| random_delta(rng, &mut sums)).collect();
    let reply = collect(deltas);
    assert_eq!(reply.text.len(), sums.text);
    assert_eq!(reply.reasoning.len(), sums.reasoning);
    assert_eq!(reply.refusal.len(), sums.refusal);
    assert_eq!(reply.tool_calls.len(), sums.slots);
    let of_calls = |size: fn(&str, &str) -> usize| -> usize {
        let calls = reply.tool_calls.iter();
        calls.map(|call| size(&call.name, &call.arguments)).sum()
    };
    assert_eq!(of_calls(|name, _| name.len()), sums.names);
    assert_eq!(of_calls(|_, arguments| arguments.len()), sums.arguments);
    assert_eq!(
        reply.is_complete(),
        sums.complete == Some(true) && !sums.continues
    );
    assert_eq!(reply.done, sums.done);
    assert_eq!(reply.usage, sums.usage);
    let how = if reply.is_complete() {
        "complete"
    } else {
        "not complete"
    };
    *tally.entry(how.to_owned()).or_default() += 1;
}

fn random_delta(rng: &mut Rng, sums: &mut Sums) -> Delta {
    let text = ["", "a", "äöü", "{\"x\":", "}", "\n"];
    let text = (*rng.pick(&text)).to_owned();
    let kind = rng.below(9);
    sums.continues |= matches!(kind, 0..=2 | 7..) && sums.complete.is_some();
    match kind {
        0 => {
            sums.text += text.len();
            Delta::Text(text)
        }
        1 => {
            sums.reasoning += text.len();
            Delta::Reasoning(text)
        }
        2 => {
            sums.refusal += text.len();
            Delta::Refusal(text)
        }
        3 => {
            // What looked like text so far was reasoning.
            sums.reasoning += std::mem::take(&mut sums.text);
            Delta::TextWasReasoning
        }
        4 => {
            let (reason, finish) = *rng.pick(&[
                ("", Finish::Stop),
                ("stop", Finish::Stop),
                ("tool_calls", Finish::ToolCalls),
                ("pause_turn", Finish::Paused),
                ("refusal", Finish::Declined),
                ("length", Finish::Cut(Cut::Length)),
                ("error", Finish::Cut(Cut::Failure)),
                ("something_new", Finish::Unknown),
            ]);
            let complete = matches!(reason, "stop" | "tool_calls" | "pause_turn");
            if !reason.is_empty() {
                sums.continues = false;
                sums.late_call = false;
                sums.complete = Some(complete && sums.complete.unwrap_or(true));
            }
            let reason = reason.to_owned();
            Delta::Finish { reason, finish }
        }
        5 => {
            let usage = Usage::tokens(rng.next(), rng.next());
            sums.usage = Some(usage);
            Delta::Usage {
                usage,
                reported: ReportedUsage::default(),
            }
        }
        6 => {
            sums.done = true;
            sums.continues = sums.late_call;
            Delta::Done
        }
        _ => {
            let slot = rng.below(6);
            sums.late_call |=
                (slot >= sums.slots || !text.trim().is_empty()) && sums.complete.is_some();
            sums.slots = sums.slots.max(slot + 1);
            let name = rng.chance(50).then(|| "f".to_owned());
            sums.names += name.as_ref().map_or(0, String::len);
            sums.arguments += text.len();
            Delta::Call {
                slot,
                id: rng.chance(50).then(|| "id".to_owned()),
                name,
                arguments: text,
                extra: rng.chance(20).then(Default::default),
            }
        }
    }
}
