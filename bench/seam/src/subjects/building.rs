//! Building a tool.

use std::error::Error;

use serde_json::{Value, json};
use turnwright_bench_measure::Subject;
use turnwright_core::{Tool, ToolContext};

use super::{parts, turnwright};
use crate::{arguments::Forecast, section};

pub(crate) const VALIDATOR: &str = "part: the `jsonschema` validator of the small document";
pub(crate) const FROM_DOCUMENT: &str = "`Tool::dynamic` from the small document";
pub(crate) const FROM_TYPE: &str = "`Tool::typed` from the small type";

pub(crate) fn subjects<'a>() -> Result<Vec<Subject<'a>>, Box<dyn Error>> {
    let given = document();
    parts::validator(&given)?;
    dynamic("get_forecast", given.clone())?;
    turnwright::typed::<Forecast>()?;
    let compiled = given.clone();
    Ok(vec![
        Subject::once(section::BUILDING, VALIDATOR, move || {
            parts::validator(&compiled).is_ok()
        }),
        Subject::once(section::BUILDING, FROM_DOCUMENT, move || {
            dynamic("get_forecast", given.clone())
        }),
        Subject::once(section::BUILDING, FROM_TYPE, turnwright::typed::<Forecast>),
    ])
}

/// Returns the small document: the two fields of the small call.
pub(crate) fn document() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "description": "The city to look up", "minLength": 1, "maxLength": 80 },
            "days": { "type": "integer", "description": "How many days ahead", "minimum": 1, "maximum": 14, "default": 3 },
        },
        "required": ["city"],
        "additionalProperties": false,
    })
}

pub(crate) fn dynamic(name: &str, document: Value) -> Result<Tool, turnwright_core::Error> {
    Tool::dynamic(name, document)
        .description("The weather forecast of a city")
        .handler(|args: Value, _context: ToolContext| async move { args.to_string() })
        .build()
}
