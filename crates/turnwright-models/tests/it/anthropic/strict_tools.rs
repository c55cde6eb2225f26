//! Which tools the API accepts, compared with recorded answers of the API.

use serde_json::Value;
use turnwright_core::schema::Schema;
use turnwright_core::{Error, Tool, ToolContext};

use super::{builder, sessions};

#[test]
fn recorded_strict_tools_are_rejected_only_if_the_server_rejected_them() {
    let Some(sessions) = sessions() else {
        return;
    };
    let (mut accepted, mut rejected) = (0, 0);
    for (name, session) in &sessions {
        for exchange in session {
            let tools = exchange["request"]["body"]["tools"].as_array();
            let tools = tools
                .into_iter()
                .flatten()
                .filter(|tool| tool["strict"] == true);
            let tools: Vec<&Value> = tools.collect();
            if tools.is_empty() {
                continue;
            }
            let built = build(&tools);
            let error = built.err().map(|error| error.message().to_owned());
            match exchange["response"]["status"].as_u64().unwrap() {
                200 => {
                    assert_eq!(error, None, "{name}");
                    accepted += 1;
                }
                _ if exchange["response"]["body"]
                    .as_str()
                    .unwrap()
                    .contains("too complex") =>
                {
                    // A limit that depends on the whole request.
                    assert_eq!(error, None, "{name}");
                }
                _ => {
                    let error = error.unwrap_or_else(|| panic!("{name} was rejected"));
                    crate::say(format_args!("{name}: {error}"));
                    rejected += 1;
                }
            }
        }
    }
    crate::say(format_args!(
        "strict tools: {accepted} requests accepted, {rejected} rejected, as by the server"
    ));
    assert!(accepted > 40 && rejected > 3);
}

fn build(tools: &[&Value]) -> Result<(), Error> {
    let model = builder("http://127.0.0.1:9").strict_tools(true).build()?;
    let tools = tools.iter().map(|tool| dynamic(tool));
    let tools = tools.collect::<Result<Vec<Tool>, Error>>()?;
    turnwright_core::runner(model)
        .tools(tools)
        .build()
        .map(drop)
}

/// Returns a tool with a recorded schema. Formats that JSON Schema does not define are annotations.
pub(super) fn dynamic(tool: &Value) -> Result<Tool, Error> {
    let mut formats = Vec::new();
    find_formats(&tool["input_schema"], &mut formats);
    let options = formats
        .into_iter()
        .fold(Schema::options(), |options, item| {
            options.annotation_format(item)
        });
    Tool::dynamic(
        tool["name"].as_str().unwrap(),
        options.document(tool["input_schema"].clone()),
    )
    .description(tool["description"].as_str().unwrap_or_default())
    .handler(|_: Value, _: ToolContext| async { "" })
    .build()
}

fn find_formats<'d>(document: &'d Value, found: &mut Vec<&'d str>) {
    match document {
        Value::Object(fields) => {
            found.extend(document["format"].as_str());
            fields.values().for_each(|item| find_formats(item, found));
        }
        Value::Array(items) => items.iter().for_each(|item| find_formats(item, found)),
        _ => {}
    }
}
