//! The same agent for every protocol. Each scene is a turn or two of one conversation.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use turnwright_core::gate::GateAnswer;
use turnwright_core::runner::{AnswerFormat, TurnRunnerBuilder};
use turnwright_core::schema::Schema;
use turnwright_core::tool::approval::{ApprovalRequest, always};
use turnwright_core::{
    Effects, EventKind, Storage, Tool, ToolContext, TurnInput, TurnRunner, TurnStatus,
};

use super::exchange::{Exchange, answered, say, texts};
use super::serialised::serialised;
use crate::conformance::{Broken, Outcome, ensure, same};
use turnwright_testkit::server::fault::{Fault, FaultPosition};
use turnwright_testkit::server::model::{self, Call, Reply};

/// The line of the report that the agent looks for.
const LINE: &str = "node-1187: disk full";

/// An agent with its storage. Its tools record what ran.
struct Agent<'a> {
    exchange: &'a Exchange<'a>,
    storage: Storage,
    ran: Arc<Mutex<Vec<String>>>,
}

impl<'a> Agent<'a> {
    fn new(exchange: &'a Exchange<'a>) -> Self {
        Agent {
            exchange,
            storage: serialised(),
            ran: Arc::default(),
        }
    }

    /// Returns a runner with a new model and new tools, like another process.
    fn builder(&self) -> Result<TurnRunnerBuilder, Broken> {
        let runner = self.exchange.runner()?.storage(self.storage.clone());
        let tools = [
            self.look_up(),
            self.restart("restart"),
            self.restart("wipe"),
        ];
        Ok(runner.tools(tools).tool(self.report()))
    }

    /// Returns a runner whose approver allows `restart` alone.
    fn attended(&self) -> Result<TurnRunner, Broken> {
        let approver = |request: ApprovalRequest| async move {
            match request.tool.name() {
                "restart" => GateAnswer::approve(),
                _ => GateAnswer::deny("not on a Friday"),
            }
        };
        Ok(self.builder()?.approver(approver).build()?)
    }

    fn tool(
        &self,
        name: &'static str,
        result: impl Fn(&ToolContext) -> String + Send + Sync + 'static,
    ) -> turnwright_core::ToolBuilder<Value> {
        let ran = Arc::clone(&self.ran);
        let schema = json!({ "type": "object", "properties": { "node": { "type": "string" } } });
        Tool::dynamic(name, schema)
            .description(format!("Runs `{name}` on a node."))
            .handler(move |args: Value, ctx: ToolContext| {
                let node = args.get("node").and_then(Value::as_str);
                let node = node.unwrap_or_default();
                ran.lock()
                    .push(format!("{name} {node}").trim_end().to_owned());
                let result = result(&ctx);
                async move { result }
            })
    }

    fn look_up(&self) -> Result<Tool, turnwright_core::Error> {
        let tool = self.tool("look_up", |_| "It is node-1187.".to_owned());
        tool.effects(Effects::ReadOnly).build()
    }

    fn restart(&self, name: &'static str) -> Result<Tool, turnwright_core::Error> {
        let tool = self.tool(name, |_| "done".to_owned());
        tool.approval(always("it changes a node")).build()
    }

    /// Returns a tool whose result is too large for a prompt. The model then searches the result.
    fn report(&self) -> Result<Tool, turnwright_core::Error> {
        let script = Arc::clone(self.exchange.script());
        let tool = self.tool("report", move |ctx| {
            let search = json!({ "callId": ctx.id(), "pattern": "disk full" });
            script.reply(Reply::default().with_call(Call::new("artifact_grep", search)));
            script.reply(model::text("It is node-1187.", 3));
            let line = |number: u32| match number {
                1_187 => format!("{LINE}\n"),
                _ => format!("node-{number}: ok\n"),
            };
            (0..2_000).map(line).collect()
        });
        tool.effects(Effects::ReadOnly).build()
    }

    /// Checks what ran since the last time.
    fn ran(&self, expected: &[&str]) -> Outcome {
        let ran = std::mem::take(&mut *self.ran.lock());
        same("the calls that ran", ran, expected)
    }

    /// Checks that the last request has this text.
    fn last_has(&self, part: &str) -> Outcome {
        let last = self.exchange.server().requests().len().saturating_sub(1);
        let body = self.exchange.body(last)?;
        let found = texts(&body).iter().any(|text| text.contains(part));
        ensure(found, || {
            format!("the last request does not contain {part:?}: {body}")
        })
    }

    async fn approvals(&self) -> Outcome {
        self.exchange.replies([
            with_call("restart", "node-7").with_call(call("wipe", "node-8")),
            model::text("One of them.", 2),
        ]);
        let outcome = say(&self.attended()?, "Restart 7 and wipe 8.").await;
        answered(&outcome, "One of them.")?;
        self.ran(&["restart node-7"])?;
        self.last_has("not on a Friday")
    }

