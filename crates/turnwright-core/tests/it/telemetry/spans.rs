//! The spans, their hierarchy and their attributes.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tracing::{Instrument as _, Level};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use turnwright_core::dispatch::ModelRequest;
use turnwright_core::event::Level as Matters;
use turnwright_core::gate::GateAnswer;
use turnwright_core::tool::approval::always;
use turnwright_core::{
    DispatchContext, Error, ErrorCode, Tool, ToolContext, ToolError, TurnInput, TurnRunner, Usage,
};

use super::collect::{Collector, Recorded};
use super::{Named, args, echo, schema, text_arg, tool};

/// Two concurrent calls in the first iteration, one of which fails; an answer in the second.
fn two_iterations() -> TurnRunner {
    let fail = tool("fail", |_, _| async { Err(ToolError::internal("no")) });
    let executor = Named::new(|ctx: DispatchContext| async move {
        if ctx.iteration() == 1 {
            ctx.reporter()
                .usage(Usage::tokens(100, 20).cached(60).cache_written(30));
            let calls = [
                ctx.propose("echo", args("hello")),
                ctx.propose("fail", args("hello")),
            ];
            ctx.call_tools(calls).await;
        } else {
            ctx.reporter().usage(Usage::tokens(130, 5));
            ctx.answer("done").await?;
        }
        Ok(())
    });
    let builder = turnwright_core::runner(executor).tool(echo()).tool(fail);
    builder.build().unwrap()
}

#[tokio::test]
async fn the_spans_of_a_turn_are_a_tree_below_the_span_of_the_caller() {
    let traced = Collector::start();
    let runner = two_iterations();
    let request = tracing::info_span!("request");
    let outcome = runner.run("hi").instrument(request).await;
    assert!(outcome.is_answered());
    let seen = traced.seen();
    assert_eq!(
        seen.paths(),
        [
            "request",
            "request/invoke_agent",
            "request/invoke_agent/chat",
            "request/invoke_agent/chat/execute_tool",
            "request/invoke_agent/chat/execute_tool",
            "request/invoke_agent/chat",
        ]
    );
    let first = seen.named("chat")[0];
    for call in seen.named("execute_tool") {
        assert_eq!(seen.spans[call].parent, Some(first));
    }
    assert!(seen.all_closed());
}

#[tokio::test]
async fn a_started_turn_is_below_the_span_in_which_it_was_started() {
    let traced = Collector::start();
    let runner = two_iterations();
    let turn = tracing::info_span!("starts").in_scope(|| runner.start("hi"));
    turn.instrumented_outcome().await;
    let seen = traced.seen();
    let turn = seen.named("invoke_agent")[0];
    assert_eq!(seen.path(turn), "starts/invoke_agent");
    assert!(seen.all_closed());
}

/// Awaits a turn within another span, which must not matter.
trait InstrumentedOutcome {
    async fn instrumented_outcome(self);
}

impl InstrumentedOutcome for turnwright_core::Turn {
    async fn instrumented_outcome(self) {
        let awaits = tracing::info_span!("awaits");
        assert!(self.outcome().instrument(awaits).await.is_answered());
    }
}

