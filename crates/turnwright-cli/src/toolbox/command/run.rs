//! One run of a program: arguments in, result out, and no way to outlive its call.

use std::collections::VecDeque;
use std::io;
use std::process::ExitStatus;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::ChildStdin;
use turnwright::prelude::*;

use crate::child::Program;

/// How much of its output is taken.
const MOST_BYTES: u64 = 64 << 20;

/// How much is kept of what it says beside its output.
const LAST_WORDS: usize = 2_000;

/// How many of its lines are told as progress.
const MOST_PROGRESS: usize = 1_000;

/// Runs a program with its arguments as JSON on standard input; standard output is the result. Lines on standard error are
/// its progress and, if it fails, the reason.
pub(super) async fn run(
    program: &Program,
    args: &Value,
    ctx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let mut running = program.start().map_err(|error| {
        let message = format!("`{}` cannot be started: {error}", program.path.display());
        ToolError::unavailable(message)
            .for_model("The program behind this tool cannot be started.")
            .with_source(error)
    })?;
    let input = running.child.stdin.take();
    let (Some(output), Some(words)) = (running.child.stdout.take(), running.child.stderr.take())
    else {
        return Err(ToolError::internal("the program has no output"));
    };
    let (_, output, words) = tokio::join!(
        write(input, args.to_string()),
        all(output),
        last_words(words, ctx)
    );
    let Some(output) = output? else {
        let for_model = "It gave more than 64 MiB and was stopped.";
        return Err(ToolError::internal("its output is larger than 64 MiB").for_model(for_model));
    };
    let status = running.child.wait().await?;
    match status.success() {
        true => Ok(ToolOutput::bytes(output)),
        false => Err(failed(status, &words)),
    }
}

async fn write(input: Option<ChildStdin>, args: String) {
    if let Some(mut input) = input {
        // A program that does not read its arguments needs none.
        let _ = input.write_all(args.as_bytes()).await;
        let _ = input.shutdown().await;
    }
}

/// All of it; none if it is too much.
async fn all(output: impl AsyncRead + Unpin) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut bounded = output.take(MOST_BYTES + 1);
    bounded.read_to_end(&mut bytes).await?;
    Ok((bytes.len() as u64 <= MOST_BYTES).then_some(bytes))
}

/// What it said last; each line is told as it comes.
async fn last_words(mut words: impl AsyncRead + Unpin, ctx: &ToolContext) -> String {
    let mut tail = VecDeque::new();
    let mut line = Vec::new();
    let mut reported = 0;
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = words.read(&mut piece).await {
        for byte in piece.iter().take(length).copied() {
            if tail.len() == LAST_WORDS {
                tail.pop_front();
            }
            tail.push_back(byte);
            if byte != b'\n' && line.len() < LAST_WORDS {
                line.push(byte);
            } else if byte == b'\n' {
                if reported < MOST_PROGRESS && !line.is_empty() {
                    ctx.progress(String::from_utf8_lossy(&line));
                    reported += 1;
                }
                line.clear();
            }
        }
    }
    let tail: Vec<u8> = tail.into();
    String::from_utf8_lossy(&tail).trim().to_owned()
}

fn failed(status: ExitStatus, words: &str) -> ToolError {
    let how = match status.code() {
        Some(code) => format!("it ended with code {code}"),
        None => format!("it was ended ({status})"),
    };
    let message = match words.lines().last() {
        Some(last) => format!("{how}: {last}"),
        None => how.clone(),
    };
    let for_model = match words.is_empty() {
        true => format!("The tool failed: {how}, and said nothing."),
        false => format!("The tool failed: {how}. It said last:\n{words}"),
    };
    ToolError::internal(message).for_model(for_model)
}
