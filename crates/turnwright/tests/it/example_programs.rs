//! The examples as programs.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Returns the program of an example.
///
/// All examples are built first, with the features that a test of the workspace has: after
/// `cargo test --workspace --all-features` there is nothing left to build.
pub(crate) fn example(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(build).join(name)
}

#[allow(clippy::unwrap_used, reason = "a test helper")]
fn build() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.ancestors().nth(2).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--quiet", "--offline", "--workspace"])
        .args(["--all-features", "--examples", "--target-dir"])
        .arg(folder.parent().unwrap())
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    // Cargo sets these for a test, and `ring` is built again when they change.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_MANIFEST_") || text.starts_with("CARGO_PKG_") {
            cargo.env_remove(&name);
        }
    }
    assert!(cargo.status().unwrap().success());
    folder.join("examples")
}
