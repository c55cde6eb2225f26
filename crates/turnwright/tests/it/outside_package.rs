//! Packages outside this workspace.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Runs the package in a folder of `tests`, with options for cargo, and returns its output.
///
/// It is built from a copy, so that nothing is written next to the sources, and with this workspace's lock file.
#[allow(clippy::unwrap_used, reason = "a test helper")]
fn run(name: &str, options: &[&str]) -> String {
    let facade = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = facade.join("tests").join(name);
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let package = scratch.join("outside").join(name);
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
        .args(["run", "--quiet", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .args(options)
        // The target folder and the profile of the workspace, so that only what has other features is built again.
        .env("CARGO_TARGET_DIR", scratch.parent().unwrap())
        .args(["--config", "profile.dev.debug='line-tables-only'"])
        .args(["--config", "profile.dev.package.'*'.debug=false"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[ignore = "builds the facade again: run scripts/nightly.sh"]
fn package_with_only_turnwright_and_tokio_runs_a_tool() {
    assert_eq!(
        run("outside", &["--offline"]),
        "Paris: sunny for 3 days, in metric units\n/days maximum\n"
    );
}

/// The package uses `reqwest` with its default TLS, which is not in the workspace's lock file.
#[test]
#[ignore = "builds the facade again: run scripts/nightly.sh"]
fn reqwest_with_its_default_tls_and_serde_json_with_all_digits_work_beside() {
    assert_eq!(run("other_features", &[]), "both\n");
}