#[tokio::test]
async fn attributes_contain_request_usage_and_error() {
    let traced = Collector::start();
    let input = TurnInput::new("hi")
        .conversation("c-1")
        .turn_id("t-1")
        .principal("ada");
    let outcome = two_iterations().run(input).await;
    let seen = traced.seen();

    let turn = seen.the("invoke_agent");
    for (name, value) in [
        ("gen_ai.operation.name", "invoke_agent"),
        ("gen_ai.provider.name", "acme"),
        ("gen_ai.request.model", "acme-large"),
        ("gen_ai.conversation.id", "c-1"),
        ("turnwright.turn.id", "t-1"),
        ("turnwright.turn.principal", "ada"),
        ("turnwright.turn.ended", "answered"),
        ("otel.kind", "internal"),
    ] {
        assert_eq!(turn.text(name), Some(value), "{name}");
    }
    assert_eq!(turn.number("turnwright.turn.iterations"), Some(2));
    assert_eq!(turn.number("gen_ai.usage.input_tokens"), Some(230));
    assert_eq!(turn.number("gen_ai.usage.output_tokens"), Some(25));
    assert_eq!(
        turn.number("gen_ai.usage.cache_read.input_tokens"),
        Some(60)
    );
    assert_eq!(
        turn.number("gen_ai.usage.cache_creation.input_tokens"),
        Some(30)
    );
    assert_eq!(turn.text("error.type"), None);
    assert_eq!(turn.text("otel.status_code"), None);

    let chats = seen.named("chat");
    for (at, iteration, read, wrote) in [(0, 1, 100, 20), (1, 2, 130, 5)] {
        let chat = &seen.spans[chats[at]];
        assert_eq!(chat.text("gen_ai.operation.name"), Some("chat"));
        assert_eq!(chat.text("otel.name"), Some("chat acme-large"));
        assert_eq!(chat.text("otel.kind"), Some("client"));
        assert_eq!(chat.text("gen_ai.provider.name"), Some("acme"));
        assert_eq!(chat.number("turnwright.iteration"), Some(iteration));
        assert_eq!(chat.number("gen_ai.usage.input_tokens"), Some(read));
        assert_eq!(chat.number("gen_ai.usage.output_tokens"), Some(wrote));
        assert_eq!(chat.text("error.type"), None);
    }

    let calls: Vec<_> = outcome.tool_calls().collect();
    for (at, tool, failed) in [(0, "echo", false), (1, "fail", true)] {
        let of_tool = |at: &usize| seen.spans[*at].text("gen_ai.tool.name") == Some(tool);
        let span = seen.named("execute_tool").into_iter().find(of_tool);
        let span = &seen.spans[span.unwrap()];
        assert_eq!(span.text("gen_ai.operation.name"), Some("execute_tool"));
        assert_eq!(
            span.text("otel.name"),
            Some(&*format!("execute_tool {tool}"))
        );
        assert_eq!(span.text("gen_ai.tool.type"), Some("function"));
        let description = format!("Does {tool}.");
        assert_eq!(span.text("gen_ai.tool.description"), Some(&*description));
        assert_eq!(span.text("gen_ai.tool.call.id"), Some(calls[at].id()));
        let code = failed.then_some("E_TOOL_DOWNSTREAM_ERROR");
        assert_eq!(span.text("error.type"), code);
        assert_eq!(span.text("otel.status_code"), failed.then_some("ERROR"));
    }
}

