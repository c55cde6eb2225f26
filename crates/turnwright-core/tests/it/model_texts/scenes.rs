//! Situations in which a model reads a text of the framework.

use std::time::Duration;

use serde_json::{Value, json};
use turnwright_core::artifact::{ArtifactKind, Inline, SpooledArtifact};
use turnwright_core::artifact_tools::ArtifactToolPolicy;
use turnwright_core::media::{MediaBuilder, MediaKind};
use turnwright_core::middleware::repeated_call_guard;
use turnwright_core::record::{Author, Memory, Record, StandingInstruction, ToolCall, ToolResults};
use turnwright_core::render::{Part, Renderer};
use turnwright_core::runner::TurnRunnerBuilder;
use turnwright_core::spool::MemoryReader;
use turnwright_core::tool::approval::{ApprovalRequest, GateAnswer, PendingCall, Review, always};
use turnwright_core::transcript::{Entry, SystemPrompt, Transcript, Writer};
use turnwright_core::trust::{ConversationSecret, NAMES_NOTICE, NOTICE, TrustTier};
use turnwright_core::*;

use super::Texts;

/// A tool with one integer argument.
fn number(name: &str) -> ToolBuilder<Value> {
    let schema = json!({
        "type": "object",
        "properties": { "n": { "type": "integer", "minimum": 1 } },
        "required": ["n"],
    });
    Tool::dynamic(name, schema).description("Takes a number.")
}

fn done(tool: ToolBuilder<Value>) -> Tool {
    let tool = tool.handler(|_: Value, _: ToolContext| async { "done" });
    tool.build().unwrap()
}

pub(super) fn renderer() -> Renderer {
    Renderer::new(ConversationSecret::from_bytes([7; 32]))
}

/// The text of parts, with `ID` for the id and `CODE` for the codes of envelopes.
pub(super) fn shown(parts: &[Part], id: &str) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        _ => "(media)".to_owned(),
    });
    let mut text = texts.collect::<Vec<_>>().join("\n").replace(id, "ID");
    for tag in ["tw-trusted-", "tw-untrusted-", "tw-agent-", "tw-sender-"] {
        let mut pieces = text.split(tag);
        let first = pieces.next().unwrap_or_default().to_owned();
        text = pieces.fold(first, |text, piece| {
            format!("{text}{tag}CODE{}", &piece[20..])
        });
    }
    text
}

/// The faults of invalid arguments, without the first line, which belongs to the schema.
fn faults(text: &str) -> String {
    text.lines().skip(1).collect::<Vec<_>>().join("\n")
}

/// What the model reads after one call of the tool.
async fn after(ctx: &DispatchContext, tool: &str, args: &str) -> String {
    let call = ctx.call(tool, args).await;
    shown(&renderer().tool_call(&call).await, call.id())
}

