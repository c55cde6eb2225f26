//! The program at a terminal: a pseudo-terminal, and a screen that obeys what is written to it.
//!
//! Nothing here sleeps: a test waits for what must come to stand on the screen, and fails loudly if it does not.

use std::io::{Read as _, Write};
use std::num::NonZero;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::program::{INHERITED, command, home};

/// How long anything may take before a test gives up. No test relies on how long something takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// Ctrl-C, as the key sends it.
pub(crate) const CTRL_C: &str = "\x03";
/// Ctrl-D, as the key sends it.
pub(crate) const CTRL_D: &str = "\x04";
/// Enter, as the key sends it.
pub(crate) const ENTER: &str = "\r";
/// The key with the arrow up.
pub(crate) const UP: &str = "\x1b[A";

/// How the program is started.
#[derive(Clone)]
pub(crate) struct Launch {
    command: CommandBuilder,
    rows: u16,
    columns: u16,
    reports_size: bool,
}

/// A program that runs at a terminal. TurnStatus when this is dropped.
pub(crate) struct Terminal {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    output: mpsc::Receiver<Vec<u8>>,
    screen: vt100::Parser,
    bytes: Vec<u8>,
}

impl Launch {
    /// The program with these arguments, at a terminal of 24 lines and 80 columns, finding nothing of its user's.
    pub(crate) fn new(args: &[&str]) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_turnwright"));
        command.args(args);
        command.env_clear();
        command.env("HOME", home());
        for stored in INHERITED {
            if let Some(value) = std::env::var_os(stored) {
                command.env(stored, value);
            }
        }
        command.env("TERM", "xterm-256color");
        command.cwd(env!("CARGO_TARGET_TMPDIR"));
        Launch {
            command,
            rows: 24,
            columns: 80,
            reports_size: true,
        }
    }

    /// With this in its environment.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// At a terminal that does not report its size. It has 24 lines and 80 columns all the same.
    pub(crate) fn unreported_size(mut self) -> Self {
        self.reports_size = false;
        self
    }

    /// In a window of this size.
    pub(crate) fn window(mut self, rows: u16, columns: u16) -> Self {
        (self.rows, self.columns) = (rows, columns);
        self
    }

    pub(crate) fn start(self) -> Terminal {
        let size = match self.reports_size {
            true => size(self.rows, self.columns),
            false => size(0, 0),
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let child = pair.slave.spawn_command(self.command).unwrap();
        // The program alone holds its side: what it writes ends when it does.
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (send, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut piece) {
                if send.send(piece[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Terminal {
            keys: pair.master.take_writer().unwrap(),
            master: pair.master,
            child,
            output,
            screen: vt100::Parser::new(some(self.rows), some(self.columns), 1_000),
            bytes: Vec::new(),
        }
    }
}

impl Terminal {
    /// Types this.
    pub(crate) fn keys(&mut self, keys: &str) -> &mut Self {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
        self
    }

    /// Types a line.
    pub(crate) fn line(&mut self, text: &str) -> &mut Self {
        self.keys(text).keys(ENTER)
    }

    /// Waits until this stands on the screen.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> &mut Self {
        self.wait_until(&format!("{text:?} on the screen"), |item| {
            item.shown().contains(text)
        })
    }

    /// Waits until this stands where the cursor is: it is the program that waits now.
    #[track_caller]
    pub(crate) fn wait_for_prompt(&mut self, prompt: &str) -> &mut Self {
        let prompt = prompt.trim_end();
        self.wait_until(&format!("the prompt {prompt:?}"), |item| {
            let (row, _) = item.screen.screen().cursor_position();
            item.rows()[usize::from(row)] == prompt
        })
    }

    /// Waits until something is so.
    #[track_caller]
    pub(crate) fn wait_until(
        &mut self,
        what: &str,
        is_so: impl Fn(&Terminal) -> bool,
    ) -> &mut Self {
        let end = Instant::now() + PATIENCE;
        while !is_so(self) {
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(piece) => self.take(&piece),
                Err(RecvTimeoutError::Timeout) => self.fail(what, "it did not come"),
                Err(RecvTimeoutError::Disconnected) => self.fail(what, "the program has ended"),
            }
        }
        self
    }

    #[track_caller]
    fn fail(&self, what: &str, why: &str) -> ! {
        panic!(
            "waited for {what}: {why}. The screen:\n{}\nAll that was written:\n{:?}",
            self.shown(),
            String::from_utf8_lossy(&self.bytes)
        );
    }

    fn take(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        self.screen.process(piece);
    }

    /// The rows of the screen, without the space at their ends.
    pub(crate) fn rows(&self) -> Vec<String> {
        let screen = self.screen.screen();
        let rows = screen.rows(0, screen.size().1.get());
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    /// What stands on the screen as running text, without the margin before what a model says.
    pub(crate) fn words(&self) -> String {
        let rows = self.rows();
        let rows: Vec<&str> = rows
            .iter()
            .map(|row| row.trim_start_matches("│ "))
            .collect();
        rows.join(" ")
    }

    /// What stands on the screen.
    pub(crate) fn shown(&self) -> String {
        self.rows().join("\n").trim_end().to_owned()
    }

    /// Whether the cursor is seen.
    pub(crate) fn cursor_is_seen(&self) -> bool {
        !self.screen.screen().hide_cursor()
    }

    /// All that the program wrote so far, as it wrote it.
    pub(crate) fn written(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Makes the window of another size.
    pub(crate) fn resize(&mut self, rows: u16, columns: u16) -> &mut Self {
        self.master.resize(size(rows, columns)).unwrap();
        self.screen.screen_mut().set_size(some(rows), some(columns));
        self
    }

    /// The program's process.
    pub(crate) fn process(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Ends the program at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        let process = self.process().to_string();
        signal("KILL", &process);
        self.end();
    }

    /// Tells the program something by a signal: `TERM`, `INT` and so on.
    pub(crate) fn signal(&mut self, name: &str) -> &mut Self {
        let process = self.process().to_string();
        signal(name, &process);
        self
    }

    /// Waits for the program to end, and for all that it wrote. Its code.
    #[track_caller]
    pub(crate) fn end(&mut self) -> u32 {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(piece) => self.take(&piece),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => self.fail("the end of the program", "it goes on"),
            }
        }
        self.child.wait().unwrap().exit_code()
    }

    /// How the terminal treats what is typed, as `stty -a` says it of it.
    #[cfg(unix)]
    pub(crate) fn mode(&self) -> String {
        let name = self.master.tty_name().unwrap();
        let messages = command("stty")
            .arg("-a")
            .stdin(std::fs::File::open(name).unwrap())
            .output()
            .unwrap();
        String::from_utf8_lossy(&messages.stdout).into_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a text holds a sequence that sets a colour or a style.
pub(crate) fn has_colour(text: &str) -> bool {
    text.split("\x1b[").skip(1).any(|rest| {
        let end = rest.find(|sign: char| !matches!(sign, '0'..='9' | ';' | ':'));
        end.is_some_and(|end| rest[end..].starts_with('m'))
    })
}

fn size(rows: u16, columns: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn some(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

fn signal(name: &str, process: &str) {
    let message = command("kill").args(["-s", name, process]).status();
    assert!(message.unwrap().success(), "no signal could be sent");
}
