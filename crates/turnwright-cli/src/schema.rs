//! `turnwright schema check`: checks arguments as the call path does.

use serde_json::json;
use turnwright::schema::{CheckedArgs, InvalidArguments, Schema, SchemaError};

use crate::args::SchemaCheck;
use crate::exit::{Exit, misuse};
use crate::show::repair::{in_words, is_default};
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, json as shown_json, plain, with_fields};
use crate::text;

pub(crate) fn check(options: &SchemaCheck, mut screen: Screen) -> anyhow::Result<Exit> {
    if options.schema == "-" && options.args == "-" {
        return Err(misuse(
            "the schema and the arguments cannot both be standard input. Pass one of them as a file or as text",
        ));
    }
    let schema = text::given(&options.schema, text::SCHEMA)?;
    let args = text::given(&options.args, text::ARGUMENTS)?;
    let schema = match Schema::from_json(&schema) {
        Ok(schema) => schema,
        Err(error) => return reject_schema(&error, &mut screen),
    };
    // As text, as a model sends it: the call path also checks for invalid JSON, repeated keys and depth.
    match schema.check(args) {
        Ok(checked) => accept(&checked, &mut screen),
        Err(invalid) => reject_args(&invalid, &mut screen),
    }
}

fn accept(checked: &CheckedArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    let (args, repairs) = (checked.value(), checked.repairs());
    screen.value(&json!({ "ok": true, "args": args, "repairs": repairs }))?;
    let args = shown_json(checked.value());
    screen.line(format_args!("{} {args}", paint(style::GOOD, "ok")))?;
    for repair in checked.repairs() {
        let what = if is_default(repair) {
            "filled in"
        } else {
            "repaired"
        };
        screen.line(format_args!("  {what} {}", in_words(repair)))?;
    }
    Ok(Exit::Done)
}

fn reject_args(invalid: &InvalidArguments, screen: &mut Screen) -> anyhow::Result<Exit> {
    let (faults, more) = (invalid.faults(), invalid.more_faults());
    let mut report = json!({ "ok": false, "faults": faults });
    if more > 0 {
        report = with_fields(report, json!({ "more": more }));
    }
    screen.value(&report)?;
    screen.painted(style::BAD, "invalid")?;
    for fault in faults {
        let place = place(&fault.pointer, "the arguments");
        screen.line(format_args!("  {place}: {}", plain(&fault.message)))?;
    }
    if more > 0 {
        screen.line(format_args!("  and {more} more"))?;
    }
    Ok(Exit::No)
}

/// A schema that cannot be enforced.
fn reject_schema(error: &SchemaError, screen: &mut Screen) -> anyhow::Result<Exit> {
    let problems = error.problems();
    if screen.is_json() {
        screen.value(&json!({ "ok": false, "problems": problems }))?;
        return Ok(Exit::Misused);
    }
    let listed = problems.iter().map(|problem| {
        let place = place(&problem.pointer, "the schema");
        format!("\n  {place}: {}", problem.message)
    });
    let listed = if problems.is_empty() {
        format!(": {error}")
    } else {
        format!(
            ". Fix or remove these keywords:{}",
            listed.collect::<String>()
        )
    };
    Err(misuse(format!("the schema cannot be enforced{listed}")))
}

/// A JSON pointer for users. The root pointer is empty and gets a name.
fn place(pointer: &str, root: &str) -> String {
    if pointer.is_empty() {
        root.to_owned()
    } else {
        plain(pointer).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_pointer_has_a_name() {
        assert_eq!(place("", "the arguments"), "the arguments");
        assert_eq!(place("/a\u{1b}", "the arguments"), "/a\\u{1b}");
    }
}
