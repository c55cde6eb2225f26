//! `turnwright completions`.

use crate::program::run;

#[test]
fn completions_of_every_shell_have_all_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = run(&["completions", shell]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{shell}");
        for command in [
            "demo",
            "new",
            "doctor",
            "man",
            "chat",
            "turns",
            "tools",
            "schema",
            "wire",
            "serve-script",
        ] {
            assert!(
                ran.out.contains(command),
                "{command} is missing for {shell}"
            );
        }
    }
    let other = run(&["completions", "tcsh"]);
    assert_eq!((other.code, other.out.as_str()), (2, ""));
}
