//! Prompts only grow at the end, so that the provider's prompt cache stays valid.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use turnwright_core::ToolCall;

use serde_json::{Value, json};
use turnwright_core::artifact::Inline;
use turnwright_core::media::MediaKind;
use turnwright_core::record::{Memory, Retrievable, StandingInstruction};
use turnwright_core::spool::MemoryReader;
use turnwright_core::store::ConversationId;
use turnwright_core::store::{MemoryStore, StoreExt as _};
use turnwright_core::trust::TrustTier;
use turnwright_core::{
    BoxError, DispatchContext, Media, Next, Tool, ToolBuilder, ToolContext, TurnInput,
};
use turnwright_testkit::store::storage_of;

use crate::script::{Answer, Script, calls, says};

fn tool(name: &str) -> ToolBuilder<Value> {
    Tool::dynamic(
        name,
        json!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
    )
    .description("A tool.")
}

fn log(inline: Inline) -> Tool {
    tool("log")
        .inline(inline)
        .handler(|args: Value, _: ToolContext| async move {
            (0..900)
                .map(|n| format!("{n} of {}\n", args["n"]))
                .collect::<String>()
        })
        .build()
        .unwrap()
}

fn word() -> Tool {
    tool("word")
        .handler(|args: Value, _: ToolContext| async move { format!("word {}", args["n"]) })
        .build()
        .unwrap()
}

fn picture() -> Tool {
    tool("picture")
        .handler(|_: Value, _: ToolContext| async {
            Media::tool_generated(
                MediaKind::Image,
                "image/png",
                "p.png",
                MemoryReader::new(vec![137, 80, 78, 71]),
            )
            .build()
            .unwrap()
        })
        .build()
        .unwrap()
}

/// Returns the serialised tools and messages of a request, without its end.
fn prompt(body: &str) -> &str {
    let begins = body.find("\"tools\":[").expect("there are tools");
    body[begins..]
        .strip_suffix("]}")
        .expect("messages come last")
}

fn begins_with(later: &str, earlier: &str, which: &str) {
    let (earlier, later) = (prompt(earlier), prompt(later));
    let shared = earlier
        .bytes()
        .zip(later.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    assert!(
        later.starts_with(earlier),
        "{which} differs from the previous one at byte {shared} of {}:\n…{}\n…{}",
        earlier.len(),
        earlier
            .get(shared.saturating_sub(80)..(shared + 80).min(earlier.len()))
            .unwrap_or(""),
        later
            .get(shared.saturating_sub(80)..(shared + 80).min(later.len()))
            .unwrap_or(""),
    );
}

/// Ten iterations: two calls each, three of them artifacts, one an image; then the answer.
fn ten_iterations() -> Vec<Answer> {
    let mut answers: Vec<Answer> = (1..10)
        .map(|n| {
            let first = match n {
                1 | 3 | 7 => "log",
                5 => "picture",
                _ => "word",
            };
            calls([
                (first, json!({ "n": n })),
                ("word", json!({ "n": n + 100 })),
            ])
        })
        .collect();
    answers.push(says("That is all."));
    answers
}

async fn store_with_standing() -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::default());
    let conversation_id = ConversationId::new("c");
    store
        .put(
            &conversation_id,
            StandingInstruction::new("Be brief.").build().unwrap(),
        )
        .await
        .unwrap();
    store
        .put(
            &conversation_id,
            Memory::new("The user likes tea.").build().unwrap(),
        )
        .await
        .unwrap();
    store
        .put(
            &conversation_id,
            Memory::new("The user\nlives in Bern.").build().unwrap(),
        )
        .await
        .unwrap();
    store
}

/// Adds a retrievable record in iteration 4.
async fn looks_up(ctx: DispatchContext, next: Next<DispatchContext>) -> Result<(), BoxError> {
    if ctx.iteration() == 4 && ctx.records().all::<Retrievable>().is_empty() {
        let found =
            Retrievable::text("Tea grows in Assam.", TrustTier::ThirdPartyPublic).build()?;
        ctx.records().store(found).await?;
    }
    next.run().await
}