#[tokio::test]
async fn spans_and_metrics_are_those_of_the_model_that_was_asked() {
    let traced = Collector::start();
    let executor = Named::new(|ctx: DispatchContext| async move {
        for (model, host) in [("acme-large", "one.example"), ("tiny", "two.example")] {
            let mut request = ModelRequest::default();
            request.provider = Some(format!("provider of {model}").into());
            request.model = Some(model.into());
            request.server = Some((host.into(), 8080));
            ctx.reporter().request(request);
            ctx.reporter().usage(Usage::tokens(10, 2));
        }
        ctx.answer(r#""done""#).await?;
        Ok(())
    });
    let runner = turnwright_core::runner(executor).build().unwrap();
    let outcome = runner.run(TurnInput::new("hi").answer::<String>()).await;
    assert!(outcome.is_answered());
    let seen = traced.seen();
    let chat = seen.the("chat");
    for (name, value) in [
        ("otel.name", "chat tiny"),
        ("gen_ai.provider.name", "provider of tiny"),
        ("gen_ai.request.model", "tiny"),
        ("server.address", "two.example"),
        ("gen_ai.output.type", "json"),
    ] {
        assert_eq!(chat.text(name), Some(value), "{name}");
    }
    assert_eq!(chat.number("server.port"), Some(8080));
    let turn = seen.the("invoke_agent");
    assert_eq!(turn.text("gen_ai.provider.name"), Some("provider of tiny"));
    assert_eq!(turn.text("gen_ai.request.model"), Some("tiny"));
    let durations = seen.metrics.iter().filter(|metric| {
        metric
            .fields
            .contains_key("histogram.gen_ai.client.operation.duration")
    });
    let asked: Vec<_> = durations
        .map(|metric| metric.text("server.address"))
        .collect();
    assert_eq!(asked, [Some("one.example"), Some("two.example")]);
}

#[tokio::test]
async fn the_span_of_a_turn_names_the_model_of_its_last_request() {
    let traced = Collector::start();
    let executor = Named::new(|ctx: DispatchContext| async move {
        let mut request = ModelRequest::default();
        request.streams = Some(ctx.iteration() == 1);
        if ctx.iteration() == 1 {
            request.model = Some("another".into());
            ctx.reporter().request(request);
            ctx.call_tools([ctx.propose("echo", args("a"))]).await;
        } else {
            ctx.reporter().request(request);
            ctx.answer("done").await?;
        }
        Ok(())
    });
    let runner = turnwright_core::runner(executor).tool(echo()).build();
    assert!(runner.unwrap().run("hi").await.is_answered());
    let seen = traced.seen();
    let turn = seen.the("invoke_agent");
    assert_eq!(turn.text("gen_ai.request.model"), Some("acme-large"));
    let streams = |at: usize| {
        let fields = &seen.spans[seen.named("chat")[at]].fields;
        fields.contains_key("gen_ai.request.stream")
    };
    assert_eq!((streams(0), streams(1)), (true, false));
}

#[tokio::test]
async fn a_failed_executor_and_a_nack_are_recorded_in_the_chat_and_turn_spans() {
    for (refuses, ended) in [(false, "failed"), (true, "nacked")] {
        let code = "E_STORE_ERROR";
        let traced = Collector::start();
        let executor = move |ctx: DispatchContext| async move {
            let error = Error::new(ErrorCode::STORE_ERROR, "no");
            if refuses {
                Ok(ctx.nack(error)?)
            } else {
                Err(error.into())
            }
        };
        let runner = turnwright_core::runner(executor).build().unwrap();
        runner.run("hi").await;
        let seen = traced.seen();
        assert_eq!(seen.the("chat").text("error.type"), Some(code));
        let turn = seen.the("invoke_agent");
        assert_eq!(turn.text("error.type"), Some(code));
        assert_eq!(turn.text("turnwright.turn.ended"), Some(ended));
        assert_eq!(turn.text("otel.status_code"), Some("ERROR"));
        assert_eq!(turn.text("gen_ai.request.model"), None);
        assert!(seen.all_closed());
    }
}

/// A tool that signals when it is started and then waits forever.
fn stuck(reached: &Arc<Notify>) -> Tool {
    let reached = Arc::clone(reached);
    tool("stuck", move |_, _| {
        let reached = Arc::clone(&reached);
        async move {
            reached.notify_one();
            pending().await
        }
    })
}

/// Runs two calls that never end.
async fn calls_the_stuck(ctx: DispatchContext) -> Result<(), turnwright_core::BoxError> {
    let calls = ["a", "b"].map(|text| ctx.propose("stuck", args(text)));
    ctx.call_tools(calls).await;
    pending().await
}

#[tokio::test]
async fn a_cancelled_turn_closes_its_spans() {
    for dropped in [false, true] {
        let traced = Collector::start();
        let reached = Arc::new(Notify::new());
        let runner = turnwright_core::runner(calls_the_stuck).tool(stuck(&reached));
        let runner = runner.build().unwrap();
        let ended = Arc::new(Notify::new());
        let reported = Arc::clone(&ended);
        runner.observe(move |event| {
            if event.name() == "turnEnd" {
                reported.notify_one();
            }
        });
        let turn = runner.start("hi");
        reached.notified().await;
        if dropped {
            drop(turn.cancel_on_drop());
        } else {
            turn.cancel().unwrap();
            turn.await;
        }
        ended.notified().await;
        // The task of a turn that is not awaited ends right after its last event.
        while !traced.seen().all_closed() {
            tokio::task::yield_now().await;
        }
        let seen = traced.seen();
        let calls = seen.named("execute_tool");
        assert!(!calls.is_empty());
        for call in calls {
            let code = seen.spans[call].text("error.type");
            assert_eq!(code, Some("E_TOOL_CANCELLED"));
        }
        assert_eq!(seen.the("chat").text("error.type"), Some("E_TURN_ABORTED"));
        let turn = seen.the("invoke_agent");
        assert_eq!(turn.text("error.type"), Some("E_TURN_ABORTED"));
        assert_eq!(turn.text("turnwright.turn.ended"), Some("aborted"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_timeout_is_recorded_in_the_interrupted_chat_span() {
    let traced = Collector::start();
    let executor = |ctx: DispatchContext| async move {
        ctx.reporter().usage(Usage::tokens(7, 1));
        pending().await
    };
    let runner = turnwright_core::runner(executor)
        .budget(turnwright_core::Budget::new().time(Duration::from_secs(1)));
    runner.build().unwrap().run("hi").await;
    let seen = traced.seen();
    for name in ["chat", "invoke_agent"] {
        let span = seen.the(name);
        assert_eq!(span.text("error.type"), Some("E_TURN_LIMIT"), "{name}");
        assert_eq!(span.number("gen_ai.usage.input_tokens"), Some(7), "{name}");
    }
    assert!(seen.all_closed());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_times_out_or_is_dropped_ends_its_span() {
    let traced = Collector::start();
    let slow = Tool::dynamic("slow", schema())
        .description("Never ends.")
        .timeout(Duration::from_secs(1))
        .handler(|_: serde_json::Value, _: ToolContext| pending::<String>())
        .build()
        .unwrap();
    let ctx = DispatchContext::standalone();
    let timed_out = slow.call(&ctx, args("a")).await;
    assert_eq!(timed_out.unwrap_err().code(), ErrorCode::TOOL_TIMEOUT);
    let half_way = tokio::time::timeout(Duration::from_millis(5), slow.call(&ctx, args("b")));
    assert!(half_way.await.is_err());
    let seen = traced.seen();
    let codes: Vec<_> = seen
        .spans
        .iter()
        .map(|span| span.text("error.type").unwrap())
        .collect();
    assert_eq!(codes, ["E_TOOL_TIMEOUT", "E_TOOL_CANCELLED"]);
    assert!(seen.all_closed());
}

#[tokio::test]
async fn traces_of_a_handler_are_within_the_span_of_its_call() {
    let traced = Collector::start();
    let inside = tool("inside", |text, _| async move {
        tokio::task::yield_now().await;
        tracing::info!("from the handler");
        Ok(text)
    });
    let dispatch = tracing::dispatcher::get_default(Clone::clone);
    let blocking = Tool::dynamic("blocking", schema())
        .description("Runs in a thread.")
        .handler_blocking(move |args: serde_json::Value, _: ToolContext| {
            // Another thread, which has no subscriber unless there is a global one.
            tracing::dispatcher::with_default(&dispatch, || tracing::info!("from the thread"));
            text_arg(&args)
        })
        .build()
        .unwrap();
    let ctx = DispatchContext::standalone();
    for tool in [inside, blocking] {
        tool.call(&ctx, args("a")).await.unwrap();
    }
    let seen = traced.seen();
    let within = |message: &str| {
        let event = seen.events.iter().find(|event| event.message() == message);
        seen.spans[event.unwrap().span.unwrap()].text("gen_ai.tool.name")
    };
    assert_eq!(within("from the handler"), Some("inside"));
    assert_eq!(within("from the thread"), Some("blocking"));
    assert!(seen.all_closed());
}

#[tokio::test]
async fn a_turn_inside_a_tool_is_below_the_span_of_the_call() {
    let traced = Collector::start();
    let inner = turnwright_core::runner(|ctx: DispatchContext| async move {
        ctx.answer("inner").await?;
        Ok(())
    });
    let inner = inner.build().unwrap();
    let agent = tool("agent", move |text, _| {
        let inner = inner.clone();
        async move { Ok(inner.run(text).await.into_answer()?) }
    });
    let outer = turnwright_core::runner(|ctx: DispatchContext| async move {
        let call = ctx.call("agent", args("go")).await;
        ctx.answer(call.text().await.unwrap()).await?;
        Ok(())
    });
    let outcome = outer.tool(agent).build().unwrap().run("hi").await;
    assert_eq!(outcome.text, "inner");
    let deepest = "invoke_agent/chat/execute_tool/invoke_agent/chat";
    assert_eq!(traced.seen().paths().last().unwrap(), deepest);
}

#[tokio::test]
async fn spans_of_concurrent_turns_do_not_mix() {
    let traced = Collector::start();
    let runner = two_iterations();
    let run = |name: &'static str| {
        let request = tracing::info_span!("request", name);
        let input = TurnInput::new("hi").conversation(name);
        let runner = runner.clone();
        async move { runner.run(input).await }.instrument(request)
    };
    let (one, two) = tokio::join!(run("one"), run("two"));
    let seen = traced.seen();
    assert_eq!(seen.spans.len(), 12);
    for outcome in [one, two] {
        let name = &*outcome.conversation;
        let of_caller = |at: &usize| seen.spans[*at].text("name") == Some(name);
        let request = seen.named("request").into_iter().find(of_caller).unwrap();
        let below = |name: &str| -> Vec<usize> {
            let mut spans = seen.named(name);
            spans.retain(|at| seen.is_below(*at, request));
            spans
        };
        let [turn] = below("invoke_agent")[..] else {
            panic!("not one turn below its caller");
        };
        let conversation = seen.spans[turn].text("gen_ai.conversation.id");
        assert_eq!(conversation, Some(name));
        assert_eq!(below("chat").len(), 2);
        let mut traced: Vec<&str> = below("execute_tool")
            .into_iter()
            .map(|at| seen.spans[at].text("gen_ai.tool.call.id").unwrap())
            .collect();
        let mut stored: Vec<&str> = outcome.tool_calls().map(|call| call.id()).collect();
        traced.sort_unstable();
        stored.sort_unstable();
        assert_eq!(traced, stored);
    }
}

#[tokio::test]
async fn log_messages_are_events_in_the_current_span() {
    let traced = Collector::start();
    let speaks = tool("speaks", |text, ctx| async move {
        ctx.log(Matters::Warn, "mind the gap");
        Ok(text)
    });
    let executor = |ctx: DispatchContext| async move {
        ctx.log(Matters::Debug, "one");
        ctx.call("speaks", args("a")).await;
        ctx.log(Matters::Error, "two");
        ctx.answer("done").await?;
        Ok(())
    };
    let runner = turnwright_core::runner(executor)
        .tool(speaks)
        .build()
        .unwrap();
    runner.run("hi").await;
    let seen = traced.seen();
    let messages: Vec<_> = seen
        .events
        .iter()
        .map(|event| {
            let span = &seen.spans[event.span.unwrap()];
            (event.level, span.name, event.message())
        })
        .collect();
    assert_eq!(
        messages,
        [
            (Level::DEBUG, "chat", "one"),
            (Level::WARN, "execute_tool", "mind the gap"),
            (Level::ERROR, "chat", "two"),
        ]
    );
}

#[tokio::test]
async fn refused_calls_and_failures_are_events_with_their_codes() {
    let traced = Collector::start();
    let executor = |ctx: DispatchContext| async move {
        ctx.call("echo", "{}").await;
        Ok(())
    };
    let short = |_: turnwright_core::TurnContext, _| async { Ok(()) };
    let refused = turnwright_core::runner(executor)
        .tool(echo())
        .iteration_limit(1);
    refused.build().unwrap().run("hi").await;
    let failed = turnwright_core::runner(executor).turn_input(short);
    failed.build().unwrap().run("hi").await;
    let seen = traced.seen();
    let [refused, failed] = &seen.events[..] else {
        panic!("{:#?}", seen.events);
    };
    assert_eq!(refused.level, Level::INFO);
    assert_eq!(refused.text("error.type"), Some("E_INVALID_TOOL_ARGS"));
    assert_eq!(refused.text("gen_ai.tool.name"), Some("echo"));
    assert!(seen.named("execute_tool").is_empty());
    assert_eq!(failed.level, Level::ERROR);
    assert_eq!(
        failed.text("error.type"),
        Some("E_PIPELINE_SHORT_CIRCUITED")
    );
    assert_eq!(failed.text("turnwright.pipeline"), Some("turn-input"));
    assert_eq!(
        failed.fields["turnwright.error.fatal"],
        Recorded::Flag(false)
    );
    let span = &seen.spans[failed.span.unwrap()];
    assert_eq!(span.name, "invoke_agent");
}

/// Messages that record when they are formatted.
struct Wanted(Arc<AtomicBool>);

impl From<Wanted> for String {
    fn from(wanted: Wanted) -> String {
        wanted.0.store(true, Ordering::Relaxed);
        String::new()
    }
}

struct Deaf;

impl<S: tracing::Subscriber> Layer<S> for Deaf {
    fn enabled(&self, _: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        false
    }
}

#[test]
fn log_messages_without_a_receiver_are_not_formatted() {
    let wanted = Arc::new(AtomicBool::new(false));
    let ctx = DispatchContext::standalone();
    let deaf = tracing_subscriber::registry().with(Deaf);
    tracing::subscriber::with_default(deaf, || {
        ctx.log(Matters::Error, Wanted(Arc::clone(&wanted)));
    });
    assert!(!wanted.load(Ordering::Relaxed));
    let _traced = Collector::start();
    ctx.log(Matters::Error, Wanted(Arc::clone(&wanted)));
    assert!(wanted.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_closed_gate_is_an_event_with_who_answered_and_its_note_is_content() {
    for content in [false, true] {
        let traced = Collector::start();
        let executor = Named::new(|ctx: DispatchContext| async move {
            ctx.call("echo", args("hello")).await;
            ctx.answer("done").await?;
            Ok(())
        });
        let runner = turnwright_core::runner(executor)
            .tool(echo())
            .policy(always("a test"))
            .trace_content(content);
        let turn = runner.build().unwrap().start("hi");
        let mut gates = turn.gates();
        let gate = gates.next().await.unwrap();
        let answer = GateAnswer::approve().by("ada").note("as agreed");
        assert!(gates.answer(&gate.id, answer).unwrap());
        assert!(turn.await.is_answered());
        let seen = traced.seen();
        let mut events = seen.events.iter();
        let text = |text: &str| Some(Recorded::Text(text.to_owned()));
        let closed = events
            .find(|event| event.fields.contains_key("turnwright.gate.closed"))
            .unwrap();
        let field = |name: &str| closed.fields.get(name).cloned();
        assert_eq!(field("turnwright.gate.id"), text(&gate.id));
        assert_eq!(field("turnwright.gate.closed"), text("resolved"));
        assert_eq!(field("turnwright.gate.by"), text("ada"));
        assert_eq!(
            field("turnwright.gate.note"),
            text("as agreed").filter(|_| content)
        );
        let chat = seen.named("chat")[0];
        assert!(closed.span == Some(chat) || seen.is_below(closed.span.unwrap(), chat));
    }
}

#[tokio::test]
async fn a_suspended_turn_and_a_message_meanwhile_are_no_errors() {
    let traced = Collector::start();
    let executor = Named::new(|ctx: DispatchContext| async move {
        ctx.call("echo", args("hello")).await;
        Ok(())
    });
    let runner = turnwright_core::runner(executor)
        .tool(echo())
        .policy(always("a test"))
        .suspend_at_gates();
    let runner = runner.build().unwrap();
    let input = || TurnInput::new("hi").conversation("c");
    assert!(runner.run(input()).await.is_suspended());
    let errors = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&errors);
    let observed = input().observer(move |event| {
        counted.fetch_add(usize::from(event.name() == "error"), Ordering::Relaxed);
    });
    let error = runner.run(observed).await.into_answer().unwrap_err();
    assert_eq!(error.code(), ErrorCode::TURN_WAITING);
    assert_eq!(errors.load(Ordering::Relaxed), 0);
    let seen = traced.seen();
    let worst = seen.events.iter().map(|event| event.level).min();
    assert_eq!(worst, Some(Level::INFO));
    let turns = seen
        .named("invoke_agent")
        .into_iter()
        .map(|at| &seen.spans[at]);
    let ended = turns.map(|turn| {
        assert_eq!(turn.text("otel.status_code"), None);
        turn.text("turnwright.turn.ended").unwrap()
    });
    assert_eq!(ended.collect::<Vec<_>>(), ["suspended", "failed"]);
}
