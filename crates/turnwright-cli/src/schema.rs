//! What the call path would say to arguments.

use serde_json::{Value, json};
use turnwright::{CheckedArgs, Error, Repair, RepairKind, Schema};

use crate::args::SchemaCheck;
use crate::exit::{Exit, Misuse};
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, json as shown_json, plain};
use crate::text;

pub(crate) fn check(told: &SchemaCheck, mut screen: Screen) -> anyhow::Result<Exit> {
    if told.schema == "-" && told.args == "-" {
        return Err(Misuse::new(
            "the schema and the arguments cannot both come from standard input: give one of them as a file or as text",
        ));
    }
    let schema = text::given(&told.schema, "the schema")?;
    let args = text::given(&told.args, "the arguments")?;
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
        screen.line(format_args!("  {}", in_words(repair)))?;
    }
    Ok(())
}

fn refuse_args(refused: &Error, screen: &mut Screen) -> anyhow::Result<()> {
    let (faults, more) = (refused.faults(), refused.more_faults());
    if screen.is_json() {
        let mut said = json!({ "ok": false, "faults": faults });
        if let (Value::Object(said), 1..) = (&mut said, more) {
            said.insert("more".to_owned(), more.into());
        }
        return Ok(screen.line(shown_json(&said))?);
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
fn refuse_schema(refused: &Error, screen: &mut Screen) -> anyhow::Result<Exit> {
    let problems = refused.problems();
    if screen.is_json() {
        screen.line(shown_json(&json!({ "ok": false, "problems": problems })))?;
    }
    let listed: Vec<String> = problems
        .iter()
        .map(|it| format!("\n  {}: {}", place(&it.pointer, "the schema"), it.message))
        .collect();
    let listed = match listed.is_empty() {
        true => format!(": {}", refused.message()),
        false => format!(". Mend these, or say less:{}", listed.concat()),
    };
    Err(Misuse::new(format!(
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

/// A repair in words.
fn in_words(repair: &Repair) -> String {
    let shown = |value: &Option<Value>| value.as_ref().map(shown_json).unwrap_or_default();
    let (before, after) = (shown(&repair.before), shown(&repair.after));
    let place = place(&repair.pointer, "the arguments");
    match repair.kind {
        RepairKind::Number | RepairKind::Boolean => {
            format!("{place}: the text {before} was taken for {after}")
        }
        RepairKind::Json => format!("{place}: the JSON text {before} was read: {after}"),
        RepairKind::Integer => format!("{place}: {before} was taken for the whole number {after}"),
        RepairKind::NullAsAbsent => format!("{place}: null was taken for absent"),
        RepairKind::Default => format!("{place}: was absent, {after} is the default"),
        RepairKind::NoArguments => format!("{place}: {before} was taken for no arguments"),
        kind => format!("{place}: {before} became {after} ({})", kind.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_repair_is_said_in_words() {
        let schema = Schema::from_document(json!({
            "type": "object",
            "properties": {
                "n": { "type": "integer" },
                "m": { "type": "integer" },
                "yes": { "type": "boolean" },
                "tags": { "type": "array", "items": { "type": "string" } },
                "unit": { "type": "string", "default": "cm" },
                "note": { "type": "string" },
            },
        }));
        let args = r#"{"n": "7", "m": 7.0, "yes": "true", "tags": "[\"a\"]", "note": null}"#;
        let checked = schema.unwrap().check(args).unwrap();
        let mut said: Vec<String> = checked.repairs().iter().map(in_words).collect();
        said.sort();
        assert_eq!(
            said,
            [
                "/m: 7.0 was taken for the whole number 7",
                "/n: the text \"7\" was taken for 7",
                "/note: null was taken for absent",
                "/tags: the JSON text \"[\\\"a\\\"]\" was read: [\"a\"]",
                "/unit: was absent, \"cm\" is the default",
                "/yes: the text \"true\" was taken for true",
            ]
        );
    }

    #[test]
    fn the_root_has_a_name() {
        assert_eq!(place("", "the arguments"), "the arguments");
        assert_eq!(place("/a\u{1b}", "the arguments"), "/a\\u{1b}");
    }
}
