//! Files that cannot be used, and programs that use one at once.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use turnwright_testkit::server::model;

use super::{database, listed, newest, talked, turns};
use crate::chat::{PROMPT, chat as start, run_piped};
use crate::folder::Folder;
use crate::model::Model;
use crate::program::{Ran, program, run};
use crate::stored::messages_of;

fn silent() -> Model {
    Model::plays(Vec::<model::Reply>::new())
}

/// Every command says this of the file, and leaves it as it is.
fn is_refused(home: &Folder, file: &Path, words: &[&str]) {
    let before = fs::read(file).unwrap();
    let (shown, sibling) = (file.to_str().unwrap(), file.parent().unwrap());
    let names = || {
        let mut names: Vec<_> = fs::read_dir(sibling)
            .unwrap()
            .map(|item| item.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let there = names();
    let runs = [
        run_piped(&silent(), home, &["--store", shown], "hello\n"),
        run(&["demo", "--store", shown]),
        turns(home, &["list", "--store", shown]),
        turns(home, &["show", "x", "--store", shown]),
        turns(home, &["resume", "x", "--store", shown]),
        turns(home, &["export", "x", "--store", shown]),
        turns(home, &["delete", "x", "--yes", "--store", shown]),
    ];
    for ran in runs {
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        for word in words.iter().chain([&shown]) {
            assert!(ran.err.contains(word), "{word:?} is missing in {}", ran.err);
        }
    }
    assert_eq!(fs::read(file).unwrap(), before);
    assert_eq!(names(), there, "something was left beside it");
}

/// A database that was closed in good order, by itself in its folder.
fn closed(home: &Folder) -> std::path::PathBuf {
    talked(home, &[], &[("hello", "Hi.")]);
    let alone = home.file("alone");
    fs::create_dir(&alone).unwrap();
    let file = alone.join("chat.db");
    fs::copy(database(home), &file).unwrap();
    file
}

/// Writes these bytes at this place.
fn patch(file: &Path, at: usize, with: &[u8]) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at..at + with.len()].copy_from_slice(with);
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_file_of_a_later_release_is_not_changed() {
    let home = Folder::new();
    let file = closed(&home);
    // Where SQLite keeps the number of the format.
    patch(&file, 60, &999_u32.to_be_bytes());
    is_refused(
        &home,
        &file,
        &[
            "a later release wrote it in format 999",
            "use the later release",
            "--store FILE",
        ],
    );
}

#[test]
fn a_damaged_file_is_not_changed() {
    let home = Folder::new();
    let file = closed(&home);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    is_refused(&home, &file, &["it is damaged", "Keep a copy", "backup"]);
}

#[test]
fn a_file_that_is_not_a_database_is_not_changed() {
    let home = Folder::new();
    fs::create_dir(home.file("alone")).unwrap();
    let file = home.file("alone/notes.txt");
    fs::write(
        &file,
        "Notes that took a year to write, and are no database at all.\n",
    )
    .unwrap();
    is_refused(
        &home,
        &file,
        &["it is not a database", "It was not changed", "--store FILE"],
    );
}

/// The program as a user whom permissions bind. None if there is none here.
fn bound(args: &[&str]) -> Option<Ran> {
    const NOBODY: u32 = 65_534;
    let as_other_user = |command: &mut Command| {
        if fs::read("/etc/shadow").is_ok() {
            command.uid(NOBODY).gid(NOBODY);
        }
    };
    let mut tried = program();
    as_other_user(tried.arg("--version").current_dir("/"));
    if !tried.output().is_ok_and(|item| item.status.success()) {
        crate::say("there is no user whom permissions bind: that writing is refused was not tried");
        return None;
    }
    let mut command = program();
    as_other_user(command.args(args).current_dir("/"));
    Some(Ran::of(&mut command, "hello\n"))
}

#[test]
fn a_read_only_file_can_be_shown() {
    let home = Folder::new();
    let file = closed(&home);
    let folder = file.parent().unwrap();
    let (id, shown) = (newest(&home), file.to_str().unwrap());
    let modes = |of_file: u32, of_folder: u32| {
        fs::set_permissions(&file, fs::Permissions::from_mode(of_file)).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(of_folder)).unwrap();
    };
    modes(0o444, 0o777);
    for args in [&["list"][..], &["show", &id], &["export", &id]] {
        let args = [&["turns"], args, &["--store", shown]].concat();
        let Some(ran) = bound(&args) else { return };
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!ran.out.is_empty());
    }
    let url = silent().url();
    let chat = ["chat", "--base-url", &url, "--model", "m", "--store", shown];
    let delete = ["turns", "delete", &id, "--yes", "--store", shown];
    for args in [&chat[..], &delete] {
        let Some(ran) = bound(args) else { return };
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains("it is read-only"), "{}", ran.err);
    }
    // Where nothing can be made beside it either:
    for sibling in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{shown}{sibling}"));
    }
    modes(0o444, 0o555);
    let Some(ran) = bound(&chat) else { return };
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    assert!(ran.err.contains("Permission denied"), "{}", ran.err);
    // It was closed and cannot change, so it can be read.
    let Some(ran) = bound(&["turns", "list", "--store", shown]) else {
        return;
    };
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("answered"), "{}", ran.out);
    modes(0o644, 0o755);
    assert_eq!(messages_of(&file, "default"), ["hello", "Hi."]);
}

