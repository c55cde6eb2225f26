//! Compacted turns that are interrupted and resumed.

use tokio::sync::Notify;
use turnwright_core::gate::{GateAnswer, TurnGate};
use turnwright_core::middleware::{SummaryRequest, compact};
use turnwright_core::spool::Spool;
use turnwright_core::store::{Batch, Revision, StoreError};
use turnwright_core::store::{
    Changes, ConversationFilter, ConversationId, FoundConversation, FoundTurn, Loaded, Query,
    Store, TurnFilter,
};
use turnwright_core::tool::approval::always;

use super::*;

const TURN: &str = "turn-1";

/// The prompts that models were shown, over all processes.
type Prompts = Arc<Mutex<Vec<String>>>;

/// A model that knows only the records: twelve calls, then an answer.
fn model(prompts: &Prompts) -> impl Executor + 'static {
    let prompts = Arc::clone(prompts);
    move |ctx: DispatchContext| {
        let prompts = Arc::clone(&prompts);
        async move {
            let script = match ctx.records().own_tool_calls().len() {
                12 => ScriptedModel::new([Step::say("All is well.")]),
                _ => ScriptedModel::new([Step::call_tool("look", "{}")]),
            };
            // Also if the process dies meanwhile.
            let noting = Noting(script, prompts);
            noting.0.execute(ctx).await
        }
    }
}

struct Noting(ScriptedModel, Prompts);

impl Drop for Noting {
    fn drop(&mut self) {
        let shown = self.0.requests();
        self.1
            .lock()
            .extend(shown.iter().map(|shown| prompt(shown)));
    }
}

fn build(store: impl Store + 'static, prompts: &Prompts) -> TurnRunner {
    let count = |request: SummaryRequest| async move {
        Ok(format!("A summary of {} parts.", request.parts.len()))
    };
    runner(model(prompts))
        .storage(storage_of(store))
        .tool(
            tool("look", long("seen", 200))
                .effects(Effects::ReadOnly)
                .build(),
        )
        .dispatch_input(compact(2_600).summarise_by(count))
        .build()
        .unwrap()
}

/// A store whose n-th write is the last of its process.
struct Deadly {
    store: Arc<MemoryStore>,
    writes: std::sync::atomic::AtomicUsize,
    at: usize,
    applies: bool,
    died: Arc<Notify>,
}

#[async_trait::async_trait]
impl Store for Deadly {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        let write = self
            .writes
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if write != self.at {
            return self.store.apply(conversation_id, batch).await;
        }
        if self.applies {
            self.store.apply(conversation_id, batch).await?;
        }
        self.died.notify_one();
        std::future::pending().await
    }

    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        self.store.load(conversation, query).await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.store.conversations(filter).await
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        self.store.find_turns(filter).await
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.store.changed(conversation, since).await
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.store.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.store.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.store.spool()
    }
}

/// Runs or resumes the turn in a process that dies at a write. Returns whether it died.
fn live(
    store: &Arc<MemoryStore>,
    at: usize,
    applies: bool,
    resumes: bool,
    prompts: &Prompts,
) -> bool {
    let died = Arc::new(Notify::new());
    let deadly = Deadly {
        store: Arc::clone(store),
        writes: std::sync::atomic::AtomicUsize::new(0),
        at,
        applies,
        died: Arc::clone(&died),
    };
    let process = tokio::runtime::Builder::new_current_thread();
    let process = { process }.enable_all().build().unwrap();
    process.block_on(async {
        let runner = build(deadly, prompts);
        let turn = if resumes {
            runner.resume(TURN).await.unwrap()
        } else {
            runner.start(say(long("go", 300)).turn_id(TURN))
        };
        tokio::select! {
            outcome = turn => {
                assert!(outcome.is_answered(), "{:?}", outcome.status);
                false
            }
            () = died.notified() => true,
        }
    })
}

/// An earlier conversation, so that the compaction also covers history.
fn begin() -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::default());
    let process = tokio::runtime::Builder::new_current_thread();
    let process = { process }.enable_all().build().unwrap();
    process.block_on(async {
        let model = ScriptedModel::new([Step::say(long("earlier", 200)), Step::say("earlier too")]);
        let runner = on(&store, &model).build().unwrap();
        runner.run(say("first")).await;
        runner.run(say("second")).await;
    });
    store
}