async fn after_one(tool: Tool) -> String {
    let tools = ToolRegistry::new([tool]).unwrap();
    let ctx = DispatchContext::builder().tools(tools).build();
    after(&ctx, "count", r#"{"n": 1}"#).await
}

fn with_approver(approval: GateAnswer) -> DispatchContext {
    let tool = done(number("count").approval(always("it costs money")));
    DispatchContext::builder()
        .tools(ToolRegistry::new([tool]).unwrap())
        .approver(move |_: ApprovalRequest| {
            let approval = approval.clone();
            async move { approval }
        })
        .build()
}

pub(super) async fn all() -> Texts {
    let mut texts = prompts().await;
    texts.extend(calls().await);
    texts.extend(turns().await);
    texts.extend(queries().await);
    texts
}

async fn prompts() -> Texts {
    let instruction = StandingInstruction::new("Answer in English.")
        .build()
        .unwrap();
    let memory = Memory::new("The user lives in Oslo.").build().unwrap();
    let ctx = DispatchContext::standalone();
    ctx.records().add(instruction);
    ctx.records().add(memory);
    let mut transcript = Transcript::default();
    let system = || SystemPrompt::new("You are a clerk.").explain_envelopes(false);
    let timeline = ctx.records().timeline();
    transcript
        .update(&timeline, system, &mut Plain)
        .await
        .unwrap();
    let start: Vec<&str> = transcript.messages().map(String::as_str).collect();

    let media = |tier: fn(MediaKind, &str, &str, MemoryReader) -> MediaBuilder| {
        tier(
            MediaKind::Image,
            "image/png",
            "cat.png",
            MemoryReader::new("x"),
        )
        .id("ID")
        .derived("caption", "A cat.", TrustTier::ThirdPartyPublic)
        .build()
        .unwrap()
    };
    let attached =
        media(|kind, mime, name, reader| Media::user_attachment(kind, mime, name, reader));
    let native = renderer().accepted_media(|_| true);
    let named = Message::user("Shall we deploy?").id("ID").name("Ada");
    let named = named.build().unwrap();
    vec![
        ("The notice about envelopes", NOTICE.to_owned()),
        ("The notice about named users", NAMES_NOTICE.to_owned()),
        (
            "A message of a named user",
            shown(&renderer().naming_users(|_| true).message(&named), "ID"),
        ),
        ("The start of a prompt", start.join("\n")),
        ("An image of a user", shown(&native.media(&attached), "ID")),
        (
            "An image that the model cannot see",
            shown(&renderer().media(&attached), "ID"),
        ),
    ]
}

/// Writes only the constant part.
struct Plain;

impl Writer for Plain {
    type Wire = String;

    fn system_prompt(&mut self, system: &SystemPrompt) -> Result<Vec<String>, Error> {
        Ok(vec![system.text()])
    }

    async fn entry(&mut self, _: &Entry) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn reuse(&mut self, _: &[String]) {}
}

async fn calls() -> Texts {
    let failing = |error: fn() -> ToolError| {
        let tool = number("count")
            .handler(move |_: Value, _: ToolContext| async move { Err::<String, _>(error()) });
        tool.build().unwrap()
    };
    let hanging = |effects| {
        number("count")
            .effects(effects)
            .timeout(Duration::from_secs(5))
            .handler(|_: Value, _: ToolContext| std::future::pending::<String>())
            .build()
            .unwrap()
    };
    let returning = |text: &'static str, tool: ToolBuilder<Value>| {
        tool.handler(move |_: Value, _: ToolContext| async move { text.repeat(2) })
            .build()
            .unwrap()
    };
    let tools = || ToolRegistry::new([done(number("count")), done(number("sum"))]).unwrap();
    let ctx = DispatchContext::builder().tools(tools()).build();
    let cancelled = DispatchContext::builder().tools(tools()).build();
    cancelled.cancellation().cancel();
    let denied = |_: &PendingCall<'_>| Review::deny("for operators only");
    let reason = "too expensive".to_owned();
    let unfinished = ToolCall::builder("count", "{}").build().unwrap();
    vec![
        (
            "Unknown tool with a similar name",
            after(&ctx, "cuont", "{}").await,
        ),
        ("Unknown tool", after(&ctx, "weather", "{}").await),
        (
            "Unknown tool, no tools available",
            after(&DispatchContext::standalone(), "weather", "{}").await,
        ),
        (
            "Invalid arguments",
            faults(&after(&ctx, "count", r#"{"n": 0}"#).await),
        ),
        (
            "Denied by a policy",
            after_one(done(number("count").approval(denied))).await,
        ),
        (
            "Approval required, no approver",
            after_one(done(number("count").approval(always("it costs money")))).await,
        ),
        (
            "Denied by an approver",
            after(
                &with_approver(GateAnswer::deny(reason)),
                "count",
                r#"{"n": 1}"#,
            )
            .await,
        ),
        (
            "Changed by an approver to invalid arguments",
            after(
                &with_approver(GateAnswer::edit(json!({ "n": 0 }))),
                "count",
                r#"{"n": 1}"#,
            )
            .await,
        ),
        (
            "Cancelled before it ran",
            after(&cancelled, "count", r#"{"n": 1}"#).await,
        ),
        (
            "Timeout of a read-only tool",
            after_one(hanging(Effects::ReadOnly)).await,
        ),
        (
            "Timeout of a tool that writes",
            after_one(hanging(Effects::Writes)).await,
        ),
        (
            "Failure without a text for the model",
            after_one(failing(|| ToolError::internal("for operators only"))).await,
        ),
        (
            "Failure with a text for the model",
            after_one(failing(|| {
                ToolError::not_found("no row 7").for_model("There is no user 7.")
            }))
            .await,
        ),
        (
            "Not found, without a text for the model",
            after_one(failing(|| ToolError::not_found("no row 7"))).await,
        ),
        (
            "Withheld by a result hook",
            after_one(returning(
                "x",
                number("count")
                    .on_result(|_: ToolContext, _: ToolOutput| async { Err("secret".into()) }),
            ))
            .await,
        ),
        (
            "A large result",
            after_one(returning(
                "a line of text\n",
                number("count").inline(Inline::Never),
            ))
            .await,
        ),
        (
            "A truncated result",
            after_one(returning("abc", number("count").max_result_bytes(4))).await,
        ),
        (
            "No result yet",
            shown(&renderer().tool_call(&unfinished).await, unfinished.id()),
        ),
    ]
}

/// The messages of the framework in a turn.
async fn reminders(runner: TurnRunnerBuilder) -> String {
    framework_texts(&runner.build().unwrap().run("?").await)
}

fn framework_texts(outcome: &TurnOutcome) -> String {
    let messages = outcome.records.iter().filter_map(|record| match record {
        Record::Message(message) if message.author() == &Author::Framework => {
            Some(message.text().to_owned())
        }
        _ => None,
    });
    messages.collect::<Vec<_>>().join("\n")
}

async fn turns() -> Texts {
    let repeating = |ctx: DispatchContext| async move {
        ctx.call("count", r#"{"n": 1}"#).await;
        Ok(())
    };
    let answering = |ctx: DispatchContext| async move {
        ctx.answer(r#"{"days": 99}"#).await?;
        Ok(())
    };
    let strict = |ctx: DispatchContext, next: Next<DispatchContext>| async move {
        if let Some(answer) = ctx.proposed_answer() {
            answer.reject("it has no source")?;
        }
        next.run().await
    };
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Forecast {
        #[schemars(range(max = 14))]
        days: u32,
    }
    let typed = runner(answering)
        .build()
        .unwrap()
        .run(TurnInput::new("?").answer::<Forecast>())
        .await;
    let mismatch = framework_texts(&typed);
    // The same text after each attempt.
    let mismatch = mismatch.lines().take(3).collect::<Vec<_>>().join("\n");
    vec![
        (
            "A repeated call",
            reminders(
                runner(repeating)
                    .tool(done(number("count")))
                    .dispatch_input(repeated_call_guard(2)),
            )
            .await,
        ),
        (
            "The last iteration",
            reminders(
                runner(repeating)
                    .tool(done(number("count")))
                    .iteration_limit(2)
                    .announce_last_iteration(true),
            )
            .await,
        ),
        (
            "A rejected answer",
            reminders(
                runner(answering)
                    .auto_ack(false)
                    .answer_retries(0)
                    .dispatch_output(strict),
            )
            .await,
        ),
        ("An answer that does not match its schema", mismatch),
    ]
}

fn with_artifact(content: &'static str, kind: ArtifactKind) -> DispatchContext {
    let ctx = DispatchContext::standalone();
    let artifact = SpooledArtifact::in_memory(content, kind);
    let call = ToolCall::builder("export", "{}").id("call-1");
    let call = call.results(ToolResults::Artifacts(vec![artifact]));
    ctx.records().add(call.build().unwrap());
    for tool in ArtifactToolPolicy::Stable
        .build_tools(ctx.turn())
        .unwrap()
        .all()
    {
        ctx.tools().register(tool).unwrap();
    }
    ctx
}

async fn queries() -> Texts {
    let log = with_artifact("one\ntwo\nthree\n", ArtifactKind::TEXT);
    let grep = async |args: Value| after(&log, "artifact_grep", &args.to_string()).await;
    vec![
        (
            "A search without matches",
            grep(json!({ "callId": "call-1", "pattern": "four" })).await,
        ),
        (
            "An invalid pattern",
            grep(json!({ "callId": "call-1", "pattern": "(" })).await,
        ),
        (
            "An unknown artifact",
            faults(&grep(json!({ "callId": "call-2", "pattern": "one" })).await),
        ),
        (
            "An artifact index that does not exist",
            grep(json!({ "callId": "call-1", "pattern": "one", "index": 3 })).await,
        ),
        (
            "The first lines",
            after(&log, "artifact_head", r#"{"callId": "call-1", "n": 1}"#).await,
        ),
    ]
}

/// The definitions of all artifact tools.
pub(super) fn artifact_tools() -> Texts {
    let mut texts = Texts::new();
    for (title, kind) in [
        ("Text", ArtifactKind::TEXT),
        ("JSON", ArtifactKind::JSON),
        ("Markdown", ArtifactKind::MARKDOWN),
    ] {
        let ctx = with_artifact("", kind);
        let own: Vec<&str> = kind.queries().iter().map(|query| query.name()).collect();
        let tools: Vec<String> = ctx
            .tools()
            .all()
            .iter()
            .filter(|tool| own.is_empty() || own.contains(&tool.name()))
            .map(definition)
            .collect();
        texts.push((title, tools.join("\n\n")));
    }
    texts
}

fn definition(tool: &Tool) -> String {
    let mut text = format!("{}\n{}", tool.name(), tool.description());
    let schema = tool.schema().document();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let description = property["description"].as_str().unwrap_or_default();
        text.push_str(&format!("\n- {name}: {description}"));
    }
    text
}