#[test]
fn only_a_chat_creates_a_missing_file() {
    let home = Folder::new();
    let file = home.file("new.db");
    let shown = file.to_str().unwrap();
    for args in [
        &["list"][..],
        &["show", "x"],
        &["delete", "x", "--yes"],
        &["resume", "x"],
    ] {
        let ran = turns(&home, &[args, &["--store", shown]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(
            ran.err.contains(shown)
                && ran
                    .err
                    .contains("`turnwright chat --store FILE` creates one"),
            "{}",
            ran.err
        );
        assert!(!file.exists());
    }
    let model = Model::plays([model::text("Hi.", 1)]);
    assert_eq!(
        run_piped(&model, &home, &["--store", shown], "hello\n").code,
        0
    );
    assert_eq!(messages_of(&file, "default"), ["hello", "Hi."]);
    assert!(!database(&home).exists());
    let lost = home.file("no/such/folder/x.db");
    let ran = run_piped(
        &model,
        &home,
        &["--store", lost.to_str().unwrap()],
        "hello\n",
    );
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("does not exist. Create it"), "{}", ran.err);
    let ran = run_piped(&model, &home, &["--store", shown, "--forget"], "hello\n");
    assert_eq!(ran.code, 2);
}

#[test]
fn two_chats_store_to_one_file_at_once() {
    let home = Folder::new();
    let models: Vec<Model> = (0..2)
        .map(|_| Model::plays((0..5).map(|number| model::text(format!("Answer {number}."), 1))))
        .collect();
    let names = ["left", "right"];
    let mut chats: Vec<_> = models
        .iter()
        .zip(names)
        .map(|(model, name)| start(model, &home, &["--conversation", name]))
        .collect();
    for number in 0..5 {
        for chat in &mut chats {
            chat.line(&format!("question {number}"));
        }
        for chat in &mut chats {
            chat.wait_for(&format!("Answer {number}."))
                .wait_for_prompt(PROMPT);
        }
    }
    drop(chats);
    for name in names {
        let messages = messages_of(&database(&home), name);
        let expected: Vec<String> = (0..5)
            .flat_map(|number| [format!("question {number}"), format!("Answer {number}.")])
            .collect();
        assert_eq!(messages, expected);
    }
    assert_eq!(listed(&home, &[]).len(), 10);
}

#[test]
fn a_key_in_a_url_is_not_stored() {
    let home = Folder::new();
    let model = Model::plays([model::text("Hi.", 1)]);
    let mut chat = crate::chat::piped(&model, &home, &[]);
    let ran = Ran::of(chat.env("OPENAI_API_KEY", "sk-secret-xyzzy"), "hello\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let bytes = fs::read(database(&home)).unwrap();
    // No digits: they may be in a time or an id by chance.
    assert!(!String::from_utf8_lossy(&bytes).contains("xyzzy"));
}

#[test]
fn a_full_disk_loses_nothing_and_gives_advice() {
    let home = Folder::new();
    talked(&home, &[], &[("hello", "Hi.")]);
    let model = Model::plays(["Never.", "Again."].map(|text| model::text(text, 1)));
    // No file may grow beyond 128 kB, and the system says so instead of ending the program.
    let limited = format!(
        "trap '' XFSZ; ulimit -f 256; exec {} \"$@\"",
        env!("CARGO_BIN_EXE_turnwright")
    );
    let chat = crate::chat::piped(&model, &home, &["--switch-server"]);
    let mut full = crate::program::command("sh");
    full.args(["-c", &limited, "sh"])
        .args(chat.get_args())
        .env("TURNWRIGHT_HOME", home.path());
    let ran = Ran::of(&mut full, &format!("{}\n", "long ".repeat(50_000)));
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(
        ran.err.contains("no answer: ") && ran.err.contains("try: "),
        "{}",
        ran.err
    );
    assert!(model.requests().is_empty());
    assert_eq!(messages_of(&database(&home), "default"), ["hello", "Hi."]);
    // There is room again.
    let ran = run_piped(&model, &home, &[], "are you there?\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "Never.\n"), "{ran:?}");
}
