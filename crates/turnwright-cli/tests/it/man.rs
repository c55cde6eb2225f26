//! `turnwright man`.

use std::fs;

use crate::folder::Folder;
use crate::program::run;

#[test]
fn the_main_page_is_printed() {
    let ran = run(&["man"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for part in [
        ".TH turnwright 1",
        ".SH NAME",
        "turnwright\\-chat(1)",
        "EXAMPLES",
    ] {
        assert!(ran.out.contains(part), "{part} is missing in\n{}", ran.out);
    }
    assert!(!ran.out.contains('\u{1b}'), "{:?}", ran.out);
}

#[test]
fn a_page_is_written_for_each_command() {
    let folder = Folder::new();
    let dir = folder.file("man1");
    let ran = run(&["man", "--dir", dir.to_str().unwrap()]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let pages = fs::read_dir(&dir).unwrap().count();
    assert!(
        ran.out.contains(&format!("Wrote {pages} man pages")),
        "{}",
        ran.out
    );
    for name in [
        "turnwright",
        "turnwright-chat",
        "turnwright-turns-resume",
        "turnwright-new",
    ] {
        let page = fs::read_to_string(dir.join(format!("{name}.1"))).unwrap();
        assert!(
            page.contains(".SH SYNOPSIS") && page.contains("Examples:"),
            "{page}"
        );
    }
    let file = folder.write("file", "");
    let ran = run(&["man", "--dir", &file]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("cannot write to"), "{}", ran.err);
}
