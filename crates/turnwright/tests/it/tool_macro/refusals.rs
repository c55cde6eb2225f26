//! Compile errors of `#[tool]`, with their messages.

#[test]
#[ignore = "builds the facade again: run scripts/nightly.sh"]
fn compile_errors_say_what_to_change() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
