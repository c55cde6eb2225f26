//! Keeps private data from leaving on behalf of a third party.

use async_trait::async_trait;

use super::{ApprovalPolicy, PendingCall, Review};
use crate::record::TaintSource;
use crate::render::Taint;

/// The most records of each sort that a decision names.
const MAX_SOURCES: usize = 8;

/// The policy that [`no_exfiltration`] returns.
///
/// ```
/// use turnwright_core::DispatchContext;
/// use turnwright_core::tool::approval::no_exfiltration;
///
/// # let executor = |_: DispatchContext| async { Ok(()) };
/// // An approver decides, with the sources in front of them:
/// let runner = turnwright_core::runner(executor).policy(no_exfiltration().ask()).build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a policy does nothing until a runner has it"]
pub struct NoExfiltration {
    asks: bool,
}

/// Denies a call of a tool that [`sends_out`](crate::tool::ToolBuilder::sends_out) while the prompt contains both text of third
/// parties and private data. A third party may have written an instruction to send the data, and the model may follow it. This
/// combination is known as the lethal trifecta.
///
/// What counts as private: results of tools that are marked as [`reads_private`](crate::tool::ToolBuilder::reads_private), artifacts and
/// artifact queries of such results, [private retrievables](crate::record::RecordBuilder::private), content of the tier
/// third-party-private such as a user's attachments, and everything that a model wrote after it had read such content. All of it
/// counts as long as it is in the prompt: in later turns of the conversation, after a resume, in a summary, and in turns under a
/// call, in both directions. A tool that both reads private data and sends out needs only the text of a third party.
///
/// Labels are the author's: a tool without `sends_out` is not restricted. What the user writes does not count as private.
///
/// ```
/// use serde_json::{Value, json};
/// use turnwright_core::tool::approval::no_exfiltration;
/// use turnwright_core::{DispatchContext, Tool, ToolContext, ToolRegistry};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// # let tool = |name: &str| Tool::dynamic(name, json!({ "type": "object" })).description("…")
/// #     .handler(|_: Value, _: ToolContext| async { "ok" });
/// let read_mail = tool("read_mail").reads_private(true).build()?;
/// let post = tool("post").sends_out(true).build()?;
/// let ctx = DispatchContext::builder()
///     .tools(ToolRegistry::new([read_mail, post])?)
///     .policy(no_exfiltration())
///     .build();
///
/// assert!(!ctx.call("post", "{}").await.is_error());
/// // The mail is private, and anyone can have sent it.
/// let mail = ctx.call("read_mail", "{}").await;
/// let denied = ctx.call("post", "{}").await;
/// let sources = &denied.denial().unwrap().sources;
/// assert_eq!(*sources.last().unwrap().id, *mail.id());
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
pub fn no_exfiltration() -> NoExfiltration {
    NoExfiltration { asks: false }
}

impl NoExfiltration {
    /// Requires approval instead of denying the call.
    pub fn ask(mut self) -> Self {
        self.asks = true;
        self
    }
}

#[async_trait]
impl ApprovalPolicy for NoExfiltration {
    async fn review(&self, call: &PendingCall<'_>) -> Review {
        let tool = call.tool();
        if !tool.sends_out() {
            return Review::Allow;
        }
        let taint = call.taint();
        let reason = match (taint.is_tainted(), taint.is_private()) {
            (true, true) => {
                "data could leave: the prompt contains both text of third parties and private data"
            }
            (true, false) if tool.reads_private() => {
                "data could leave: the tool reads private data, and the prompt contains text of third parties"
            }
            _ => return Review::Allow,
        };
        let review = if self.asks {
            Review::ask(reason)
        } else {
            Review::deny(reason)
        };
        review.with_sources(decisive(&taint))
    }
}

/// Selects records of both sorts: those that the text or the data come from, or else those in which the model repeats them.
fn decisive(taint: &Taint) -> Vec<TaintSource> {
    let first = |wanted: fn(&TaintSource) -> bool| {
        let of = |derived: bool| {
            let all = taint.sources().iter();
            all.filter(move |source| source.derived == derived && wanted(source))
        };
        let derived = of(true).take(match of(false).next() {
            Some(_) => 0,
            None => MAX_SOURCES,
        });
        let chosen: Vec<&TaintSource> = of(false).take(MAX_SOURCES).chain(derived).collect();
        chosen
    };
    let untrusted = first(|source| source.trust_tier.is_some());
    let private = first(|source| source.private);
    let is_chosen = |source: &&TaintSource| {
        let same = |chosen: &&TaintSource| std::ptr::eq(*chosen, *source);
        untrusted.iter().any(same) || private.iter().any(same)
    };
    let all = taint.sources().iter().filter(is_chosen);
    all.cloned().collect()
}
