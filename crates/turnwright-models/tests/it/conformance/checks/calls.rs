//! Tool calls.

use serde_json::{Value, json};
use turnwright_core::Storage;

use crate::conformance::exchange::{Exchange, Weather, answered, contains, say, texts};
use crate::conformance::{Outcome, ensure, same};
use turnwright_testkit::server::model::{self, Call, Protocol, Reply};

pub(super) async fn schemas(exchange: &Exchange<'_>) -> Outcome {
    exchange.replies([model::text("Hello.", 1)]);
    let weather = Weather::new()?;
    let published = weather.tool.schema().document().clone();
    let runner = exchange.runner()?.tool(weather.tool).build()?;
    answered(&runner.run("Hi").await, "Hello.")?;
    let body = exchange.body(0)?;
    ensure(contains(&body, &published), || {
        format!("the request does not contain the schema {published}: {body}")
    })
}

/// Runs one turn with this reply, both streamed and complete. Checks the arguments that reach the handler.
async fn run(exchange: &Exchange<'_>, reply: Reply, arguments: &[Value]) -> Outcome {
    for stream in [true, false] {
        exchange.replies([reply.clone(), model::text("It rains.", 2)]);
        let weather = Weather::new()?;
        let runner = exchange.runner_with(|setup| setup.stream = stream)?;
        let runner = runner.tool(weather.tool.clone()).build()?;
        answered(&runner.run("How is it?").await, "It rains.")?;
        weather.ran_with(arguments)?;
    }
    Ok(())
}

pub(super) async fn one(exchange: &Exchange<'_>) -> Outcome {
    let reply = Reply::default().with_text("I look.");
    let reply = reply.with_call(Weather::call("Bern \"🎉\""));
    run(exchange, reply, &[json!({ "city": "Bern \"🎉\"" })]).await?;
    result_is_in(exchange, 1, "rain in Bern \"🎉\"")
}

fn result_is_in(exchange: &Exchange<'_>, number: usize, result: &str) -> Outcome {
    let body = exchange.body(number)?;
    let found = texts(&body).iter().any(|text| text.contains(result));
    ensure(found, || {
        format!("request {number} does not contain {result:?}: {body}")
    })
}

pub(super) async fn parallel(exchange: &Exchange<'_>) -> Outcome {
    let cities = ["Bern", "Rome", "Oslo"];
    let reply = cities.iter().fold(Reply::default(), |reply, city| {
        reply.with_call(Weather::call(city))
    });
    for stream in [true, false] {
        let before = exchange.server().requests().len();
        exchange.replies([reply.clone(), model::text("It rains.", 2)]);
        let weather = Weather::new()?;
        let runner = exchange
            .runner_with(|setup| setup.stream = stream)?
            .tool(weather.tool.clone());
        let outcome = runner.build()?.run("How is it?").await;
        answered(&outcome, "It rains.")?;
        let ran: Vec<String> = outcome
            .tool_calls()
            .map(|call| call.args().to_value())
            .filter_map(|args| Some(args.get("city")?.as_str()?.to_owned()))
            .collect();
        same("the calls", ran, cities)?;
        let body = exchange.body(before + 1)?.to_string();
        let places = cities.map(|city| body.find(&format!("rain in {city}")));
        ensure(
            places.iter().all(Option::is_some) && places.is_sorted(),
            || format!("the results are not in the order of their calls: {body}"),
        )?;
    }
    Ok(())
}

pub(super) async fn no_arguments(exchange: &Exchange<'_>) -> Outcome {
    let reply = Reply::default().with_call(Call::new("weather", json!({})));
    run(exchange, reply, &[json!({})]).await?;
    result_is_in(exchange, 1, "rain in nowhere")
}

pub(super) async fn invalid(exchange: &Exchange<'_>) -> Outcome {
    exchange.replies([
        Reply::default().with_call(Call::new("weather", json!({ "city": ["Bern"] }))),
        Reply::default().with_call(Weather::call("Bern")),
        model::text("It rains.", 2),
    ]);
    let weather = Weather::new()?;
    let runner = exchange.runner()?.tool(weather.tool.clone()).build()?;
    answered(&runner.run("How is it?").await, "It rains.")?;
    weather.ran_with(&[json!({ "city": "Bern" })])?;
    result_is_in(exchange, 1, "Invalid arguments for `weather`")
}

/// A reply with reasoning and a call.
fn thoughtful() -> Reply {
    let reply = Reply::default().with_reasoning("I should look.");
    reply.with_call(Weather::call("Bern"))
}

pub(super) async fn reasoning(exchange: &Exchange<'_>) -> Outcome {
    let mark = match exchange.protocol {
        Protocol::Responses => "enc",
        Protocol::Anthropic => "sig",
        Protocol::Gemini => "thought",
        // They have no state that must go back.
        _ => return Ok(()),
    };
    for stream in [true, false] {
        let before = exchange.server().requests().len();
        exchange.replies([thoughtful(), thoughtful(), model::text("It rains.", 2)]);
        let runner = exchange
            .runner_with(|setup| setup.stream = stream)?
            .tool(Weather::new()?.tool);
        answered(&runner.build()?.run("How is it?").await, "It rains.")?;
        let mark = format!("{mark}-{}-", exchange.server().address().port());
        for (number, count) in [(before + 1, 1), (before + 2, 2)] {
            let body = exchange.body(number)?;
            let found = texts(&body).into_iter().filter(|text| text.contains(&mark));
            let what = format!("opaque state in request {number}");
            same(&what, found.count(), count)?;
        }
    }
    Ok(())
}

pub(super) async fn later_turn(exchange: &Exchange<'_>) -> Outcome {
    exchange.replies([
        thoughtful(),
        model::text("It rains.", 2).with_reasoning("So it is."),
        model::text("You are welcome.", 2),
    ]);
    let weather = Weather::new()?;
    let runner = exchange.runner()?.tool(weather.tool.clone());
    let runner = runner.storage(Storage::memory()).build()?;
    answered(&say(&runner, "How is it?").await, "It rains.")?;
    answered(&say(&runner, "Thanks.").await, "You are welcome.")?;
    weather.ran_with(&[json!({ "city": "Bern" })])?;
    for part in ["How is it?", "rain in Bern", "It rains.", "Thanks."] {
        result_is_in(exchange, 2, part)?;
    }
    Ok(())
}
