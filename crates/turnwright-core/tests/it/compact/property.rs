//! Random conversations.

use proptest::prelude::*;
use turnwright_core::middleware::{SummaryRequest, compact};
use turnwright_core::record::{Author, Message};
use turnwright_core::trust::TrustTier;

use turnwright_testkit::script::ShownRole;

use super::*;

/// What happens in a conversation.
#[derive(Clone, Debug)]
enum Event {
    /// A turn with these responses, each with the lengths of its text and of the results of its calls.
    Turn(usize, Vec<(usize, Vec<usize>)>),
    /// Found by another program.
    Found(usize, TrustTier),
    /// Another agent.
    Agent(usize, TrustTier),
}

fn tiers() -> impl Strategy<Value = TrustTier> {
    prop_oneof![
        3 => Just(TrustTier::FirstParty),
        1 => Just(TrustTier::ThirdPartyPrivate),
        1 => Just(TrustTier::ThirdPartyPublic),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let calls = prop::collection::vec(1_usize..400, 0..3);
    let responses = prop::collection::vec((0_usize..200, calls), 1..4);
    let event = prop_oneof![
        6 => (1_usize..200, responses).prop_map(|(text, all)| Event::Turn(text, all)),
        1 => (1_usize..200, tiers()).prop_map(|(text, tier)| Event::Found(text, tier)),
        1 => (1_usize..200, tiers()).prop_map(|(text, tier)| Event::Agent(text, tier)),
    ];
    prop::collection::vec(event, 1..25)
}

const WINDOW: u64 = 3_000;

/// Plays a conversation. Returns the prompts and the records.
async fn play(events: &[Event], trusted: bool, summarises: bool) -> (Vec<Arc<Shown>>, Vec<Record>) {
    let store = Arc::new(MemoryStore::default());
    let conversation = ConversationId::new(CHAT);
    let model = ScriptedModel::new([]);
    let look = Tool::dynamic(
        "look",
        json!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
    )
    .description("Of a test.")
    .trusted(trusted)
    .handler(|args: Value, _: ToolContext| async move {
        long(
            "result",
            usize::try_from(args["n"].as_u64().unwrap()).unwrap(),
        )
    })
    .build()
    .unwrap();
    let by =
        |request: SummaryRequest| async move { Ok(format!("{} parts", request.parts().len())) };
    let compact = match summarises {
        true => compact(WINDOW).summarise_by(by),
        false => compact(WINDOW),
    };
    let runner = on(&store, &model)
        .tool(look)
        .dispatch_input(compact)
        .build()
        .unwrap();
    for (number, event) in events.iter().enumerate() {
        match event {
            Event::Turn(text, responses) => {
                for (words, calls) in responses {
                    let mut step = match words {
                        0 => Step::silent(),
                        words => Step::say(long(&format!("response-{number}"), *words)),
                    };
                    for tokens in calls {
                        step = step.call("look", json!({ "n": tokens }));
                    }
                    // A response without calls is an answer otherwise.
                    model.push(step.go_on());
                }
                model.push(Step::say(format!("answer-{number}")));
                let input = say(long(&format!("question-{number}"), *text));
                let outcome = runner.run(input.turn_id(format!("turn-{number}"))).await;
                assert!(outcome.is_answered(), "{:?}", outcome.ended);
            }
            Event::Found(text, tier) => {
                let found = Retrievable::text(long("found", *text), *tier);
                let found = found.id(format!("found-{number}"));
                store
                    .put(&conversation, found.build().unwrap())
                    .await
                    .unwrap();
            }
            Event::Agent(text, tier) => {
                let message = Message::agent("other", long("agent", *text)).tier(*tier);
                let message = message.id(format!("agent-{number}"));
                store
                    .put(&conversation, message.build().unwrap())
                    .await
                    .unwrap();
            }
        }
    }
    (model.all_shown(), records(&store).await)
}

/// The lowest tier of what a summary covers, from the records of the store.
fn lowest(records: &[Record], summary: &Retrievable) -> TrustTier {
    let covers = covers(summary);
    let last = records
        .iter()
        .position(|record| record.kind() == covers.last.kind && record.id() == &*covers.last.id);
    let covered = records[..=last.unwrap()]
        .iter()
        .filter(|record| Some(record.id()) != covers.opening.as_deref());
    let tiers = covered.filter_map(|record| match record {
        Record::Retrievable(found) if found.covers().is_none() => Some(found.tier()),
        Record::Message(message) => match message.author() {
            Author::Agent { tier, .. } => Some(*tier),
            _ => None,
        },
        Record::ToolCall(call) => Some(match call.is_trusted() && call.is_inline() {
            true => TrustTier::FirstParty,
            false => TrustTier::ThirdPartyPublic,
        }),
        _ => None,
    });
    tiers.min().unwrap_or(TrustTier::FirstParty)
}

/// The order of the records that a prompt shows, by the names in their texts.
fn check(shown: &Shown) {
    // Every call is shown with its result, after the response that proposed it.
    let mut assistant = false;
    for part in shown.prompt() {
        match part.role {
            ShownRole::Tool => {
                assert!(
                    assistant,
                    "a result without its response: {}",
                    prompt(shown)
                );
                assert!(!part.text.contains("has not completed"), "{}", part.text);
            }
            ShownRole::Assistant => assistant = true,
            _ => assistant = false,
        }
    }
    let summaries = shown
        .retrievables()
        .iter()
        .filter(|found| found.covers().is_some());
    assert!(summaries.count() <= 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_prompt_fits_and_its_records_belong_together(
        events in events(), trusted in any::<bool>(), summarises in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (prompts, records) = runtime.block_on(play(&events, trusted, summarises));
        for shown in &prompts {
            check(shown);
            prop_assert!(tokens(shown) <= WINDOW, "{}", tokens(shown));
        }
        // Thresholds: a prompt changes only when the one before was above 80 % with what was added.
        for pair in prompts.windows(2) {
            let (before, after) = (pair[0].prompt(), pair[1].prompt());
            if !after.starts_with(before) {
                prop_assert!(tokens(&pair[0]) > WINDOW / 4, "{}", tokens(&pair[0]));
            }
        }
        let summaries: Vec<_> = records.iter().cloned().filter_map(Record::downcast::<Retrievable>)
            .filter(|found| found.covers().is_some()).collect();
        for summary in &summaries {
            let lowest = lowest(&records, summary);
            // A result that became a handle later was still inline, and trusted, when it was covered.
            prop_assert!(summary.tier() == lowest || trusted && summary.tier() > lowest, "{:?} {lowest:?}", summary.tier());
        }
        let counts = |number: &dyn Fn(&Coverage) -> u64| summaries.iter().map(|made| number(covers(made))).collect::<Vec<_>>();
        prop_assert!(counts(&|covers| covers.records()).is_sorted());
        prop_assert!(counts(&|covers| covers.exchanges).is_sorted());

        // The same conversation has the same prompts, except for ids and codes.
        let (again, _) = runtime.block_on(play(&events, trusted, summarises));
        let sizes = |prompts: &[Arc<Shown>]| prompts.iter().map(|shown| shown.prompt().len()).collect::<Vec<_>>();
        prop_assert_eq!(sizes(&prompts), sizes(&again));
    }
}