#[tokio::test]
async fn each_prompt_extends_the_previous_one() {
    let mut answers = ten_iterations();
    answers.extend([calls([("word", json!({ "n": 1 }))]), says("Again.")]);
    let script = Script::new(answers);
    let runner = turnwright_core::runner(script.builder().build().unwrap())
        .instructions("You help.")
        .storage(storage_of(store_with_standing().await))
        .tools([log(Inline::Never), word(), picture()])
        .dispatch_input(looks_up)
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::new("Go.").conversation("c")).await;
    assert_eq!(outcome.text, "That is all.", "{:?}", outcome.error());
    assert_eq!(outcome.tool_calls().count(), 18);
    let bodies = script.bodies();
    assert_eq!(bodies.len(), 10);
    for (at, pair) in bodies.windows(2).enumerate() {
        begins_with(&pair[1], &pair[0], &format!("request {}", at + 2));
    }
    let last = script.values().pop().unwrap();
    let messages = last["messages"].as_array().unwrap();
    let system = messages[0]["content"].as_str().unwrap();
    assert!(system.starts_with("You help."), "{system}");
    assert!(system.contains("- Be brief."), "{system}");
    assert!(system.contains("- The user\n  lives in Bern."), "{system}");
    let text = last.to_string();
    assert!(
        text.contains("Tea grows in Assam.") && text.contains("data:image/png;base64,iVBORw==")
    );
    assert_eq!(text.matches("stored as an artifact").count(), 3);

    let outcome = runner
        .run(TurnInput::new("Once more.").conversation("c"))
        .await;
    assert_eq!(outcome.text, "Again.", "{:?}", outcome.error());
    let bodies = script.bodies();
    assert_eq!(bodies.len(), 12);
    begins_with(
        &bodies[10],
        &bodies[9],
        "the first request of the next turn",
    );
    begins_with(
        &bodies[11],
        &bodies[10],
        "the second request of the next turn",
    );
    let next: Value = serde_json::from_str(&bodies[10]).unwrap();
    let more = &next["messages"].as_array().unwrap()[messages.len()..];
    assert_eq!(
        more,
        [
            json!({ "role": "assistant", "content": "That is all." }),
            json!({ "role": "user", "content": "Once more." }),
        ]
    );
}

#[tokio::test]
async fn first_artifact_of_a_kind_changes_the_tools_once() {
    let script = Script::new(ten_iterations());
    let runner = turnwright_core::runner(script.model())
        .storage(storage_of(store_with_standing().await))
        .tools([log(Inline::ByLimit), word(), picture()])
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::new("Go.").conversation("c")).await;
    assert_eq!(outcome.text, "That is all.", "{:?}", outcome.error());
    let values = script.values();
    let names = |at: usize| {
        let tools = values[at]["tools"].as_array().unwrap().iter();
        tools
            .map(|item| item["function"]["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(0), ["log", "word", "picture"]);
    assert!(names(1).len() > 3 && names(1).contains(&"artifact_grep".to_owned()));
    // Only the tools change: the messages before are unchanged.
    let (first, second) = (&values[0]["messages"], &values[1]["messages"]);
    assert!(
        second
            .as_array()
            .unwrap()
            .starts_with(first.as_array().unwrap())
    );
    for pair in script.bodies()[1..].windows(2) {
        begins_with(&pair[1], &pair[0], "a request after the break");
    }
}

#[tokio::test]
async fn tool_added_by_middleware_changes_the_tools_once() {
    let script = Script::new(ten_iterations());
    let added = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&added);
    let adds = move |ctx: DispatchContext, next: Next<DispatchContext>| {
        let count = Arc::clone(&count);
        async move {
            if ctx.iteration() == 6 {
                let late = tool("late").handler(|_: Value, _: ToolContext| async { "late" });
                ctx.tools().register(late.build()?)?;
                count.fetch_add(1, Ordering::Relaxed);
            }
            next.run().await
        }
    };
    let runner = turnwright_core::runner(script.model())
        .storage(storage_of(store_with_standing().await))
        .tools([log(Inline::Never), word(), picture()])
        .dispatch_input(adds)
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::new("Go.").conversation("c")).await;
    assert_eq!(
        (outcome.text.as_str(), added.load(Ordering::Relaxed)),
        ("That is all.", 1)
    );
    let bodies = script.bodies();
    for (at, pair) in bodies.windows(2).enumerate() {
        if at + 2 == 6 {
            assert!(!prompt(&pair[1]).starts_with(prompt(&pair[0])));
            continue;
        }
        begins_with(&pair[1], &pair[0], &format!("request {}", at + 2));
    }
    let values = script.values();
    let tools = |at: usize| values[at]["tools"].as_array().unwrap().clone();
    assert_eq!(tools(5).len(), tools(4).len() + 1);
    assert!(tools(5).starts_with(&tools(4)), "it is after the others");
}

