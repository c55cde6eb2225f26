//! Child processes: started without a shell, with a small environment, and killed together with their process group.
//!
//! ```
//! use turnwright_mcp::process::{Environment, Program};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let program = Program::new("cat").environment(Environment::default().set("GREETING", "hello")?);
//! let process = program.start()?;
//! // Dropping it kills the process and its children.
//! drop(process);
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```

mod environment;
mod log;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use turnwright_models::redact::Redactor;

pub use environment::{Environment, InvalidVariable};
pub(crate) use log::ProcessLog;

/// A program to start: its path, its arguments, its working directory and its environment. `Debug` shows neither the arguments nor
/// the values of variables, which may be secrets.
///
/// # Process groups
///
/// On Unix the program runs in a process group of its own, which is killed as a whole. A child process that leaves the group, with
/// `setsid` or `setpgid`, is not killed. Run programs that you do not trust in a container, or under a service manager with a
/// control group. On other systems, only the program itself is killed.
///
/// ```
/// use turnwright_mcp::process::Program;
///
/// let program = Program::new("npx").args(["-y", "@modelcontextprotocol/server-memory"]).directory("/srv");
/// assert_eq!(program.command_line(), ["npx", "-y", "@modelcontextprotocol/server-memory"]);
/// assert!(!format!("{program:?}").contains("server-memory"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
    args: Vec<String>,
    directory: Option<PathBuf>,
    environment: Environment,
    secrets: Vec<String>,
}

/// A running child process. Dropping it kills the process and its process group.
#[derive(Debug)]
pub struct Process {
    child: Child,
    redactor: Redactor,
    #[cfg(unix)]
    group: Option<Pid>,
}

/// The standard streams of a [`Process`].
#[derive(Debug)]
pub struct Pipes {
    /// Standard input.
    pub stdin: ChildStdin,
    /// Standard output.
    pub stdout: ChildStdout,
    /// Standard error. What it says may have secrets in it.
    pub stderr: ChildStderr,
}

impl Program {
    /// Creates a program without arguments and with the default [`Environment`].
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Program {
            path: path.into(),
            args: Vec::new(),
            directory: None,
            environment: Environment::default(),
            secrets: Vec::new(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the working directory.
    ///
    /// Default: that of this process.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Sets the environment.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Adds values that are not shown in messages, even if the program prints them. Those of the variables that its environment sets
    /// or inherits by name are not shown either.
    #[must_use]
    pub fn secrets(mut self, secrets: impl IntoIterator<Item = String>) -> Self {
        self.secrets.extend(secrets);
        self
    }

    /// Changes the environment.
    pub(crate) fn change_environment(
        &mut self,
        change: impl FnOnce(Environment) -> Result<Environment, InvalidVariable>,
    ) -> Result<(), InvalidVariable> {
        self.environment = change(std::mem::take(&mut self.environment))?;
        Ok(())
    }

    /// Returns the path and the arguments.
    #[must_use]
    pub fn command_line(&self) -> Vec<String> {
        let path = self.path.to_string_lossy().into_owned();
        [path].into_iter().chain(self.args.clone()).collect()
    }

    /// Starts the program with pipes for its standard streams.
    ///
    /// # Errors
    /// The program does not exist or cannot be started.
    pub fn start(&self) -> io::Result<Process> {
        let mut command = Command::new(&self.path);
        command
            .args(&self.args)
            .env_clear()
            .envs(self.environment.select(std::env::vars_os()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        // Its own process group, so that its children can be killed with it.
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        let secrets = self.secrets.iter().cloned();
        Ok(Process {
            redactor: redactor(secrets.chain(self.environment.secrets())),
            #[cfg(unix)]
            group: child
                .id()
                .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)),
            child,
        })
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("path", &self.path)
            .field("args", &format_args!("{} arguments", self.args.len()))
            .field("directory", &self.directory)
            .field("environment", &self.environment)
            .finish()
    }
}

impl Process {
    /// Takes the standard streams. `None` if they were taken before.
    pub fn pipes(&mut self) -> Option<Pipes> {
        Some(Pipes {
            stdin: self.child.stdin.take()?,
            stdout: self.child.stdout.take()?,
            stderr: self.child.stderr.take()?,
        })
    }

    /// Removes the values that must not be shown, although the process may print them.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Waits until the process ends. What is left of its process group is killed then.
    ///
    /// # Errors
    /// The state of the process cannot be read.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn wait(&mut self) -> io::Result<std::process::ExitStatus> {
        let status = self.child.wait().await?;
        self.kill_group();
        Ok(status)
    }

    /// Kills the process and everything in its process group.
    pub(crate) fn kill(&mut self) {
        self.kill_group();
        // On systems without groups, and if the process has left its group.
        let _ = self.child.start_kill();
    }

    /// Asks the process group to end. Does nothing on systems without signals.
    pub(crate) fn terminate(&self) {
        #[cfg(unix)]
        self.signal(Signal::TERM);
    }

    /// Kills the process group, once: after that, another process may get its id.
    fn kill_group(&mut self) {
        #[cfg(unix)]
        {
            self.signal(Signal::KILL);
            self.group = None;
        }
    }

    #[cfg(unix)]
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Fails if no process of the group is left, which is the usual case.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_group();
    }
}

/// The fewest characters of a secret. Shorter values are parts of ordinary words.
const MIN_SECRET: usize = 6;

/// Returns what replaces secrets by `[redacted]`. Each line of a value is a secret: a program may print a key line by line. Those with
/// less than 6 characters are ignored.
///
/// ```
/// use turnwright_mcp::process::redactor;
///
/// let redactor = redactor(["t0p-secret"]);
/// assert_eq!(redactor.text("the key t0p-secret has expired"), "the key [redacted] has expired");
/// ```
pub fn redactor(secrets: impl IntoIterator<Item = impl AsRef<str>>) -> Redactor {
    let mut redactor = Redactor::new("[redacted]");
    for secret in secrets {
        let lines = secret.as_ref().lines().map(str::trim);
        for line in lines.filter(|line| line.chars().count() >= MIN_SECRET) {
            redactor.add(line);
        }
    }
    redactor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_secret_is_removed_alone() {
        let values = ["abcdef", "short", "first line\n  second line\n"];
        let redactor = redactor(values);
        for (text, expected) in [
            ("abcdef short", "[redacted] short"),
            ("second line only", "[redacted] only"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(redactor.text(text), expected);
        }
    }
}
