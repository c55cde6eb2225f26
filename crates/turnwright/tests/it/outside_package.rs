//! Packages outside this workspace.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Runs the package in a folder of `tests` and returns what it wrote.
///
/// It is built from a copy, so that nothing is written beside the sources, with this workspace's lock file, so that nothing has
/// to be looked up.
#[allow(clippy::unwrap_used, reason = "a helper of tests")]
fn run(name: &str) -> String {
    let facade = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = facade.join("tests").join(name);
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
    let package = scratch.join(name);
    fs::create_dir_all(package.join("src")).unwrap();
    fs::copy(source.join("src/main.rs"), package.join("src/main.rs")).unwrap();
    fs::copy(facade.join("../../Cargo.lock"), package.join("Cargo.lock")).unwrap();
    let manifest = fs::read_to_string(source.join("Cargo.toml")).unwrap();
    let here = format!("path = \"{}", facade.to_str().unwrap());
    let moved = manifest.replace(r#"path = "../.."#, &here);
    assert_ne!(manifest, moved);
    fs::write(package.join("Cargo.toml"), moved).unwrap();

    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--offline", "--quiet", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", scratch.join("target"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_package_that_depends_on_turnwright_and_tokio_alone_runs_a_tool() {
    assert_eq!(
        run("outside"),
        "Paris: sunny for 3 days, in metric units\n/days maximum\n"
    );
}

/// The package turns on `arbitrary_precision` and `raw_value` of `serde_json`, and checks the contract of a tool there. What
/// it writes is a call id, which is the same everywhere.
#[test]
fn features_of_serde_json_that_others_turn_on_change_nothing() {
    let args = r#"{"share": 1.50, "n": 1e2, "big": 12345678901234567890123}"#;
    let expected = turnwright::call::checksum("split", args);
    assert_eq!(run("precise").trim_end(), expected);
}
