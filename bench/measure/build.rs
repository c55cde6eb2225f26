//! Passes the compiler's version to the reports.

use std::{env, process::Command};

fn main() {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_else(|_| "rustc of unknown version".to_owned());
    println!("cargo::rustc-env=BENCH_RUSTC={version}");
    println!("cargo::rerun-if-changed=build.rs");
}
