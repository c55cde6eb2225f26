//! What `#[tool]` refuses, and the sentences with which it does.

#[test]
fn every_refusal_says_what_to_change() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
