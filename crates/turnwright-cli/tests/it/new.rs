//! `turnwright new`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::folder::Folder;
use crate::program::{Ran, program};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Runs `turnwright new` in a directory.
fn new(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = program();
    command.arg("new").args(args).current_dir(folder.path());
    Ran::of(&mut command, "")
}

#[test]
#[ignore = "builds the facade again: run scripts/nightly.sh"]
fn a_new_package_builds_and_passes_its_tests() {
    let folder = Folder::new();
    let root = root();
    let ran = new(&folder, &["my-agent", "--path", root.to_str().unwrap()]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert!(ran.out.contains("cd my-agent"), "{}", ran.out);
    let package = folder.file("my-agent");
    // With the lock file of the workspace nothing has to be looked up, and nothing is downloaded.
    fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // The target directory and the profile of the workspace, so that only what has other features is built again.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let output = Command::new(cargo)
        .args(["test", "--offline", "--quiet"])
        .current_dir(&package)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .env("CARGO_PROFILE_TEST_DEBUG", "line-tables-only")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("3 passed"), "{text}");
    assert!(!text.contains("warning"), "{text}");
}

#[test]
fn the_package_depends_on_the_checkout_of_the_program_by_default() {
    let folder = Folder::new();
    let ran = new(&folder, &["shop_agent", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.json()[0]["package"], "shop_agent");
    let manifest = fs::read_to_string(folder.file("shop_agent/Cargo.toml")).unwrap();
    let dependency = |name: &str| {
        let path = root().join("crates").join(name);
        format!("{name} = {{ path = {:?} }}", path.to_str().unwrap())
    };
    for line in [
        "name = \"shop_agent\"",
        &dependency("turnwright"),
        &dependency("turnwright-testkit"),
    ] {
        assert!(manifest.contains(line), "{manifest}");
    }
    for file in [
        "Cargo.toml",
        "README.md",
        "src/lib.rs",
        "src/main.rs",
        "tests/agent.rs",
        ".gitignore",
    ] {
        let text = fs::read_to_string(folder.file("shop_agent").join(file)).unwrap();
        assert!(!text.contains("{{") && !text.is_empty(), "{file}: {text}");
    }
}

#[test]
fn an_existing_directory_is_not_touched() {
    let folder = Folder::new();
    folder.write("mine/notes.txt", "precious");
    folder.write("file", "precious");
    for name in ["mine", "file"] {
        let ran = new(&folder, &[name]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert!(
            ran.err.contains(&format!("`{name}` already exists")),
            "{}",
            ran.err
        );
    }
    assert_eq!(fs::read_dir(folder.file("mine")).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(folder.file("file")).unwrap(), "precious");
}

#[test]
fn an_invalid_name_or_path_creates_nothing() {
    let folder = Folder::new();
    for name in ["../up", "a/b", "2fast", "Test", "a b", ""] {
        let ran = new(&folder, &[name]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{name}");
        assert!(ran.err.contains("not a valid package name"), "{}", ran.err);
    }
    for path in ["/no/such/checkout", "."] {
        let ran = new(&folder, &["fine", "--path", path]);
        assert_eq!(ran.code, 2, "{path}");
        assert!(ran.err.contains(&format!("--path {path}")), "{}", ran.err);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
