//! Memory that turns leave behind, each case in a separate process.

use std::error::Error;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Builder;
use turnwright_bench_measure::{peak_memory_kib, resident_memory_kib};
use turnwright_core::spool::ByteStream;
use turnwright_core::store::{ConversationId, StoreExt as _};
use turnwright_core::{
    BoxError, DispatchContext, Storage, Tool, ToolContext, TurnInput, TurnRunner,
};

const LARGE_TURNS: usize = 100;
const LARGE_RESULT: usize = 5_000_000;
const SMALL_TURNS: usize = 10_000;
const TIMEOUT: Duration = Duration::from_secs(3);

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Case {
    /// Turns without a conversation, each with a large result.
    LargeResults,
    /// Turns without a conversation, each with a small result.
    SmallTurns,
    /// Turns of one conversation with large results, after which the conversation is deleted.
    DeletedConversation,
    /// A tool whose stream never ends, under a timeout.
    EndlessStream,
}

impl Case {
    pub(crate) const ALL: [Case; 4] = [
        Case::LargeResults,
        Case::SmallTurns,
        Case::DeletedConversation,
        Case::EndlessStream,
    ];

    const fn word(self) -> &'static str {
        match self {
            Case::LargeResults => "large",
            Case::SmallTurns => "small",
            Case::DeletedConversation => "deleted",
            Case::EndlessStream => "endless",
        }
    }

    pub(crate) fn from_word(word: &str) -> Result<Self, Box<dyn Error>> {
        let found = Case::ALL.into_iter().find(|case| case.word() == word);
        found.ok_or_else(|| "--left needs `large`, `small`, `deleted` or `endless`".into())
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Case::LargeResults => "100 turns without a conversation, a result of 5 MB each: kept",
            Case::SmallTurns => "10,000 turns without a conversation, a small result each: kept",
            Case::DeletedConversation => {
                "100 turns of one conversation, a result of 5 MB each, then deleted: kept of a second round"
            }
            Case::EndlessStream => "a tool whose stream never ends, timeout of 3 s: peak",
        }
    }

    /// Returns bytes of memory, measured in a new process.
    pub(crate) fn in_a_child(self) -> Result<f64, Box<dyn Error>> {
        let output = Command::new(std::env::current_exe()?)
            .args(["--left", self.word()])
            .stderr(Stdio::inherit())
            .output()?;
        if !output.status.success() {
            return Err(format!("{self:?}: the child failed").into());
        }
        Ok(String::from_utf8(output.stdout)?.trim().parse()?)
    }

    /// Returns bytes of memory that are still allocated afterwards, or at the peak, beyond those after the first
    /// turn.
    pub(crate) fn measure(self) -> Result<f64, Box<dyn Error>> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let storage = Storage::memory();
        let runner = turnwright_core::runner(call_once)
            .tool(tool()?)
            .storage(storage.clone())
            .build()?;
        runtime.block_on(async {
            // Runs one turn first, for one-time initialisation.
            turn(&runner, "small", None).await?;
            let before = resident_memory_kib()?;
            let after = match self {
                Case::LargeResults => {
                    for _ in 0..LARGE_TURNS {
                        turn(&runner, "large", None).await?;
                    }
                    resident_memory_kib()?
                }
                Case::SmallTurns => {
                    for _ in 0..SMALL_TURNS {
                        turn(&runner, "small", None).await?;
                    }
                    resident_memory_kib()?
                }
                Case::DeletedConversation => {
                    // The allocator keeps some freed memory for later. A second round shows whether it was freed.
                    deleted_conversation(&runner, &storage).await?;
                    let before = resident_memory_kib()?;
                    deleted_conversation(&runner, &storage).await?;
                    return Ok(resident_memory_kib()?.saturating_sub(before) as f64 * 1024.0);
                }
                Case::EndlessStream => {
                    turn(&runner, "endless", None).await?;
                    peak_memory_kib()?
                }
            };
            Ok(after.saturating_sub(before) as f64 * 1024.0)
        })
    }
}

async fn deleted_conversation(
    runner: &TurnRunner,
    storage: &Storage,
) -> Result<(), Box<dyn Error>> {
    for _ in 0..LARGE_TURNS {
        turn(runner, "large", Some("chat")).await?;
    }
    storage
        .store()
        .delete_conversation(&ConversationId::new("chat"))
        .await?;
    Ok(())
}

/// Runs a turn that requests this result, and drops its outcome.
async fn turn(
    runner: &TurnRunner,
    what: &str,
    conversation: Option<&str>,
) -> Result<(), Box<dyn Error>> {
    let input = TurnInput::new(what);
    let outcome = runner.run(match conversation {
        Some(id) => input.conversation(id),
        None => input,
    });
    let outcome = outcome.await;
    if outcome.is_answered() && outcome.tool_calls().count() == 1 {
        Ok(())
    } else {
        Err(format!("a turn did not end as it should: {outcome:?}").into())
    }
}

async fn call_once(ctx: DispatchContext) -> Result<(), BoxError> {
    let line = ctx.input().map(|input| input.text().to_owned());
    ctx.call_tools([ctx.propose("get", json!({ "what": line }))])
        .await;
    ctx.answer("Done.").await?;
    Ok(())
}

fn tool() -> Result<Tool, turnwright_core::Error> {
    let schema = json!({
        "type": "object",
        "properties": { "what": { "type": "string" } },
        "required": ["what"],
    });
    Tool::dynamic("get", schema)
        .description("Gets a result.")
        .timeout(TIMEOUT)
        .handler(|args: Value, _: ToolContext| async move {
            let (sender, stream) = ByteStream::channel(1);
            tokio::spawn(async move {
                let piece = vec![b'x'; 64 * 1024];
                match args["what"].as_str() {
                    Some("endless") => while sender.send(piece.clone()).await.is_ok() {},
                    Some("large") => drop(sender.send(vec![b'x'; LARGE_RESULT]).await),
                    _ => drop(sender.send("nothing special").await),
                }
            });
            stream
        })
        .build()
}
