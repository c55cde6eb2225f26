//! Spans and metrics against the published definitions of OpenTelemetry's conventions for generative AI.

use serde_json::{Value, json};
use turnwright_core::dispatch::{FinishReason, ModelRequest, ModelUsage};
use turnwright_core::telemetry::METRICS;
use turnwright_core::{
    DispatchContext, Error, ErrorCode, ModelSettings, ToolError, TurnInput, Usage,
};

use super::collect::{Collector, Fields, Recorded, Seen};
use super::{Named, args, echo, tool};

/// The definitions of 1.41.1, the last release in which they are part of the semantic conventions: attributes with their types
/// and known values; spans and metrics with the requirement levels of their attributes.
pub(super) fn conventions() -> Value {
    serde_json::from_str(include_str!("conventions-1.41.1.json")).unwrap()
}

/// Attributes that the definition of a span does not list. Spans may have more attributes.
const ADDITIONAL: [(&str, &str); 1] = [("invoke_agent", "gen_ai.usage.reasoning.output_tokens")];

/// Returns what is wrong with the attributes of a span or a metric.
fn faults(all: &Value, definition: &Value, name: &str, fields: &Fields) -> Vec<String> {
    let mut faults = Vec::new();
    let levels = definition["attributes"].as_object().unwrap();
    for (attribute, level) in levels {
        if level == "required" && !fields.contains_key(attribute.as_str()) {
            faults.push(format!("{name}: {attribute} is missing"));
        }
    }
    let is_theirs = |name: &str| !name.starts_with("otel.") && !name.contains("turnwright.");
    let theirs = fields
        .iter()
        .filter(|(attribute, _)| is_theirs(attribute) && !attribute.starts_with("histogram."));
    for (attribute, value) in theirs {
        if !levels.contains_key(*attribute) && !ADDITIONAL.contains(&(name, attribute)) {
            faults.push(format!("{name}: {attribute} is not defined for it"));
        }
        let definition = &all["attributes"][attribute];
        let fits = match (definition["type"].as_str(), value) {
            (Some("string" | "any"), Recorded::Text(_)) => true,
            (Some("int"), Recorded::Number(_)) => true,
            (Some("double"), Recorded::Float(_)) => true,
            (Some("boolean"), Recorded::Flag(_)) => true,
            // `tracing` has no lists: they are JSON.
            (Some("string[]"), Recorded::Text(text)) => {
                serde_json::from_str::<Vec<String>>(text).is_ok()
            }
            _ => false,
        };
        if !fits {
            faults.push(format!("{name}: {attribute} cannot be {value:?}"));
        }
        // A provider may have a value of its own, if it has no well-known one.
        let values = definition["values"].as_array();
        if let (Some(values), Recorded::Text(text)) = (values, value)
            && *attribute != "gen_ai.provider.name"
            && !values.contains(&json!(text))
        {
            faults.push(format!("{name}: {attribute} cannot be {text}"));
        }
    }
    faults
}

fn check(seen: &Seen) -> Vec<String> {
    let all = conventions();
    let mut faults_of_all = Vec::new();
    for span in &seen.spans {
        let definition = &all["spans"][span.name];
        faults_of_all.extend(faults(&all, definition, span.name, &span.fields));
        let kind = span.text("otel.kind");
        if kind != definition["kind"].as_str() {
            faults_of_all.push(format!("{}: its kind is {kind:?}", span.name));
        }
        // Their conditions are met in all turns below.
        let levels = &definition["attributes"];
        for name in ["gen_ai.request.model", "gen_ai.conversation.id"] {
            if levels[name] == "conditionally_required" && span.text(name).is_none() {
                faults_of_all.push(format!("{}: {name} is missing", span.name));
            }
        }
        // An error has a status and a type, or neither.
        if span.text("otel.status_code").is_some() != span.text("error.type").is_some() {
            faults_of_all.push(format!("{}: its status and error differ", span.name));
        }
        let subject = match span.name {
            "chat" => span.text("gen_ai.request.model"),
            "invoke_agent" => span.text("gen_ai.agent.name"),
            _ => span.text("gen_ai.tool.name"),
        };
        let expected = subject.map(|subject| format!("{} {subject}", span.name));
        if span.text("otel.name") != expected.as_deref() {
            faults_of_all.push(format!("{}: its name is not {expected:?}", span.name));
        }
    }
    for metric in &seen.metrics {
        let histograms = metric
            .fields
            .keys()
            .filter_map(|field| field.strip_prefix("histogram."));
        for name in histograms.filter(|name| name.starts_with("gen_ai.")) {
            let definition = &all["metrics"][name];
            assert!(definition.is_object(), "{name}");
            faults_of_all.extend(faults(&all, definition, name, &metric.fields));
        }
    }
    faults_of_all
}

