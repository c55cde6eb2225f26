//! The stability of prompts, on which prompt caches depend.

use serde_json::Value;
use turnwright_core::Storage;

use crate::conformance::exchange::{Exchange, Weather, answered, say};
use crate::conformance::serialised::serialised;
use crate::conformance::{Broken, Outcome, ensure, same};
use turnwright_testkit::server::model::{self, Reply};

/// Fields that come before the messages in what a model reads.
const BEFORE: &[&str] = &["system", "systemInstruction", "instructions", "tools"];

fn script(exchange: &Exchange<'_>) {
    exchange.replies([
        Reply::default()
            .with_reasoning("Hm.")
            .with_text("I look.")
            .with_call(Weather::call("Bern"))
            .with_call(Weather::call("Rome")),
        model::text("It rains.", 2),
        model::text("Bye.", 2),
    ]);
}

pub(super) async fn within_a_model(exchange: &Exchange<'_>) -> Outcome {
    script(exchange);
    let runner = exchange.runner()?.tool(Weather::new()?.tool);
    let runner = runner.storage(Storage::memory()).build()?;
    answered(&say(&runner, "How is it?").await, "It rains.")?;
    answered(&say(&runner, "Thanks.").await, "Bye.")?;
    grows(exchange, 3)
}

pub(super) async fn across_models(exchange: &Exchange<'_>) -> Outcome {
    script(exchange);
    let storage = serialised();
    for (text, answer) in [("How is it?", "It rains."), ("Thanks.", "Bye.")] {
        let runner = exchange.runner()?.tool(Weather::new()?.tool);
        let runner = runner.storage(storage.clone()).build()?;
        answered(&say(&runner, text).await, answer)?;
    }
    grows(exchange, 3)
}

/// Checks that each prompt starts with the one before.
fn grows(exchange: &Exchange<'_>, requests: usize) -> Outcome {
    exchange.requests_are(requests)?;
    let mut before: Option<(Value, Vec<Value>)> = None;
    for number in 0..requests {
        let body = unmarked(exchange.body(number)?);
        let prompt = messages(&body)?;
        if let Some((earlier, start)) = before {
            for name in BEFORE {
                let what = format!("`{name}` of request {number}");
                same(&what, body.get(*name), earlier.get(*name))?;
            }
            let longer = prompt.len() > start.len() && prompt.starts_with(&start);
            ensure(longer, || {
                let (start, prompt) = (Value::from(start), Value::from(prompt.clone()));
                format!("request {number} has {prompt}, which does not start with {start}")
            })?;
        }
        before = Some((body, prompt));
    }
    Ok(())
}

/// Removes marks for the prompt cache, which move.
fn unmarked(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("cache_control");
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut value);
    value
}

fn messages(body: &Value) -> Result<Vec<Value>, Broken> {
    let mut lists = ["messages", "input", "contents"].iter();
    let list = lists.find_map(|name| body.get(*name)?.as_array());
    list.cloned()
        .ok_or_else(|| Broken("the request has no list of messages".to_owned()))
}
