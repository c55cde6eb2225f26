//! `turnwright new`: creates a package with an agent.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::json;

use crate::args;
use crate::exit::{Exit, misuse};
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, one_line, shell_path};

/// The files of the package. `{{…}}` is replaced.
const FILES: [(&str, &str); 6] = [
    (
        "Cargo.toml",
        include_str!("../templates/agent/Cargo.toml.in"),
    ),
    ("src/lib.rs", include_str!("../templates/agent/src/lib.rs")),
    (
        "src/main.rs",
        include_str!("../templates/agent/src/main.rs"),
    ),
    (
        "tests/agent.rs",
        include_str!("../templates/agent/tests/agent.rs"),
    ),
    ("README.md", include_str!("../templates/agent/README.md")),
    (".gitignore", include_str!("../templates/agent/gitignore")),
];

/// The version of which a dependency without a checkout names the minor version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn run(options: &args::New, mut screen: Screen) -> anyhow::Result<Exit> {
    let name = options.name.as_str();
    check_name(name)?;
    let dir = Path::new(name);
    let checkout = match options.path.as_deref() {
        Some(path) => Some(checkout(path)?),
        None => own_checkout(Path::new(env!("CARGO_MANIFEST_DIR"))),
    };
    // Fails if it exists, also if it is an empty directory or a dangling link.
    fs::create_dir(dir).map_err(|error| not_created(dir, &error))?;
    write_files(name, dir, checkout.as_deref())
        .with_context(|| format!("cannot write the package `{}`", dir.display()))?;
    let files: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
    screen.value(&json!({ "package": name, "dir": dir, "files": files }))?;
    screen.line(format_args!(
        "{} the package `{name}`",
        paint(style::GOOD, "Created")
    ))?;
    for (path, _) in FILES {
        screen.painted(style::DIM, format_args!("  {name}/{path}"))?;
    }
    screen.line("\nNext:")?;
    screen.line(format_args!("  cd {}", shell_path(dir)))?;
    screen.line("  cargo test        # scripted model: no API key, no network")?;
    screen.line("  turnwright doctor # checks the model server for `cargo run`")?;
    Ok(Exit::Done)
}

/// Checks the name of a package, which is also the name of its directory. Cargo refuses the few that it reserves.
fn check_name(name: &str) -> anyhow::Result<()> {
    let is_allowed = |ch: char| ch.is_ascii_lowercase() || ch.is_ascii_digit() || "-_".contains(ch);
    if name.starts_with(|ch: char| ch.is_ascii_lowercase()) && name.chars().all(is_allowed) {
        return Ok(());
    }
    let name = one_line(name, 64);
    Err(misuse(format!(
        "`{name}` is not a valid package name: use lower-case ASCII letters, digits, `-` and `_`, beginning with a letter"
    )))
}

/// The checkout that this program was built from, if it still exists. A published package has none.
fn own_checkout(package: &Path) -> Option<PathBuf> {
    let root = package.ancestors().nth(2)?;
    is_checkout(root).then(|| root.to_owned())
}

fn is_checkout(root: &Path) -> bool {
    root.join("crates/turnwright/Cargo.toml").is_file()
}

/// The directory of a checkout, as an absolute path.
fn checkout(path: &Path) -> anyhow::Result<PathBuf> {
    let shown = path.display();
    let full = path
        .canonicalize()
        .map_err(|error| misuse(format!("cannot read `--path {shown}`: {error}")))?;
    if is_checkout(&full) {
        Ok(full)
    } else {
        Err(misuse(format!(
            "`--path {shown}` is not a checkout of Turnwright: it has no `crates/turnwright/Cargo.toml`. Pass the root directory \
             of the repository"
        )))
    }
}

fn not_created(dir: &Path, error: &io::Error) -> anyhow::Error {
    let shown = dir.display();
    misuse(match error.kind() {
        io::ErrorKind::AlreadyExists => format!(
            "`{shown}` already exists. Choose another name, or remove it first: existing files are not overwritten"
        ),
        _ => format!("cannot create the directory `{shown}`: {error}"),
    })
}