#[tokio::test]
async fn memory_changes_are_appended_where_they_occur() {
    let script = Script::new([
        calls([("word", json!({ "n": 1 }))]),
        calls([("word", json!({ "n": 2 }))]),
        says("Done."),
    ]);
    let store = Arc::new(MemoryStore::default());
    let conversation_id = ConversationId::new("c");
    store
        .put(
            &conversation_id,
            Memory::new("Likes tea.").id("likes").build().unwrap(),
        )
        .await
        .unwrap();
    let changes = |ctx: DispatchContext, next: Next<DispatchContext>| async move {
        if ctx.iteration() == 2 {
            ctx.records()
                .store(Memory::new("Likes coffee.").id("likes").build()?)
                .await?;
            ctx.records()
                .store(Memory::new("Lives in Bern.").build()?)
                .await?;
            ctx.records()
                .add(StandingInstruction::new("Be kind.").build()?);
        }
        next.run().await
    };
    let runner = turnwright_core::runner(script.model())
        .storage(storage_of(store))
        .tool(word())
        .dispatch_input(changes)
        .build()
        .unwrap();
    runner
        .run(TurnInput::new("Go.").conversation("c"))
        .await
        .into_answer()
        .unwrap();
    let bodies = script.bodies();
    for pair in bodies.windows(2) {
        begins_with(&pair[1], &pair[0], "a request");
    }
    let last = script.values().pop().unwrap();
    let messages = last["messages"].as_array().unwrap();
    assert!(
        messages[0]["content"]
            .as_str()
            .unwrap()
            .contains("- Likes tea.")
    );
    let expected = |item: &&Value| item["role"] == "user";
    let expected: Vec<&str> = messages
        .iter()
        .filter(expected)
        .map(|item| item["content"].as_str().unwrap())
        .collect();
    assert_eq!(
        expected,
        [
            "Go.",
            "(Note from the application, not from the user.) This memory was added or updated:\n- Likes coffee.",
            "(Note from the application, not from the user.) This memory was added or updated:\n- Lives in Bern.",
            "(Note from the application, not from the user.) From now on, this instruction also applies:\n- Be kind.",
        ]
    );
}

/// Returns the last prompt, with one word for each message after the system prompt.
fn outline(script: &Script) -> Vec<String> {
    let last = script.values().pop().unwrap();
    let messages = last["messages"].as_array().unwrap();
    let line = |message: &Value| {
        let text = message["content"].as_str().unwrap_or_default();
        match message["role"].as_str().unwrap() {
            "user" => text.lines().last().unwrap_or_default().to_owned(),
            role => role.to_owned(),
        }
    };
    messages[1..].iter().map(line).collect()
}

