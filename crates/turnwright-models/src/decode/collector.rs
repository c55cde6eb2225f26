//! Assembles a reply from its pieces.

use super::delta::Delta;
use super::finish::Finish;
use super::reply::{Reply, ReplyCall};

/// The maximum distance of a call's slot from the known calls. A decoder never skips one; the bound limits memory.
const MAX_AHEAD: usize = 1_024;

/// Assembles a reply from its deltas, in linear time.
///
/// ```
/// use turnwright_models::decode::{Collector, Delta};
///
/// let mut collector = Collector::new();
/// collector.add(Delta::Text("Hel".to_owned()));
/// collector.add(Delta::Text("lo".to_owned()));
/// assert_eq!(collector.into_reply().text, "Hello");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Collector {
    reply: Reply,
    /// Whether a call began or went on after the last finish reason.
    has_late_call: bool,
}

impl Collector {
    /// Creates a collector without pieces.
    #[must_use]
    pub fn new() -> Self {
        Collector::default()
    }

    /// Adds a delta.
    pub fn add(&mut self, delta: Delta) {
        let reply = &mut self.reply;
        if reply.finish_reason.is_some() {
            reply.continues |= delta.is_content();
            let known = reply.tool_calls.len();
            self.has_late_call |= delta.extends_calls(known);
        }
        match delta {
            Delta::Id(id) => reply.id = Some(id),
            Delta::Model(model) => reply.model = Some(model),
            Delta::Text(text) => append(&mut reply.text, text),
            Delta::Reasoning(text) => append(&mut reply.reasoning, text),
            Delta::TextWasReasoning => {
                let text = std::mem::take(&mut reply.text);
                append(&mut reply.reasoning, text);
            }
            Delta::Refusal(text) => append(&mut reply.refusal, text),
            Delta::Call {
                slot,
                id,
                name,
                arguments,
                extra,
            } => {
                let Some(call) = call_at(&mut reply.tool_calls, slot) else {
                    return;
                };
                if call.id.is_none() {
                    call.id = id;
                }
                append(&mut call.name, name.unwrap_or_default());
                append(&mut call.arguments, arguments);
                if let Some(extra) = extra {
                    call.extra.get_or_insert_default().extend(extra);
                }
            }
            Delta::Finish { reason, .. } if reason.is_empty() => {}
            Delta::Finish { reason, finish } => {
                reply.continues = false;
                self.has_late_call = false;
                // A second finish reason does not make a truncated response complete.
                let known = reply.finish.map_or(0, Finish::severity);
                if finish.severity() >= known {
                    reply.finish_reason = Some(reason);
                    reply.finish = Some(finish);
                }
            }
            Delta::Usage { usage, reported } => {
                reply.usage = Some(usage);
                reply.reported_usage = Some(reported);
            }
            Delta::Detail { name, value } => {
                reply.details.insert(name, value);
            }
            Delta::ProviderContent(tier) => {
                reply.provider_content.insert(tier);
            }
            Delta::Done => {
                reply.done = true;
                // Only another finish reason says that the model meant a call that began or went on after the first one.
                reply.continues = self.has_late_call;
            }
        }
    }

    /// Returns the reply so far.
    #[must_use]
    pub fn partial(&self) -> &Reply {
        &self.reply
    }

    /// Returns the reply. Its [`state`](Reply::state) comes from
    /// [`Decoder::take_state`](super::Decoder::take_state).
    #[must_use]
    pub fn into_reply(self) -> Reply {
        self.reply
    }
}

impl Extend<Delta> for Collector {
    fn extend<T: IntoIterator<Item = Delta>>(&mut self, deltas: T) {
        deltas.into_iter().for_each(|delta| self.add(delta));
    }
}

/// Appends text. The first piece is moved, so most complete texts are never copied.
fn append(text: &mut String, more: String) {
    if text.is_empty() {
        *text = more;
    } else {
        text.push_str(&more);
    }
}

/// Returns the call of a slot, after adding placeholders for missing ones.
fn call_at(calls: &mut Vec<ReplyCall>, slot: usize) -> Option<&mut ReplyCall> {
    if slot >= calls.len().saturating_add(MAX_AHEAD) {
        return None;
    }
    if slot >= calls.len() {
        calls.resize_with(slot + 1, ReplyCall::default);
    }
    calls.get_mut(slot)
}