    async fn artifacts(&self) -> Outcome {
        self.exchange.replies([with_call("report", "")]);
        let outcome = say(&self.attended()?, "Which node is broken?").await;
        answered(&outcome, "It is node-1187.")?;
        self.ran(&["report"])?;
        self.last_has(&format!("1187:{LINE}"))?;
        // The model got the line, and never the complete report.
        let requests = self.exchange.server().requests().len();
        for number in 0..requests {
            let body = self.exchange.body(number)?;
            let all = texts(&body).iter().any(|text| text.contains("node-1999"));
            ensure(!all, || format!("request {number} has the complete report"))?;
        }
        Ok(())
    }

    async fn typed(&self) -> Outcome {
        self.exchange.replies([
            with_call("look_up", "Bern"),
            model::text(r#"{"name": "Bern", "districts": 6}"#, 3),
        ]);
        let runner = self.attended()?;
        let input = TurnInput::new("Describe Bern.").conversation("c");
        let typed = runner.run(input.answer_format(city_format()?)).await;
        let expected = json!({ "name": "Bern", "districts": 6 });
        same("the answer", typed.answer::<Value>()?, expected)?;
        self.ran(&["look_up Bern"])
    }

    async fn suspended(&self) -> Outcome {
        self.exchange.replies([
            with_call("restart", "node-9").with_reasoning("It hangs."),
            model::text("Restarted.", 2),
        ]);
        let runner = self.builder()?.suspend_at_gates().build()?;
        let outcome = say(&runner, "Restart 9.").await;
        let [gate] = outcome.open_gates() else {
            let status = outcome.status;
            return Err(Broken(format!("the turn is not suspended: {status}")));
        };
        self.ran(&[])?;
        drop(runner);
        let runner = self.builder()?.build()?;
        let turn = runner.answer_gate("c", &gate.id, GateAnswer::approve());
        answered(&turn.await?.await, "Restarted.")?;
        self.ran(&["restart node-9"])
    }

    async fn resumed(&self) -> Outcome {
        let exchange = self.exchange;
        exchange.replies([with_call("restart", "node-5").with_reasoning("It hangs.")]);
        // The server breaks down after the call.
        for _ in 0..exchange.setup().attempts {
            let at = FaultPosition::InText;
            exchange.answer(Fault::Reset.answer(exchange.protocol, at));
        }
        let outcome = say(&self.attended()?, "Restart 5.").await;
        let failed = matches!(outcome.status, TurnStatus::Failed(_));
        ensure(failed, || format!("the turn ended as {}", outcome.status))?;
        exchange.replies([model::text("Restarted.", 2)]);
        let resume = TurnInput::resume(&outcome.turn_id).conversation("c");
        let turn = self.attended()?.resume(resume).await?;
        answered(&turn.await, "Restarted.")?;
        self.ran(&["restart node-5"])
    }

    async fn cancelled(&self) -> Outcome {
        let exchange = self.exchange;
        exchange.replies([with_call("look_up", "node-3")]);
        exchange.answer(Fault::Silence.answer(exchange.protocol, FaultPosition::InText));
        let runner = self.attended()?;
        let mut turn = runner.start(TurnInput::new("Look up 3.").conversation("c"));
        while let Some(event) = turn.next().await {
            if matches!(event.kind, EventKind::MessageDelta(_)) {
                turn.cancel()?;
            }
        }
        let outcome = turn.outcome().await;
        let aborted = matches!(outcome.status, TurnStatus::Aborted { .. });
        ensure(aborted, || format!("the turn ended as {}", outcome.status))?;
        self.ran(&["look_up node-3"])?;
        exchange.replies([model::text("Here I am.", 2)]);
        answered(&say(&runner, "Are you there?").await, "Here I am.")
    }
}

fn call(name: &str, node: &str) -> Call {
    match node {
        "" => Call::new(name, json!({})),
        _ => Call::new(name, json!({ "node": node })),
    }
}

fn with_call(name: &str, node: &str) -> Reply {
    Reply::default().with_call(call(name, node))
}

/// Returns the format of a typed answer.
pub(super) fn city_format() -> Result<AnswerFormat, Broken> {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "districts": { "type": "integer", "minimum": 1, "maximum": 40 },
        },
        "required": ["name", "districts"],
        "additionalProperties": false,
    });
    let schema = Schema::from_document(schema).map_err(turnwright_core::Error::from)?;
    Ok(AnswerFormat::new("City", schema))
}

macro_rules! scenes {
    ($($scene:ident)+) => {
        $(pub(super) async fn $scene(exchange: &Exchange<'_>) -> Outcome {
            Agent::new(exchange).$scene().await
        })+

        /// Plays all scenes in one conversation.
        pub(super) async fn everything(exchange: &Exchange<'_>) -> Outcome {
            let agent = Agent::new(exchange);
            $(agent.$scene().await.map_err(|Broken(observed)| {
                Broken(format!("{}: {observed}", stringify!($scene)))
            })?;)+
            Ok(())
        }
    };
}

scenes! { approvals artifacts typed suspended resumed cancelled }
