//! `turnwright completions`.

use crate::program::run;

#[test]
fn every_shell_is_told_the_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = run(&["completions", shell]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{shell}");
        for command in [
            "demo",
            "chat",
            "turns",
            "tools",
            "schema",
            "wire",
            "serve-script",
        ] {
            assert!(ran.out.contains(command), "{shell} is not told {command}");
        }
    }
    let other = run(&["completions", "tcsh"]);
    assert_eq!((other.code, other.out.as_str()), (2, ""));
}