#[test]
fn a_turn_that_died_at_any_write_has_the_same_prompts_after_a_resume() {
    let expected = Prompts::default();
    let whole = begin();
    assert!(!live(&whole, usize::MAX, true, false, &expected));
    let expected = expected.lock().clone();
    let compacted = expected
        .windows(2)
        .filter(|pair| !pair[1].starts_with(&pair[0]));
    assert!(
        compacted.count() >= 2,
        "compacted before and within the turn"
    );
    let mut places = 0;
    for applies in [false, true] {
        // The first write starts the turn.
        for at in 1.. {
            let (store, prompts) = (begin(), Prompts::default());
            if !live(&store, at, applies, false, &prompts) {
                break;
            }
            places += 1;
            assert!(!live(&store, usize::MAX, true, true, &prompts));
            // A process that died during an iteration repeats its request.
            let mut prompts = prompts.lock().clone();
            prompts.dedup();
            for (prompt, expected) in prompts.iter().zip(&expected) {
                let (prompt, expected) = (masked(prompt), masked(expected));
                assert_eq!(prompt, expected, "died at {at}, applied: {applies}");
            }
            assert_eq!(prompts.len(), expected.len());
        }
    }
    assert!(places > 40, "{places}");
}

/// Without the ids and codes, which differ in each conversation and turn.
pub(super) fn masked(prompt: &str) -> String {
    let lines = prompt
        .lines()
        .map(|line| match line.find("<tw-").or(line.find("</tw-")) {
            Some(at) => line[..at].to_owned() + "TAG",
            None => match line.find("callId") {
                Some(at) => line[..at].to_owned() + "CALL",
                None => line.to_owned(),
            },
        });
    lines.collect::<Vec<_>>().join("\n")
}

/// The call that waits is open when the turn is resumed with a smaller window.
#[tokio::test]
async fn an_open_call_is_settled_before_the_prompt_is_compacted() {
    let store = Arc::new(MemoryStore::default());
    let build = |model: &ScriptedModel, window: u64| {
        on(&store, model)
            .tool(tool("look", "seen").build())
            .tool(tool("pay", "paid").approval(always("it costs")).build())
            .suspend_at_gates()
            .dispatch_input(compact(window))
            .build()
            .unwrap()
    };
    let mut steps: Vec<Step> = (0..4)
        .map(|step| Step::say(long(&format!("step-{step}"), 350)).call("look", "{}"))
        .collect();
    steps.push(
        Step::say(long("Let me pay.", 300))
            .call("look", "{}")
            .call("pay", "{}"),
    );
    let first = build(&ScriptedModel::new(steps), 100_000);
    let suspended = first.run(say("go").turn_id(TURN)).await;
    assert!(suspended.is_suspended(), "{:?}", suspended.status);
    assert!(summaries(&store).await.is_empty());

    let model = ScriptedModel::new([Step::say("Done.")]);
    let gate = &suspended.open_gates()[0].id;
    let second = build(&model, 1_500);
    let turn = second.answer_gate(CHAT, gate, GateAnswer::approve());
    let outcome = turn.await.unwrap().await;
    assert_eq!(outcome.text, "Done.");
    let made = summaries(&store).await;
    assert!(!made.is_empty(), "it was compacted after the call");
    let shown = model.request(0);
    let calls: Vec<&str> = shown.tool_calls().iter().map(|call| call.tool()).collect();
    assert_eq!(calls, ["look", "pay"], "the response stays together");
    assert!(shown.tool_calls()[1].rendered().contains("paid"));
    assert_eq!(shown.texts(), ["go", &long("Let me pay.", 300)]);
}

/// Middleware that waits at a gate after the compaction of the same step.
#[tokio::test]
async fn a_gate_after_a_compaction_is_reached_again_without_compacting_again() {
    let store = Arc::new(MemoryStore::default());
    let build = |model: &ScriptedModel| {
        on(&store, model)
            .suspend_at_gates()
            .dispatch_input(compact(2_000).summarise_with(summarising("Short.")))
            .dispatch_input(
                |ctx: DispatchContext, next: Next<DispatchContext>| async move {
                    if ctx.input().is_some_and(|input| input.text() == "ask") {
                        ctx.wait_for(TurnGate::new("sure").build()?).await?;
                    }
                    next.run().await
                },
            )
            .build()
            .unwrap()
    };
    let model =
        ScriptedModel::new((0..6).map(|turn| Step::say(long(&format!("answer-{turn}"), 300))));
    let runner = build(&model);
    for turn in 0..5 {
        runner.run(say(format!("question {turn}"))).await;
    }
    let suspended = runner.run(say("ask").turn_id(TURN)).await;
    assert!(suspended.is_suspended(), "{:?}", suspended.status);
    let made = summaries(&store).await;
    assert_eq!(made.len(), 1);
    let gate = &suspended.open_gates()[0].id;
    let turn = build(&model).answer_gate(CHAT, gate, json!({})).await;
    assert!(turn.unwrap().await.is_answered());
    assert_eq!(summaries(&store).await.len(), 1, "not compacted again");
    let shown = model.request(5);
    assert!(shown.retrievables()[0].rendered().contains("Short."));
    assert_eq!(shown.texts().last(), Some(&"ask"));
}