fn write_files(name: &str, dir: &Path, checkout: Option<&Path>) -> io::Result<()> {
    let workspace = if in_workspace(dir)? {
        "\n# Not a member of the workspace in a directory above this one.\n[workspace]\n"
    } else {
        ""
    };
    let replacements = [
        ("{{name}}", name.to_owned()),
        ("{{crate}}", name.replace('-', "_")),
        (
            "{{rust-version}}",
            env!("CARGO_PKG_RUST_VERSION").to_owned(),
        ),
        ("{{turnwright}}", dependency("turnwright", checkout)),
        (
            "{{turnwright-testkit}}",
            dependency("turnwright-testkit", checkout),
        ),
        ("{{workspace}}\n", workspace.to_owned()),
    ];
    for (path, template) in FILES {
        let mut text = template.to_owned();
        for (mark, value) in &replacements {
            text = text.replace(mark, value);
        }
        let file = dir.join(path);
        fs::create_dir_all(file.parent().unwrap_or(dir))?;
        fs::write(file, text)?;
    }
    Ok(())
}

/// The value of a dependency in a manifest: a version, or the path of a crate in a checkout.
fn dependency(name: &str, checkout: Option<&Path>) -> String {
    match checkout {
        None => format!("{:?}", minor(VERSION)),
        Some(root) => {
            let path = root.join("crates").join(name);
            // A JSON string is a TOML string.
            format!("{{ path = {} }}", json!(path.to_string_lossy()))
        }
    }
}

/// `0.1` of `0.1.0`.
fn minor(version: &str) -> &str {
    version.rsplit_once('.').map_or(version, |(minor, _)| minor)
}

/// Whether a directory above belongs to a workspace, which cargo would expect to list the package.
fn in_workspace(dir: &Path) -> io::Result<bool> {
    let full = dir.canonicalize()?;
    let has_workspace = |dir: &Path| {
        let manifest = fs::read_to_string(dir.join("Cargo.toml"));
        manifest.is_ok_and(|text| text.lines().any(|line| line.starts_with("[workspace")))
    };
    Ok(full.ancestors().skip(1).any(has_workspace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_ascii_letters_digits_and_dashes() {
        for name in ["my-agent", "a", "shop_2"] {
            check_name(name).unwrap();
        }
        for name in [
            "", "2fast", "-x", "..", "a/b", "a b", "Shop", "agentä", "a\u{1b}",
        ] {
            let error = check_name(name).unwrap_err().to_string();
            assert!(
                error.contains("not a valid package name") && !error.contains('\u{1b}'),
                "{error}"
            );
        }
    }

    #[test]
    fn a_dependency_is_a_version_or_a_path() {
        assert_eq!(minor("0.1.0"), "0.1");
        assert_eq!(
            dependency("turnwright", None),
            format!("{:?}", minor(VERSION))
        );
        let path = dependency("turnwright", Some(Path::new("/a \"b\"/c")));
        assert_eq!(path, r#"{ path = "/a \"b\"/c/crates/turnwright" }"#);
    }

    #[test]
    fn only_a_program_that_was_built_from_a_checkout_has_one() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = own_checkout(package).unwrap();
        assert_eq!(root.join("crates/turnwright-cli"), package);
        // Where cargo unpacks a published package.
        let unpacked = root.join("target/registry/turnwright-cli-0.1.0");
        assert_eq!(own_checkout(&unpacked), None);
    }

    #[test]
    fn every_mark_of_the_templates_is_known() {
        let known = [
            "name",
            "crate",
            "rust-version",
            "turnwright",
            "turnwright-testkit",
            "workspace",
        ];
        for (path, template) in FILES {
            for rest in template.split("{{").skip(1) {
                let mark = rest.split("}}").next().unwrap();
                assert!(known.contains(&mark), "{path}: {mark}");
            }
        }
    }
}