/// Turns with everything that is recorded: content, all token counts, errors, refused calls.
async fn all_of_it() -> Seen {
    let traced = Collector::start();
    let executor = Named::new(|ctx: DispatchContext| async move {
        let usage = Usage::tokens(100, 20)
            .cached(60)
            .cache_written(30)
            .reasoning(5);
        let mut request = ModelRequest::default();
        request.streams = Some(true);
        request.settings = ModelSettings::new()
            .temperature(0.5)
            .top_p(0.9)
            .max_output_tokens(100)
            .stop_sequences(["x"])
            .seed(7)
            .presence_penalty(0.25)
            .frequency_penalty(0.75);
        ctx.reporter().request(request);
        let mut usage = ModelUsage::new(usage)
            .model("acme-large-2026")
            .time_to_first_token(std::time::Duration::from_millis(20))
            .duration(std::time::Duration::from_millis(70));
        usage.response_id = Some("r-1".into());
        if ctx.iteration() == 1 {
            ctx.reporter()
                .usage(usage.finish_reason(FinishReason::ToolCalls));
            let calls = ["echo", "fail", "unknown"];
            ctx.call_tools(calls.map(|name| ctx.propose(name, args("a"))))
                .await;
            return Ok(());
        }
        ctx.reporter()
            .usage(usage.finish_reason(FinishReason::Stop));
        if ctx.turn().stash().get("fails").is_some() {
            return Err(Error::new(ErrorCode::MODEL_SERVER_ERROR, "overloaded").into());
        }
        ctx.answer("done").await?;
        Ok(())
    });
    let runner = turnwright_core::runner(executor)
        .name("support")
        .tool(echo())
        .tool(tool("fail", |_, _| async {
            Err(ToolError::internal("no"))
        }))
        .trace_content(true)
        .build()
        .unwrap();
    assert!(runner.run("hi").await.is_answered());
    let failing = TurnInput::new("hi")
        .conversation("c-1")
        .stash("fails", true);
    assert!(!runner.run(failing).await.is_answered());
    let unnamed = turnwright_core::runner(Named::new(|_| async { Ok(()) })).iteration_limit(1);
    unnamed.build().unwrap().run("hi").await;
    traced.seen()
}

#[tokio::test]
async fn spans_and_metrics_are_as_the_conventions_define_them() {
    let seen = all_of_it().await;
    assert_eq!(check(&seen), Vec::<String>::new());
    // Everything that is checked was there.
    let emitted = |name: &str| {
        let spans = seen.spans.iter().map(|span| &span.fields);
        let metrics = seen.metrics.iter().map(|metric| &metric.fields);
        spans.chain(metrics).any(|fields| fields.contains_key(name))
    };
    for name in [
        "gen_ai.agent.name",
        "gen_ai.request.stream",
        "gen_ai.request.max_tokens",
        "gen_ai.request.seed",
        "gen_ai.request.temperature",
        "gen_ai.request.top_p",
        "gen_ai.request.presence_penalty",
        "gen_ai.request.frequency_penalty",
        "gen_ai.request.stop_sequences",
        "gen_ai.response.id",
        "gen_ai.response.model",
        "gen_ai.response.finish_reasons",
        "gen_ai.response.time_to_first_chunk",
        "gen_ai.token.type",
        "server.port",
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.tool.call.result",
        "gen_ai.input.messages",
        "error.type",
    ] {
        assert!(emitted(name), "{name}");
    }
    // Every required metric is emitted.
    for (name, metric) in conventions()["metrics"].as_object().unwrap() {
        assert!(metric["requirement"] != "required" || emitted(&format!("histogram.{name}")));
    }
}

#[tokio::test]
async fn the_check_finds_what_is_wrong() {
    let mut seen = all_of_it().await;
    let chat = seen.named("chat")[0];
    let fields = &mut seen.spans[chat].fields;
    fields.remove("gen_ai.provider.name");
    fields.insert("gen_ai.operation.name", Recorded::Text("talk".to_owned()));
    fields.insert("gen_ai.usage.input_tokens", Recorded::Text("7".to_owned()));
    fields.insert("gen_ai.system", Recorded::Text("acme".to_owned()));
    let found = check(&seen).join("\n");
    for fault in [
        "chat: gen_ai.provider.name is missing",
        "chat: gen_ai.operation.name cannot be talk",
        "chat: gen_ai.usage.input_tokens cannot be",
        "chat: gen_ai.system is not defined for it",
    ] {
        assert!(found.contains(fault), "{fault}: {found}");
    }
}

#[test]
fn definitions_of_metrics_are_those_of_the_conventions() {
    let all = conventions();
    let theirs = METRICS
        .iter()
        .filter(|metric| metric.name.starts_with("gen_ai."));
    for metric in theirs.clone() {
        let definition = &all["metrics"][metric.name];
        assert_eq!(definition["instrument"], "histogram", "{}", metric.name);
        assert_eq!(definition["unit"], metric.unit, "{}", metric.name);
        assert_eq!(definition["brief"], metric.description, "{}", metric.name);
        let boundaries = definition["boundaries"].as_array().unwrap();
        let boundaries: Vec<f64> = boundaries.iter().filter_map(Value::as_f64).collect();
        assert_eq!(boundaries, metric.boundaries, "{}", metric.name);
    }
    assert_eq!(theirs.count(), all["metrics"].as_object().unwrap().len());
}
