//! `turnwright tools call`

use serde_json::{Value, json};

use super::{only, own};
use crate::folder::Folder;
use crate::program::{Ran, program, run, run_with};

#[test]
fn a_call_shows_its_checksum_repairs_and_complete_result() {
    let folder = Folder::new();
    let file = own(&folder, "echo working >&2; cat", &json!({}));
    let ran = run(&["tools", "call", "it", r#"{"n": "7"}"#, "--tools", &file]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let id = run(&["tools", "id", "it", r#"{"n":"7"}"#]);
    for words in [
        format!("checksum  {}", id.out).as_str(),
        r#"repaired  /n: "7" → 7"#,
        "progress  working",
        "result    text, 7 bytes, sent to the model in full\n\n{\"n\":7}\n\ntook",
    ] {
        assert!(ran.out.contains(words), "{words}\nis not in\n{}", ran.out);
    }
}

#[test]
fn json_output_of_a_call_is_one_object() {
    let folder = Folder::new();
    let file = own(&folder, "echo working >&2; cat", &json!({}));
    let ran = run(&[
        "tools",
        "call",
        "it",
        r#"{"n": "7"}"#,
        "--json",
        "--tools",
        &file,
    ]);
    let message = only(&ran);
    assert_eq!(ran.code, 0);
    assert_eq!(
        (&message["ok"], &message["args"], &message["result"]),
        (&json!(true), &json!({ "n": 7 }), &json!("{\"n\":7}"))
    );
    assert_eq!(
        message["repairs"],
        json!([{ "pointer": "/n", "kind": "number", "before": "7", "after": 7 }])
    );
    assert_eq!(
        message["checksum"],
        run(&["tools", "id", "it", r#"{"n":"7"}"#]).out.trim_end()
    );
    let events = message["events"].as_array().unwrap();
    let names: Vec<&str> = events
        .iter()
        .filter_map(|item| item["event"].as_str())
        .collect();
    for name in [
        "turnStart",
        "toolExecutionStart",
        "toolExecutionProgress",
        "toolExecutionEnd",
        "turnEnd",
    ] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
}

#[test]
fn invalid_arguments_show_every_fault_and_run_nothing() {
    let folder = Folder::new();
    let ran_file = folder.file("ran");
    let file = own(
        &folder,
        &format!("touch '{}'", ran_file.display()),
        &json!({}),
    );
    let args = r#"{"n": 0, "to": "x", "more": true}"#;
    let ran = run(&["tools", "call", "it", args, "--tools", &file]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    for words in [
        "not run   E_INVALID_TOOL_ARGS",
        "/n: must be at least 1",
        "/to: must be at least 2",
        "/more: is not a known property",
    ] {
        assert!(ran.out.contains(words), "{words}\nis not in\n{}", ran.out);
    }
    let ran = run(&["tools", "call", "it", args, "--tools", &file, "--json"]);
    let message = only(&ran);
    assert_eq!((ran.code, &message["ok"]), (1, &json!(false)));
    assert_eq!(
        (&message["code"], &message["ended"]),
        (&json!("E_INVALID_TOOL_ARGS"), &json!("refused"))
    );
    let faults = message["faults"].as_array().unwrap();
    let mut places: Vec<&str> = faults
        .iter()
        .filter_map(|item| item["pointer"].as_str())
        .collect();
    places.sort_unstable();
    assert_eq!(places, ["/more", "/n", "/to"]);
    assert!(
        message["modelText"]
            .as_str()
            .unwrap()
            .contains("Fix the following")
    );
    assert_eq!(
        message["checksum"].as_str().unwrap(),
        run(&["tools", "id", "it", args]).out.trim_end()
    );
    assert!(!ran_file.exists());
}

#[test]
fn invalid_json_arguments_reach_the_call_path() {
    for args in ["{oops", "[1]", "7", "\"text\"", "null", ""] {
        let ran = run(&["tools", "call", "read_file", args, "--json"]);
        let message = only(&ran);
        assert_eq!(
            (ran.code, &message["code"]),
            (1, &json!("E_INVALID_TOOL_ARGS")),
            "{args}"
        );
        let id = run(&["tools", "id", "read_file", args, "--json"]);
        assert_eq!(message["checksum"], only(&id)["checksum"], "{args}");
    }
}

#[test]
fn arguments_come_from_files_and_from_standard_input() {
    let folder = Folder::new();
    let file = folder.write("args.json", r#"{"path": "args.json"}"#);
    let root = folder.path().to_str().unwrap();
    let call = |args: &str| -> Vec<String> {
        [
            "tools",
            "call",
            "read_file",
            args,
            "--json",
            "--folder",
            root,
        ]
        .map(str::to_owned)
        .into()
    };
    let with = |args: &str, input: &str| {
        let args = call(args);
        run_with(&args.iter().map(String::as_str).collect::<Vec<_>>(), input)
    };
    let ran = with(&file, "");
    assert_eq!(only(&ran)["result"], r#"{"path": "args.json"}"#);
    let ran = with("-", r#"{"path": "args.json"}"#);
    assert_eq!(only(&ran)["result"], r#"{"path": "args.json"}"#);
    let ran = with("no-such-file.json", "");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("no-such-file.json"), "{}", ran.err);
}

#[test]
fn a_write_is_denied_without_a_terminal() {
    let folder = Folder::new();
    let ran_file = folder.file("ran");
    let script = format!("touch '{}'; echo done", ran_file.display());
    let file = own(&folder, &script, &json!({ "effects": "writes" }));
    let ran = run(&["tools", "call", "it", "--tools", &file]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.out.contains("no terminal to ask for approval"),
        "{}",
        ran.out
    );
    let ran = run(&["tools", "call", "it", "--tools", &file, "--json"]);
    let message = only(&ran);
    assert_eq!((ran.code, &message["ok"]), (1, &json!(false)));
    assert!(message["code"].is_string(), "{message}");
    assert!(!ran_file.exists());

    let ran = run(&["tools", "call", "it", "--tools", &file, "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("approved by --yes"), "{}", ran.out);
    assert!(ran_file.exists());
    let ran = run(&["tools", "call", "it", "--tools", &file, "--yes", "--json"]);
    assert_eq!(only(&ran)["result"], "done\n");
}

#[test]
fn a_failing_program_exits_with_one_and_shows_its_last_output() {
    let folder = Folder::new();
    let file = own(&folder, "echo no disk >&2; exit 3", &json!({}));
    let ran = run(&["tools", "call", "it", "--tools", &file, "--json"]);
    let message = only(&ran);
    assert_eq!(
        (ran.code, &message["ended"], &message["code"]),
        (1, &json!("failed"), &json!("E_TOOL_DOWNSTREAM_ERROR"))
    );
    assert!(message["modelText"].as_str().unwrap().contains("code 3"));
    assert!(message["modelText"].as_str().unwrap().ends_with("no disk"));
    let ran = run(&["tools", "call", "it", "--tools", &file]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.contains("the model sees\nThe tool failed"),
        "{}",
        ran.out
    );
}

#[test]
fn a_program_is_killed_at_its_timeout() {
    let folder = Folder::new();
    let file = own(&folder, "sleep 600", &json!({ "timeout_secs": 1 }));
    let ran = run(&["tools", "call", "it", "--tools", &file, "--json"]);
    assert_eq!(
        (ran.code, &only(&ran)["code"]),
        (1, &json!("E_TOOL_TIMEOUT"))
    );
}

#[test]
fn programs_get_the_allow_list_and_the_named_variables() {
    let folder = Folder::new();
    let file = own(&folder, "env", &json!({ "env": ["COLOUR", "UNSET"] }));
    // A program of a user has many secrets around it, and few of them look like one.
    let planted = [
        "OPENAI_API_KEY",
        "DB_PASS",
        "DATABASE_URL",
        "SSH_AUTH_SOCK",
        "KUBECONFIG",
        "LD_PRELOAD_2",
        "HTTPS_PROXY",
        "TURNWRIGHT_HOME",
    ];
    let mut command = program();
    command
        .args(["tools", "call", "it", "--json", "--tools", &file])
        .env("COLOUR", "blue")
        .env("LC_MESSAGES", "C")
        .env("TZ", "UTC");
    for name in planted {
        command.env(name, "planted");
    }
    let ran = Ran::of(&mut command, "");
    let message = only(&ran);
    let text = message["result"].as_str().unwrap_or_default();
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    let allowed = |name: &&str| {
        // The shell that runs the script sets the last four itself.
        let known = [
            "PATH", "HOME", "LANG", "TERM", "TZ", "TMPDIR", "USER", "COLOUR", "PWD", "OLDPWD",
            "SHLVL", "_",
        ];
        known.contains(name) || name.starts_with("LC_")
    };
    assert!(names.iter().all(allowed), "{names:?}");
    for name in ["PATH", "COLOUR", "LC_MESSAGES", "TZ"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}

#[test]
fn a_result_is_printed_unchanged_in_a_pipe() {
    let folder = Folder::new();
    let file = own(&folder, r"printf 'a\033[2Jb\302\233c\377'", &json!({}));
    let output = program()
        .args(["tools", "call", "it", "--tools", &file])
        .output()
        .unwrap();
    let wanted = b"\n\na\x1b[2Jb\xc2\x9bc\xff\n\n";
    assert!(
        output
            .stdout
            .windows(wanted.len())
            .any(|item| item == wanted)
    );
    let ran = run(&["tools", "call", "it", "--tools", &file, "--json"]);
    let message = only(&ran);
    assert_eq!((ran.code, &message["result"]), (0, &Value::Null));
    assert_eq!(message["resultBase64"], "YRtbMkpiwptj/w==");

    let file = own(&folder, r"printf 'a\033[2Jb\302\233c'", &json!({}));
    let ran = run(&["tools", "call", "it", "--tools", &file, "--json"]);
    assert_eq!(only(&ran)["result"], "a\u{1b}[2Jb\u{9b}c");
}

#[test]
fn files_are_read_in_one_directory() {
    let folder = Folder::new();
    folder.write("a.txt", "inside\n");
    let call = |args: &str| {
        let ran = run(&[
            "tools",
            "call",
            "read_file",
            args,
            "--folder",
            folder.path().to_str().unwrap(),
            "--json",
        ]);
        (ran.code, only(&ran))
    };
    let (code, message) = call(r#"{"path": "a.txt"}"#);
    assert_eq!((code, &message["result"]), (0, &json!("inside\n")));
    let (code, message) = call(r#"{"path": "../../../../etc/passwd"}"#);
    assert_eq!((code, &message["ok"]), (1, &json!(false)));
    let ran = run(&["tools", "list", "--folder", "/no/such/folder"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("/no/such/folder"), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn at_a_terminal_a_large_result_is_shown_as_a_handle() {
    let folder = Folder::new();
    let lines: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    folder.write("long.txt", &lines);
    let args = [
        "tools",
        "call",
        "read_file",
        r#"{"path": "long.txt"}"#,
        "--folder",
    ];
    let args = [&args[..], &[folder.path().to_str().unwrap()]].concat();
    let show = |more: &[&str]| {
        let all = [&args[..], more].concat();
        let mut terminal = crate::pty::Launch::new(&all).window(60, 100).start();
        assert_eq!(terminal.end(), 0);
        terminal.written()
    };
    let handle = show(&[]);
    assert!(
        handle.contains("stored as an artifact (kind text") && handle.contains("--raw"),
        "{handle}"
    );
    assert!(!handle.contains("line 19999"), "{handle}");
    assert!(show(&["--raw"]).contains("line 19999"));
}
