//! What the README and the book show of the program is what it writes.
//!
//! A block after `<!-- turnwright ARGS -->` is the output of that command, in a window of 100 columns, in a folder with the
//! files of `docs/example` and a `demo.db` in which the demo was kept; a picture after
//! `<!-- turnwright ARGS > NAME.svg -->` is drawn from it. `TURNWRIGHT_UPDATE=1` makes all of them anew:
//! `TURNWRIGHT_UPDATE=1 cargo test -p turnwright-cli --test it screens`.

use std::fs;
use std::path::{Path, PathBuf};

use regex::{Captures, Regex};

use crate::folder::Folder;
use crate::program::program;

const COLUMNS: &str = "100";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages that show something of the program.
fn pages() -> Vec<PathBuf> {
    [
        "README.md",
        "docs/src/introduction.md",
        "docs/src/program.md",
    ]
    .map(|page| root().join(page))
    .to_vec()
}

/// A folder with what the pages name: the files of `docs/example`, and a database with a turn in it.
fn example() -> Folder {
    let folder = Folder::new();
    for entry in fs::read_dir(root().join("docs/example")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(
                entry.path(),
                folder.file(entry.file_name().to_str().unwrap()),
            )
            .unwrap();
        }
    }
    output("demo --yes --store demo.db", folder.path());
    folder
}

/// Runs a command as a shell does that knows quotes; in this folder.
fn output(command: &str, folder: &Path) -> String {
    let words = Regex::new(r"'([^']*)'|(\S+)").unwrap();
    let args: Vec<&str> = words
        .captures_iter(command)
        .map(|word| word.get(1).or(word.get(2)).unwrap().as_str())
        .collect();
    let ran = program()
        .args(args)
        .env("COLUMNS", COLUMNS)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = [ran.stdout, ran.stderr].concat();
    String::from_utf8(text).unwrap()
}

/// The text without what differs from run to run: how long it took, when that was, the codes of fences, and ids.
fn lasting(text: &str) -> String {
    let ids = Regex::new("(?m)(demo-[0-9a-f]{12}|^[0-9a-f]{8}[0-9a-f-]*)").unwrap();
    let when = Regex::new("just now|[0-9]+ (s|min) ago").unwrap();
    let text = ids.replace_all(text, "ID");
    let text = &when.replace_all(&text, "WHEN");
    let codes = Regex::new("(tw-[a-z]+)-[0-9a-f]{20}").unwrap();
    let times = Regex::new(r"\d+(\.\d+)? (m?s)\b").unwrap();
    let text = codes.replace_all(text, "$1-CODE");
    times.replace_all(&text, "TIME").into_owned()
}

fn picture(text: &str) -> String {
    anstyle_svg::Term::new().render_svg(text)
}

fn updates() -> bool {
    std::env::var_os("TURNWRIGHT_UPDATE").is_some_and(|messages| messages == "1")
}

#[test]
fn what_the_pages_show_is_what_the_program_writes() {
    let shown = Regex::new(r"<!-- turnwright ([^>\n]+?) -->\n```(\w*)\n((?s:.*?))```\n").unwrap();
    let (mut blocks, folder) = (0, example());
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        let made = shown.replace_all(&page, |block: &Captures<'_>| {
            blocks += 1;
            let (command, kind, stands) = (&block[1], &block[2], &block[3]);
            let prompt = format!("$ turnwright {command}\n");
            let written = prompt + &output(command, folder.path());
            // What stands there is kept where only times and codes differ.
            let stored = if lasting(stands) == lasting(&written) {
                stands
            } else {
                &written
            };
            format!("<!-- turnwright {command} -->\n```{kind}\n{stored}```\n")
        });
        if updates() {
            fs::write(&path, &*made).unwrap();
        }
        let name = path.display();
        assert!(
            updates() || made == page,
            "{name} shows what the program does not write any more; `TURNWRIGHT_UPDATE=1` makes it anew. It writes:\n{made}"
        );
    }
    assert!(blocks >= 4, "the pages show the program");
}

#[test]
fn pictures_are_drawn_from_what_the_program_writes() {
    let shown = Regex::new(r"<!-- turnwright ([^>\n]+?) > (\S+\.svg) -->").unwrap();
    let (mut pictures, folder) = (0, example());
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for picture_of in shown.captures_iter(&page) {
            pictures += 1;
            let (command, file) = (&picture_of[1], root().join("docs/src").join(&picture_of[2]));
            let drawn = picture(&output(&format!("{command} --color always"), folder.path()));
            let stands = fs::read_to_string(&file).unwrap_or_default();
            if updates() && lasting(&stands) != lasting(&drawn) {
                fs::write(&file, drawn).unwrap();
                continue;
            }
            let name = file.display();
            assert!(
                lasting(&stands) == lasting(&drawn),
                "{name} is not what the program writes any more; `TURNWRIGHT_UPDATE=1` draws it anew"
            );
        }
    }
    assert!(pictures >= 1, "the README shows the program");
}
