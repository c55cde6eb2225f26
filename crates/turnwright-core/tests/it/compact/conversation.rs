//! Long conversations.

use turnwright_core::middleware::compact;
use turnwright_core::record::{Memory, StandingInstruction};
use turnwright_core::runner::History;

use super::*;

const WINDOW: u64 = 8_000;

/// A thousand turns with tools, each with other lengths.
fn script(turns: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    for turn in 0..turns {
        if turn % 3 == 0 {
            steps.push(Step::say("Let me look.").call("look", "{}"));
        }
        steps.push(Step::say(long(
            &format!("answer-{turn}"),
            30 + turn * 7 % 90,
        )));
    }
    steps
}

#[tokio::test]
async fn a_thousand_turns_stay_below_the_window_with_few_compactions() {
    let store = Arc::new(MemoryStore::default());
    let model = ScriptedModel::new(script(1_000));
    let runner = on(&store, &model)
        .instructions("You are a clerk.")
        .tool(tool("look", long("seen", 300)).build())
        .dispatch_input(compact(WINDOW).summarise_with(summarising("It went well.")))
        .build()
        .unwrap();
    let conversation = ConversationId::new(CHAT);
    let rule = StandingInstruction::new("Answer in English.").build();
    store.put(&conversation, rule.unwrap()).await.unwrap();
    let memory = Memory::new("The user lives in Oslo.").build();
    store.put(&conversation, memory.unwrap()).await.unwrap();
    let observed = Observed::of(&runner);
    for turn in 0..1_000 {
        let text = long(&format!("question-{turn}"), 20 + turn * 13 % 60);
        let outcome = runner.run(say(text)).await;
        assert!(outcome.is_answered(), "{turn}: {:?}", outcome.status);
    }
    let compactions = observed.named("compacted");
    let all = model.requests();
    let most = all.iter().map(|shown| tokens(shown)).max().unwrap();
    assert!(most < WINDOW * 80 / 100, "{most}");
    assert!(most > WINDOW / 2, "{most}");
    // Each one frees about 30 % of the window, and a turn adds about 180 tokens.
    assert!(
        (40..=90).contains(&compactions.len()),
        "{}",
        compactions.len()
    );
    crate::say(format_args!(
        "1,000 turns, window {WINDOW}: {} compactions, {} requests, longest prompt {most} tokens",
        compactions.len(),
        all.len()
    ));
    for compacted in &compactions {
        let (before, after) = (&compacted["tokensBefore"], &compacted["tokensAfter"]);
        assert!(before.as_u64().unwrap() > WINDOW * 80 / 100, "{compacted}");
        assert!(after.as_u64().unwrap() <= WINDOW / 2, "{compacted}");
    }
    let last = all.last().unwrap();
    assert_eq!(last.standing_instructions(), ["Answer in English."]);
    assert_eq!(last.memories(), ["The user lives in Oslo."]);
    assert_eq!(last.retrievables().len(), 1, "one summary");
    let stored = records(&store).await;
    let messages = stored
        .iter()
        .filter(|record| record.kind() == RecordKind::Message);
    assert_eq!(messages.count(), 1_000 + 1_000 + 334, "originals stay");
    let newest = summaries(&store).await.pop().unwrap();
    assert!(covers(&newest).exchanges > 900);
}

/// The prompts of a conversation: each starts with the one before, except after a compaction.
#[tokio::test]
async fn the_prompt_prefix_is_stable_between_compactions() {
    let store = Arc::new(MemoryStore::default());
    let model = ScriptedModel::new(script(120));
    let runner = on(&store, &model)
        .tool(tool("look", long("seen", 300)).build())
        .dispatch_input(compact(WINDOW).summarise_with(summarising("It went well.")))
        .build()
        .unwrap();
    let observed = Observed::of(&runner);
    for turn in 0..120 {
        runner.run(say(format!("question {turn}"))).await;
    }
    let compactions = observed.named("compacted").len();
    let all = model.requests();
    let changed = all.windows(2).filter(|pair| {
        let (before, after) = (pair[0].prompt(), pair[1].prompt());
        !after.starts_with(before)
    });
    assert_eq!(changed.count(), compactions);
    assert!(compactions >= 2);
}

#[tokio::test]
async fn the_last_exchanges_stay_and_the_older_ones_become_a_summary() {
    let store = Arc::new(MemoryStore::default());
    let steps = (0..6).map(|turn| Step::say(long(&format!("answer-{turn}"), 300)));
    let model = ScriptedModel::new(steps);
    let keep = compact(2_000).keep_last(2);
    let runner = on(&store, &model)
        .dispatch_input(keep.summarise_with(summarising("Three answers.")))
        .build()
        .unwrap();
    for turn in 0..6 {
        runner.run(say(format!("question {turn}"))).await;
    }
    let shown = model.request(5);
    let texts: Vec<&str> = shown.texts();
    let expected = ["question 4", &long("answer-4", 300), "question 5"];
    assert_eq!(texts, expected);
    let made = summaries(&store).await.pop().unwrap();
    let covers = covers(&made);
    assert_eq!(
        (covers.exchanges, covers.summarised, covers.omitted),
        (4, 8, 0)
    );
    assert_eq!(covers.model.as_deref(), Some("executor"));
    assert_eq!(covers.opening, None);
    let ids: Vec<String> = records(&store)
        .await
        .iter()
        .filter(|record| record.kind() == RecordKind::Message)
        .map(|record| record.id().to_owned())
        .collect();
    assert_eq!((&*covers.first.id, &*covers.last.id), (&*ids[0], &*ids[7]));
    assert_eq!(covers.next.as_ref().map(|next| &*next.id), Some(&*ids[8]));
}

