//! The test files, the same in every run.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Removed at the end, unless `TURNWRIGHT_BENCH_KEEP=1` is set.
pub(crate) struct Files {
    folder: PathBuf,
    log: PathBuf,
    line: PathBuf,
    jsonl: PathBuf,
    keep: bool,
}

/// 100 MB.
const HUNDRED: u64 = 100_000_000;

impl Files {
    pub(crate) fn make(mib: u64) -> Result<Self, Box<dyn Error>> {
        let folder = env::temp_dir().join("turnwright-bench-artifact");
        fs::create_dir_all(&folder)?;
        let files = Files {
            log: folder.join(format!("{mib}.log")),
            line: folder.join("line.txt"),
            jsonl: folder.join("rows.jsonl"),
            folder,
            keep: env::var_os("TURNWRIGHT_BENCH_KEEP").is_some(),
        };
        fill(&files.log, mib * 1024 * 1024, log_line)?;
        fill(&files.line, HUNDRED, |dice, out| {
            write!(
                out,
                "{} item-{:05} ",
                dice.below(1_000_000),
                dice.below(100_000)
            )
        })?;
        fill(&files.jsonl, HUNDRED, json_line)?;
        Ok(files)
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    pub(crate) fn all(&self) -> [(&'static str, &Path); 3] {
        [
            ("log", &self.log),
            ("one line of 100 MB", &self.line),
            ("100 MB of JSON lines", &self.jsonl),
        ]
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if !self.keep {
            // A file that cannot be removed stays in the temporary folder.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

type Piece = fn(&mut Dice, &mut Vec<u8>) -> io::Result<()>;

fn fill(path: &Path, size: u64, piece: Piece) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|there| there.len() == size) {
        return Ok(());
    }
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut dice = Dice(7);
    let mut left = usize::try_from(size).map_err(io::Error::other)?;
    let mut text = Vec::new();
    while left > 0 {
        text.clear();
        piece(&mut dice, &mut text)?;
        text.truncate(left);
        file.write_all(&text)?;
        left -= text.len();
    }
    file.flush()
}

fn log_line(dice: &mut Dice, out: &mut Vec<u8>) -> io::Result<()> {
    let [hour, minute, second] = [dice.below(24), dice.below(60), dice.below(60)];
    let service = ["api", "auth", "billing", "search", "mailer"][dice.index(5)];
    write!(
        out,
        "2026-03-14T{hour:02}:{minute:02}:{second:02}.{:03}Z ",
        dice.below(1000)
    )?;
    let id = dice.next();
    match dice.below(1000) {
        0..5 => writeln!(
            out,
            "ERROR {service} request {id:016x} failed: connection refused by upstream"
        ),
        5..10 => writeln!(
            out,
            "ERROR {service} request {id:016x} failed: disk quota exceeded"
        ),
        10..15 => writeln!(
            out,
            "WARN {service} request {id:016x} ran into its timeout, trying again"
        ),
        15..40 => writeln!(
            out,
            "DEBUG {service} cache miss for key user/{}",
            dice.below(1_000_000)
        ),
        _ => writeln!(
            out,
            "INFO {service} request {id:016x} GET /v1/orders/{} answered 200 in {} ms",
            dice.below(10_000_000),
            dice.below(900)
        ),
    }
}

fn json_line(dice: &mut Dice, out: &mut Vec<u8>) -> io::Result<()> {
    writeln!(
        out,
        "{{\"id\":{},\"level\":\"{}\",\"user\":{{\"name\":\"user-{}\",\"tags\":[\"a\",\"b\"]}},\"took\":{}.{}}}",
        dice.below(1_000_000_000),
        ["info", "warn", "error"][dice.index(3)],
        dice.below(10_000),
        dice.below(1000),
        dice.below(10)
    )
}

/// A deterministic pseudorandom number generator (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn index(&mut self, bound: u64) -> usize {
        usize::try_from(self.below(bound)).unwrap_or_default()
    }
}
