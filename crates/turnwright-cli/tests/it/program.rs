//! Runs the program as a process without a terminal.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Runs a command with this standard input.
    pub(crate) fn of(command: &mut Command, input: &str) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Fails if the program ends before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The lines of its output, each as JSON.
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        let read = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
        };
        self.out.lines().map(read).collect()
    }
}

/// The variables of the test environment that the program gets.
pub(crate) const INHERITED: [&str; 2] = ["PATH", "LLVM_PROFILE_FILE"];

/// The program with an empty environment and an empty home directory.
pub(crate) fn program() -> Command {
    command(env!("CARGO_BIN_EXE_turnwright"))
}

/// Any program in the same environment, so that its output does not depend on the locale or the window of the caller.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home());
    for name in INHERITED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

/// An empty home directory. Tests that store something use a directory of their own.
pub(crate) fn home() -> &'static str {
    concat!(env!("CARGO_TARGET_TMPDIR"), "/home")
}

/// Runs it with these arguments and an empty standard input.
pub(crate) fn run(args: &[&str]) -> Ran {
    run_with(args, "")
}

/// Runs it with these arguments and this standard input.
pub(crate) fn run_with(args: &[&str], input: &str) -> Ran {
    Ran::of(program().args(args), input)
}

/// Waits until no process has this id, or only one that its new parent has not reaped yet.
#[cfg(unix)]
pub(crate) fn wait_until_ended(process: &str) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let has_ended = || {
        let shown = command("ps").args(["-o", "stat=", "-p", process]).output();
        let state = String::from_utf8(shown.unwrap().stdout).unwrap();
        state.trim().is_empty() || state.trim().starts_with('Z')
    };
    while !has_ended() {
        assert!(
            std::time::Instant::now() < end,
            "{process} is still running"
        );
        std::thread::yield_now();
    }
}

#[test]
fn help_lists_all_commands() {
    let ran = run(&["--help"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for word in [
        "Get started:",
        "demo",
        "new",
        "doctor",
        "man",
        "Examples:",
        "Exit codes:",
        "chat",
        "turns",
        "tools",
        "mcp",
        "schema",
        "wire",
        "serve-script",
        "completions",
    ] {
        assert!(ran.out.contains(word), "{word} is missing in\n{}", ran.out);
    }
}

#[test]
fn a_wrong_option_exits_with_two() {
    let ran = run(&["demo", "--yess"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("--yess"), "{}", ran.err);
}
