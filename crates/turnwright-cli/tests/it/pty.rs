//! Runs the program at a pseudo-terminal, with a screen that interprets its output.
//!
//! Nothing here sleeps: a test waits for text on the screen, and fails if it does not appear.

use std::io::{Read as _, Write};
use std::num::NonZero;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::program::{INHERITED, command, home};

/// The timeout of a wait. No test depends on how long something takes.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Ctrl-C, as the key sends it.
pub(crate) const CTRL_C: &str = "\x03";
/// Ctrl-D, as the key sends it.
pub(crate) const CTRL_D: &str = "\x04";
/// Enter, as the key sends it.
pub(crate) const ENTER: &str = "\r";
/// The key with the arrow up.
pub(crate) const UP: &str = "\x1b[A";

/// How to start the program.
#[derive(Clone)]
pub(crate) struct Launch {
    command: CommandBuilder,
    rows: u16,
    columns: u16,
    reports_size: bool,
}

/// A program that runs at a terminal. Dropping it kills the program.
pub(crate) struct Terminal {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    output: mpsc::Receiver<Vec<u8>>,
    screen: vt100::Parser,
    bytes: Vec<u8>,
}

impl Launch {
    /// The program with these arguments, at a terminal of 24 lines and 80 columns, with an empty environment.
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

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets the working directory.
    pub(crate) fn current_dir(mut self, folder: &std::path::Path) -> Self {
        self.command.cwd(folder);
        self
    }

    /// The terminal does not report its size, which is still 24 lines and 80 columns.
    pub(crate) fn unreported_size(mut self) -> Self {
        self.reports_size = false;
        self
    }

    /// Sets the size of the window.
    pub(crate) fn window(mut self, rows: u16, columns: u16) -> Self {
        (self.rows, self.columns) = (rows, columns);
        self
    }

    pub(crate) fn start(self) -> Terminal {
        let size = if self.reports_size {
            size(self.rows, self.columns)
        } else {
            size(0, 0)
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let child = pair.slave.spawn_command(self.command).unwrap();
        // Only the program holds its side, so the output ends with the program.
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
    /// Types keys.
    pub(crate) fn keys(&mut self, keys: &str) -> &mut Self {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
        self
    }

    /// Types a line.
    pub(crate) fn line(&mut self, text: &str) -> &mut Self {
        self.keys(text).keys(ENTER)
    }

    /// Waits until this text is on the screen.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> &mut Self {
        self.wait_until(&format!("{text:?} on the screen"), |item| {
            item.shown().contains(text)
        })
    }

    /// Waits until the line of the cursor is this prompt, so that the program waits for input.
    #[track_caller]
    pub(crate) fn wait_for_prompt(&mut self, prompt: &str) -> &mut Self {
        let prompt = prompt.trim_end();
        self.wait_until(&format!("the prompt {prompt:?}"), |item| {
            let (row, _) = item.screen.screen().cursor_position();
            item.rows()[usize::from(row)] == prompt
        })
    }

    /// Waits until a condition is true.
    #[track_caller]
    pub(crate) fn wait_until(
        &mut self,
        what: &str,
        is_so: impl Fn(&Terminal) -> bool,
    ) -> &mut Self {
        let end = Instant::now() + TIMEOUT;
        while !is_so(self) {
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(piece) => self.take(&piece),
                Err(RecvTimeoutError::Timeout) => self.fail(what, "it did not appear"),
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

    /// The rows of the screen, without trailing spaces.
    pub(crate) fn rows(&self) -> Vec<String> {
        let screen = self.screen.screen();
        let rows = screen.rows(0, screen.size().1.get());
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    /// The screen as one line of text, without the margin of model text.
    pub(crate) fn words(&self) -> String {
        let rows = self.rows();
        let rows: Vec<&str> = rows
            .iter()
            .map(|row| row.trim_start_matches("│ "))
            .collect();
        rows.join(" ")
    }

    /// The text on the screen.
    pub(crate) fn shown(&self) -> String {
        self.rows().join("\n").trim_end().to_owned()
    }

    /// The rows of the screen with their styles as escape sequences.
    pub(crate) fn styled_rows(&self) -> Vec<String> {
        let screen = self.screen.screen();
        let (rows, columns) = screen.size();
        let row = |row: u16| {
            let (mut text, mut style) = (String::new(), anstyle::Style::new());
            for column in 0..columns.get() {
                let Some(cell) = screen
                    .cell(row, column)
                    .filter(|cell| !cell.is_wide_continuation())
                else {
                    continue;
                };
                let next = style_of(cell);
                if next != style {
                    text.push_str(&format!("{style:#}{next}"));
                    style = next;
                }
                text.push_str(if cell.has_contents() {
                    cell.contents()
                } else {
                    " "
                });
            }
            format!("{text}{style:#}").trim_end().to_owned()
        };
        (0..rows.get()).map(row).collect()
    }

    /// Whether the cursor is visible.
    pub(crate) fn cursor_is_seen(&self) -> bool {
        !self.screen.screen().hide_cursor()
    }

    /// The output so far, with escape sequences.
    pub(crate) fn written(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Resizes the window.
    pub(crate) fn resize(&mut self, rows: u16, columns: u16) -> &mut Self {
        self.master.resize(size(rows, columns)).unwrap();
        self.screen.screen_mut().set_size(some(rows), some(columns));
        self
    }

    /// The process id of the program.
    pub(crate) fn process(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Kills the program, as a crash would.
    pub(crate) fn kill(&mut self) {
        let process = self.process().to_string();
        signal("KILL", &process);
        self.end();
    }

    /// Sends a signal: `TERM`, `INT` and so on.
    pub(crate) fn signal(&mut self, name: &str) -> &mut Self {
        let process = self.process().to_string();
        signal(name, &process);
        self
    }

    /// Waits for the end of the program and of its output. Returns its exit code.
    #[track_caller]
    pub(crate) fn end(&mut self) -> u32 {
        let end = Instant::now() + TIMEOUT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(piece) => self.take(&piece),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.fail("the end of the program", "it is still running")
                }
            }
        }
        self.child.wait().unwrap().exit_code()
    }

    /// The mode of the terminal, as `stty -a` prints it.
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

/// Whether a text contains a sequence that sets a colour or a style.
pub(crate) fn has_colour(text: &str) -> bool {
    text.split("\x1b[").skip(1).any(|rest| {
        let end = rest.find(|sign: char| !matches!(sign, '0'..='9' | ';' | ':'));
        end.is_some_and(|end| rest[end..].starts_with('m'))
    })
}

/// The style of a cell.
fn style_of(cell: &vt100::Cell) -> anstyle::Style {
    let colour = match cell.fgcolor() {
        vt100::Color::Idx(index) => Some(anstyle::Ansi256Color(index).into()),
        _ => None,
    };
    let mut style = anstyle::Style::new().fg_color(colour);
    for (is_set, effect) in [
        (cell.bold(), anstyle::Effects::BOLD),
        (cell.dim(), anstyle::Effects::DIMMED),
        (cell.italic(), anstyle::Effects::ITALIC),
        (cell.underline(), anstyle::Effects::UNDERLINE),
    ] {
        if is_set {
            style = style.effects(style.get_effects() | effect);
        }
    }
    style
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