#[tokio::test]
async fn changes_follow_the_result_after_which_they_occurred() {
    let script = Script::new([
        calls([("learn", json!({ "n": 1 })), ("word", json!({ "n": 1 }))]),
        calls([("word", json!({ "n": 2 }))]),
        says("Done."),
    ]);
    // A tool changes a memory while another call of the same response runs.
    let learn = tool("learn")
        .handler(|_: Value, ctx: ToolContext| async move {
            let memory = Memory::new("Likes coffee.").id("likes").build().unwrap();
            ctx.records().store(memory).await.unwrap();
            "learnt"
        })
        .build()
        .unwrap();
    let store = Arc::new(MemoryStore::default());
    let conversation_id = ConversationId::new("c");
    let likes = Memory::new("Likes tea.").id("likes").build().unwrap();
    store.put(&conversation_id, likes).await.unwrap();
    let layer = |ctx: DispatchContext, next: Next<DispatchContext>| async move {
        let n = ctx.iteration();
        let note = |text: &str| StandingInstruction::new(text);
        ctx.records()
            .add(note(&format!("step {n}")).id("r").build()?);
        ctx.records().add(note("Be brief.").id("same").build()?);
        if n == 2 {
            // Loaded during the turn, from an earlier one.
            ctx.records()
                .hydrate([note("Be kind.").id("late").build()?.into()]);
            let found = Retrievable::text("Tea grows.", TrustTier::FirstParty).id("found");
            ctx.records().add(found.build()?);
        }
        ctx.records()
            .add(note(&format!("other {n}")).id("s").build()?);
        next.run().await
    };
    let runner = turnwright_core::runner(script.model())
        .storage(storage_of(store))
        .tools([learn, word()])
        .dispatch_input(layer)
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::new("Go.").conversation("c")).await;
    assert_eq!(outcome.text, "Done.", "{:?}", outcome.error());
    for pair in script.bodies().windows(2) {
        begins_with(&pair[1], &pair[0], "a request");
    }
    let mut outline = outline(&script);
    assert!(outline[6].starts_with("</tw-"), "{outline:?}");
    outline[6] = "found".to_owned();
    assert_eq!(
        outline,
        [
            "Go.",
            "assistant",
            "tool",
            "tool",
            "- Likes coffee.",
            "- step 2",
            "found",
            "- other 2",
            "- Be kind.",
            "assistant",
            "tool",
            "- step 3",
            "- other 3",
        ]
    );
}

#[tokio::test]
async fn removed_records_are_not_sent_again() {
    let script = Script::new([
        calls([("word", json!({ "n": 1 }))]),
        calls([("word", json!({ "n": 2 }))]),
        says("Done."),
    ]);
    let forgets = |ctx: DispatchContext, next: Next<DispatchContext>| async move {
        if ctx.iteration() == 3 {
            let first = ctx.records().all::<ToolCall>()[0].id().to_owned();
            ctx.records().delete::<ToolCall>(&first).await?;
            ctx.records().delete::<Memory>("secret").await?;
        }
        next.run().await
    };
    let store = Arc::new(MemoryStore::default());
    let conversation_id = ConversationId::new("c");
    store
        .put(
            &conversation_id,
            Memory::new("The code is 1234.")
                .id("secret")
                .build()
                .unwrap(),
        )
        .await
        .unwrap();
    let runner = turnwright_core::runner(script.model())
        .storage(storage_of(store))
        .tool(word())
        .dispatch_input(forgets)
        .build()
        .unwrap();
    runner
        .run(TurnInput::new("Go.").conversation("c"))
        .await
        .into_answer()
        .unwrap();
    let values = script.values();
    let has = |at: usize, text: &str| values[at].to_string().contains(text);
    assert!(has(1, "word 1") && has(1, "1234"));
    assert!(!has(2, "word 1") && !has(2, "1234"), "{}", values[2]);
    assert!(has(2, "word 2") && has(2, "Go."));
}
