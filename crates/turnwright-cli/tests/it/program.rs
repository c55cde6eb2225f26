//! The program as a process without a terminal.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Runs this, with that on standard input.
    pub(crate) fn of(command: &mut Command, input: &str) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that reads nothing may end before all is written.
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

/// The program, which finds nothing of its user's.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnwright"));
    for name in [
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
        "OPENAI_MODEL",
        "NO_COLOR",
        "CLICOLOR_FORCE",
        "RUST_BACKTRACE",
        "COLUMNS",
    ] {
        command.env_remove(name);
    }
    command
}

/// Runs it with these arguments and nothing on standard input.
pub(crate) fn run(args: &[&str]) -> Ran {
    run_with(args, "")
}

/// Runs it with these arguments and this on standard input.
pub(crate) fn run_with(args: &[&str], input: &str) -> Ran {
    Ran::of(program().args(args), input)
}

#[test]
fn help_teaches_and_ends_well() {
    let ran = run(&["--help"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for word in [
        "demo",
        "chat",
        "turns",
        "tools",
        "schema",
        "wire",
        "serve-script",
        "completions",
    ] {
        assert!(ran.out.contains(word), "{word} is missing in\n{}", ran.out);
    }
}

#[test]
fn a_wrong_option_ends_with_two() {
    let ran = run(&["demo", "--yess"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("--yess"), "{}", ran.err);
}
