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

/// The variables of the tests' own environment that the program may see: where programs are, and where coverage is written.
pub(crate) const INHERITED: [&str; 2] = ["PATH", "LLVM_PROFILE_FILE"];

/// The program, which finds nothing of its user's: neither in the environment nor at home.
pub(crate) fn program() -> Command {
    command(env!("CARGO_BIN_EXE_turnwright"))
}

/// Any program, in the same environment: what it writes must not depend on the locale or the window of the caller.
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

/// A home directory for the program, in which there is nothing. Tests that keep something name a folder of their own.
pub(crate) fn home() -> &'static str {
    concat!(env!("CARGO_TARGET_TMPDIR"), "/home")
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
