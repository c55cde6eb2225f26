//! Child processes: this binary, started again with a task.

use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tokio::runtime::Builder;

use crate::{concurrent_open, crash, no_room, opening, processes, suspended};

const TASK: &str = "TURNWRIGHT_STORE_TASK";
const FILE: &str = "TURNWRIGHT_STORE_FILE";

/// Returns a command that runs this binary with a task and a file. The child reports lines on its standard output.
pub(crate) fn command(task: &str, file: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    with_task(&mut command, task, file);
    command
}

pub(crate) fn with_task(command: &mut Command, task: &str, file: &Path) {
    command
        .args(["child::does_its_task", "--exact", "--nocapture"])
        .env(TASK, task)
        .env(FILE, file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
}

/// Writes a complete line to the parent, without buffering.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("said {text}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Returns what a child reported in a line, if it is a report.
pub(crate) fn reported(line: &str) -> Option<&str> {
    // Output of the test harness may precede it in the line.
    line.split_once("said ").map(|(_, text)| text)
}

/// Not a test by itself: the entry point of child processes.
#[test]
fn does_its_task() {
    let (Ok(task), Some(file)) = (env::var(TASK), env::var_os(FILE)) else {
        return;
    };
    let file = PathBuf::from(file);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        match task.as_str() {
            "write until killed" => crash::write(&file).await,
            "count" => processes::count(&file).await,
            "count for a while" => processes::count_for_a_while(&file).await,
            "fill the log" => no_room::fill_the_log(&file).await,
            "fill the file" => no_room::fill_the_file(&file).await,
            "fill the spool" => no_room::fill_the_spool(&file).await,
            "fill the disk" => no_room::fill_the_disk(&file).await,
            "open what may not be written" => opening::open_read_only(&file).await,
            "open new files" => concurrent_open::open_new_files(&file).await,
            "suspend a turn" => suspended::suspend(&file).await,
            "wait in memory" => suspended::wait_in_memory(&file).await,
            "wait to be killed" => suspended::wait_to_be_killed(&file).await,
            "answer a gate" => suspended::answer(&file).await,
            "answer and continue" => suspended::answer_and_continue(&file).await,
            other => panic!("no such task: {other}"),
        }
    });
}
