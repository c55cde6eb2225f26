//! The compilers that building an agent needs. The program itself runs without them.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::report::Check;
use crate::terminal::one_line;

/// The time limit for a compiler to print its version.
const TIMEOUT: Duration = Duration::from_secs(20);

const REQUIRED: &str = env!("CARGO_PKG_RUST_VERSION");

pub(super) async fn rust() -> Check {
    let output = version_of("rustc").await;
    rust_check(output.as_deref())
}

fn rust_check(output: Option<&str>) -> Check {
    let found = output.and_then(|text| Some((text, parse(text.strip_prefix("rustc ")?)?)));
    let Some((text, version)) = found else {
        return Check::warn(
            "rustc",
            format!(
                "`rustc --version` does not work; building an agent needs Rust {REQUIRED} or newer"
            ),
            "install Rust from https://rustup.rs",
        );
    };
    let text = one_line(text, 80);
    if Some(version) >= parse(REQUIRED) {
        Check::ok("rustc", format!("{text}; {REQUIRED} or newer is required"))
    } else {
        Check::warn(
            "rustc",
            format!("{text} is too old; building an agent needs Rust {REQUIRED} or newer"),
            "run `rustup update`",
        )
    }
}

/// Compiles the SQLite that comes with the store.
pub(super) async fn c() -> Check {
    match version_of("cc").await {
        Some(text) => Check::ok("cc", one_line(&text, 80)),
        None => Check::warn(
            "cc",
            "no C compiler found; building an agent needs one",
            "install one, for example `apt install gcc` or `xcode-select --install`",
        ),
    }
}

/// The first line that `PROGRAM --version` prints, if it runs.
async fn version_of(program: &str) -> Option<String> {
    let child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(TIMEOUT, child).await.ok()?.ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next().map(str::to_owned);
    line.filter(|line| output.status.success() && !line.is_empty())
}

/// Major and minor of a version such as `1.95.0-nightly`.
fn parse(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    let mut number = || parts.next()?.parse().ok();
    Some((number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::super::report::Status;
    use super::*;

    #[test]
    fn an_old_or_missing_compiler_is_a_warning() {
        let status = |output: Option<&str>| rust_check(output).status;
        let (major, minor) = parse(REQUIRED).unwrap();
        assert_eq!(status(None), Status::Warn);
        assert_eq!(status(Some("clang 19")), Status::Warn);
        let old = format!("rustc {major}.{}.9 (abc 2020-01-01)", minor - 1);
        assert_eq!(status(Some(&old)), Status::Warn);
        for enough in [
            format!("rustc {REQUIRED}.0 (abc 2026-01-01)"),
            format!("rustc {major}.{}.0-nightly (abc)", minor + 1),
            format!("rustc {}.0.0", major + 1),
        ] {
            assert_eq!(status(Some(&enough)), Status::Ok, "{enough}");
        }
    }
}
