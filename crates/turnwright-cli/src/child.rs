//! Child processes: started without a shell, with a small environment, and killed together with all of their children.

mod environment;

use std::io;
use std::path::PathBuf;
use std::process::Stdio;

#[cfg(unix)]
use rustix::process::Pid;
use tokio::process::{Child, Command};

pub(crate) use environment::Environment;

/// A program to start: its path, its first arguments and its environment.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) environment: Environment,
}

/// A running child process. Dropping it kills the process and its process group.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) child: Child,
    #[cfg(unix)]
    group: Option<Pid>,
}

impl Program {
    /// Starts the program with pipes for its standard input, output and error.
    pub(crate) fn start(&self) -> io::Result<Process> {
        let mut command = Command::new(&self.path);
        command
            .args(&self.args)
            .env_clear()
            .envs(self.environment.select(std::env::vars_os()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // Its own process group, so that its children can be killed with it.
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        Ok(Process {
            #[cfg(unix)]
            group: child
                .id()
                .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)),
            child,
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.group {
            // Fails if no process of the group is left, which is the usual case.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}