/// Another process, and a turn that does not compact, start with the summary.
#[tokio::test]
async fn later_turns_of_other_runners_start_with_the_summary() {
    let store = Arc::new(MemoryStore::default());
    let steps = (0..6).map(|turn| Step::say(long(&format!("answer-{turn}"), 300)));
    let model = ScriptedModel::new(steps);
    let keep = compact(2_000).keep_last(2);
    let first = on(&store, &model)
        .dispatch_input(keep.summarise_with(summarising("Four answers.")))
        .build()
        .unwrap();
    for turn in 0..6 {
        first.run(say(format!("question {turn}"))).await;
    }
    let other = ScriptedModel::new([Step::say("ok"), Step::say("ok"), Step::say("ok")]);
    let second = on(&store, &other).build().unwrap();
    second.run(say("question 6")).await;
    let (before, after) = (model.request(5), other.request(0));
    assert!(after.prompt().starts_with(before.prompt()));
    assert!(after.retrievables()[0].rendered().contains("Four answers."));

    // A history that loads less shows the summary as far as it reaches.
    let less = on(&store, &other)
        .history(History::last(1))
        .build()
        .unwrap();
    less.run(say("question 7")).await;
    assert_eq!(other.request(1).texts(), ["question 6", "ok", "question 7"]);
    let no_history = on(&store, &other).history(History::none()).build().unwrap();
    no_history.run(say("question 8")).await;
    assert_eq!(other.request(2).texts(), ["question 8"]);
    assert!(other.request(2).retrievables().is_empty());
}

#[tokio::test]
async fn without_a_model_the_oldest_exchanges_are_removed_with_a_note() {
    let store = Arc::new(MemoryStore::default());
    let steps = (0..12).map(|turn| Step::say(long(&format!("answer-{turn}"), 300)));
    let model = ScriptedModel::new(steps);
    let runner = on(&store, &model).dispatch_input(compact(2_000));
    let runner = runner.build().unwrap();
    let observed = Observed::of(&runner);
    for turn in 0..12 {
        runner.run(say(format!("question {turn}"))).await;
    }
    let shown = model.request(11);
    let note = shown.retrievables()[0].rendered();
    assert!(
        note.starts_with(
            "The oldest part of this conversation (9 exchanges, 18 entries) was removed"
        ),
        "{note}"
    );
    assert!(!note.contains("tw-"), "{note}");
    let made = summaries(&store).await;
    assert!(made.len() >= 2, "{}", made.len());
    let last = made.last().unwrap();
    assert_eq!(
        (covers(last).summarised, covers(last).model.clone()),
        (0, None)
    );
    assert!(observed.named("warning").is_empty());
    assert!(
        observed
            .named("compacted")
            .iter()
            .all(|event| event["model"].is_null())
    );
}

/// A conversation of many short records is compacted before a history would lose its summary.
#[tokio::test]
async fn timelines_with_many_records_are_compacted_too() {
    let store = Arc::new(MemoryStore::default());
    let model = ScriptedModel::new((0..100).map(|_| Step::say("ok")));
    let runner = on(&store, &model)
        .history(History::all().max_records(60))
        .dispatch_input(compact(128_000).max_records(40))
        .build()
        .unwrap();
    for _ in 0..100 {
        runner.run(say("go")).await;
    }
    for shown in model.requests().iter().skip(25) {
        assert!(shown.prompt().len() <= 41, "{}", shown.prompt().len());
        assert_eq!(shown.retrievables().len(), 1);
    }
    assert!(summaries(&store).await.len() <= 10);
}

#[tokio::test]
async fn a_turn_without_a_conversation_is_compacted_within_itself() {
    let mut steps: Vec<Step> = (0..20)
        .map(|step| Step::say(long(&format!("step-{step}"), 200)).call("look", "{}"))
        .collect();
    steps.push(Step::say("done"));
    let model = ScriptedModel::new(steps);
    let runner = runner(model.clone())
        .tool(tool("look", "seen").build())
        .dispatch_input(compact(2_000).summarise_with(summarising("Looked around.")))
        .build()
        .unwrap();
    let outcome = runner.run("Do all of it.").await;
    assert_eq!(outcome.text, "done");
    assert_eq!(outcome.tool_calls().count(), 20, "the outcome has them all");
    for shown in model.requests() {
        assert!(tokens(&shown) < 2_000);
        assert_eq!(shown.texts()[0], "Do all of it.", "the task stays");
        assert!(shown.tool_calls().iter().all(|call| call.is_complete()));
    }
    let last = model.request(20);
    assert!(last.retrievables()[0].rendered().contains("Looked around."));
    let prompt = prompt(&last);
    let (summary, task) = (prompt.find("Looked around."), prompt.find("Do all of it."));
    assert!(summary < task, "{prompt}");
}
