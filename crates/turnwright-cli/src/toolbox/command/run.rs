//! Runs an external program for one call. The process does not outlive the call.

use std::io;
use std::process::ExitStatus;

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::ChildStdin;
use turnwright::prelude::*;
use turnwright_mcp::process::Program;

/// The most bytes of its output.
const MAX_BYTES: u64 = 64 << 20;

/// The most bytes of standard error that are kept for an error message.
const MAX_STDERR: usize = 2_000;

/// The most lines that are reported as progress.
const MAX_PROGRESS: usize = 1_000;

/// Runs a program with the arguments as JSON on standard input. Standard output is the result. Lines on standard error are
/// progress and, if the program fails, the reason.
pub(super) async fn run(
    program: &Program,
    args: &Value,
    ctx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let mut running = program.start().map_err(|error| {
        let path = program.command_line().into_iter().next();
        let message = format!("cannot start `{}`: {error}", path.unwrap_or_default());
        ToolError::unavailable(message)
            .for_model("The program of this tool cannot be started.")
            .with_source(error)
    })?;
    let Some(pipes) = running.pipes() else {
        return Err(ToolError::internal("the program has no output"));
    };
    let (_, output, stderr) = tokio::join!(
        write(pipes.stdin, args.to_string()),
        all(pipes.stdout),
        read_stderr(pipes.stderr, ctx)
    );
    let Some(output) = output? else {
        let for_model = "The tool returned more than 64 MiB and was stopped.";
        return Err(ToolError::internal("the output is larger than 64 MiB").for_model(for_model));
    };
    let status = running.wait().await?;
    if status.success() {
        Ok(ToolOutput::bytes(output))
    } else {
        Err(failed(status, &stderr))
    }
}

async fn write(mut input: ChildStdin, args: String) {
    // Fails if the program does not read its arguments.
    let _ = input.write_all(args.as_bytes()).await;
    let _ = input.shutdown().await;
}

/// The complete output; `None` if it exceeds the limit.
async fn all(output: impl AsyncRead + Unpin) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut bounded = output.take(MAX_BYTES + 1);
    bounded.read_to_end(&mut bytes).await?;
    Ok((bytes.len() as u64 <= MAX_BYTES).then_some(bytes))
}

/// Reports each line as progress, and returns the last ones.
async fn read_stderr(stderr: impl AsyncRead + Unpin, ctx: &ToolContext) -> String {
    let mut stderr = BufReader::new(stderr);
    let (mut tail, mut line) = (Vec::new(), Vec::new());
    let mut reported = 0;
    // A line that is too long is read as several.
    while let Ok(1..) = (&mut stderr)
        .take(MAX_STDERR as u64)
        .read_until(b'\n', &mut line)
        .await
    {
        let text = line.trim_ascii_end();
        if reported < MAX_PROGRESS && !text.is_empty() {
            ctx.progress(String::from_utf8_lossy(text));
            reported += 1;
        }
        tail.append(&mut line);
        tail.drain(..tail.len().saturating_sub(MAX_STDERR));
    }
    String::from_utf8_lossy(&tail).trim().to_owned()
}

fn failed(status: ExitStatus, stderr: &str) -> ToolError {
    let how = match status.code() {
        Some(code) => format!("exit code {code}"),
        None => format!("killed ({status})"),
    };
    let message = match stderr.lines().last() {
        Some(last) => format!("{how}: {last}"),
        None => how.clone(),
    };
    let for_model = if stderr.is_empty() {
        format!("The tool failed: {how}, without a message.")
    } else {
        format!("The tool failed: {how}. Its last output:\n{stderr}")
    };
    ToolError::internal(message).for_model(for_model)
}
