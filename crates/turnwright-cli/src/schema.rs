//! What the call path would say to arguments.

use serde_json::{Value, json};
use turnwright::{CheckedArgs, InvalidArguments, Schema, SchemaError};

use crate::args::SchemaCheck;
use crate::exit::{Exit, misuse};
use crate::show::repair::{in_words, is_default};
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, json as shown_json, plain};
use crate::text;

pub(crate) fn check(options: &SchemaCheck, mut screen: Screen) -> anyhow::Result<Exit> {
    if options.schema == "-" && options.args == "-" {
        return Err(misuse(
            "the schema and the arguments cannot both come from standard input: give one of them as a file or as text",
        ));
    }
    let schema = text::given(&options.schema, text::SCHEMA)?;
    let args = text::given(&options.args, text::ARGUMENTS)?;
    let schema = match Schema::from_json(&schema) {
        Ok(schema) => schema,
        Err(refused) => return refuse_schema(&refused, &mut screen),
    };
    // As text, as a model would send it: what is no JSON, repeats a key or is too deep is for the call path to judge.
    match schema.check(args) {
        Ok(checked) => {
            accept(&checked, &mut screen)?;
            Ok(Exit::Done)
        }
        Err(refused) => {
            refuse_args(&refused, &mut screen)?;
            Ok(Exit::No)
        }
    }
}

fn accept(checked: &CheckedArgs, screen: &mut Screen) -> anyhow::Result<()> {
    if screen.is_json() {
        let (args, repairs) = (checked.value(), checked.repairs());
        return Ok(screen.line(shown_json(
            &json!({ "ok": true, "args": args, "repairs": repairs }),
        ))?);
    }
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
    Ok(())
}

fn refuse_args(refused: &InvalidArguments, screen: &mut Screen) -> anyhow::Result<()> {
    let (faults, more) = (refused.faults(), refused.more_faults());
    if screen.is_json() {
        let mut report = json!({ "ok": false, "faults": faults });
        if let (Value::Object(report), 1..) = (&mut report, more) {
            report.insert("more".to_owned(), more.into());
        }
        return Ok(screen.line(shown_json(&report))?);
    }
    screen.line(paint(style::BAD, "refused"))?;
    for fault in faults {
        let place = place(&fault.pointer, "the arguments");
        screen.line(format_args!("  {place}: {}", plain(&fault.message)))?;
    }
    if more > 0 {
        screen.line(format_args!("  and {more} more"))?;
    }
    Ok(())
}

/// A schema that cannot be enforced is no schema to check by.
fn refuse_schema(refused: &SchemaError, screen: &mut Screen) -> anyhow::Result<Exit> {
    let problems = refused.problems();
    if screen.is_json() {
        screen.line(shown_json(&json!({ "ok": false, "problems": problems })))?;
        return Ok(Exit::Misused);
    }
    let listed: Vec<String> = problems
        .iter()
        .map(|item| {
            format!(
                "\n  {}: {}",
                place(&item.pointer, "the schema"),
                item.message
            )
        })
        .collect();
    let listed = match listed.is_empty() {
        true => format!(": {}", &refused.to_string()),
        false => format!(". Mend these, or say less:{}", listed.concat()),
    };
    Err(misuse(format!(
        "the schema cannot be enforced as it stands{listed}"
    )))
}

/// A JSON pointer for people: the root has no name of its own.
fn place(pointer: &str, root: &str) -> String {
    match pointer.is_empty() {
        true => root.to_owned(),
        false => plain(pointer).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_has_a_name() {
        assert_eq!(place("", "the arguments"), "the arguments");
        assert_eq!(place("/a\u{1b}", "the arguments"), "/a\\u{1b}");
    }
}
