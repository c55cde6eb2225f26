//! Random conversations.

use proptest::prelude::*;
use turnwright_core::middleware::{SummaryRequest, compact};
use turnwright_core::record::{Author, Coverage, Message};
use turnwright_core::trust::TrustTier;

use turnwright_testkit::script::PromptRole;

use super::resume::masked;
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
    let responses = prop::collection::vec((1_usize..200, calls), 1..4);
    let event = prop_oneof![
        6 => (1_usize..200, responses).prop_map(|(text, all)| Event::Turn(text, all)),
        1 => (1_usize..200, tiers()).prop_map(|(text, tier)| Event::Found(text, tier)),
        1 => (1_usize..200, tiers()).prop_map(|(text, tier)| Event::Agent(text, tier)),
    ];
    prop::collection::vec(event, 1..25)
}

const WINDOW: u64 = 3_000;

/// Plays a conversation. Returns the prompts, the records and the events of compactions.
async fn play(
    events: &[Event],
    trusted: bool,
    summarises: bool,
) -> (Vec<Arc<ModelRequest>>, Vec<Record>, Vec<Value>) {
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
    let by = |request: SummaryRequest| async move { Ok(format!("{} parts", request.parts.len())) };
    let compact = if summarises {
        compact(WINDOW).summarise_by(by)
    } else {
        compact(WINDOW)
    };
    let runner = on(&store, &model)
        .tool(look)
        .dispatch_input(compact)
        .build()
        .unwrap();
    let observed = Observed::of(&runner);
    for (number, event) in events.iter().enumerate() {
        match event {
            Event::Turn(text, responses) => {
                for (words, calls) in responses {
                    let mut step = Step::say(long(&format!("response-{number}"), *words));
                    for tokens in calls {
                        step = step.call("look", json!({ "n": tokens }));
                    }
                    // A response without calls is an answer otherwise.
                    model.push(step.keep_open());
                }
                model.push(Step::say(format!("answer-{number}")));
                let input = say(long(&format!("question-{number}"), *text));
                let outcome = runner.run(input.turn_id(format!("turn-{number}"))).await;
                assert!(outcome.is_answered(), "{:?}", outcome.status);
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
    let compactions = observed.named("compacted");
    (model.requests(), records(&store).await, compactions)
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
        Record::ToolCall(call) => Some(if call.is_trusted() && call.is_inline() {
            TrustTier::FirstParty
        } else {
            TrustTier::ThirdPartyPublic
        }),
        _ => None,
    });
    tiers.min().unwrap_or(TrustTier::FirstParty)
}

/// The order of the records that a prompt shows, by the names in their texts.
fn check(shown: &ModelRequest) {
    // Every call is shown with its result, after the response that proposed it.
    let mut assistant = false;
    for part in shown.prompt() {
        match part.role {
            PromptRole::Tool => {
                assert!(
                    assistant,
                    "a result without its response: {}",
                    prompt(shown)
                );
                assert!(!part.text.contains("has not completed"), "{}", part.text);
            }
            PromptRole::Assistant => assistant = true,
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
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn a_prompt_fits_and_its_records_belong_together(
        events in events(), trusted in any::<bool>(), summarises in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (prompts, records, compactions) = runtime.block_on(play(&events, trusted, summarises));
        for shown in &prompts {
            check(shown);
            prop_assert!(tokens(shown) <= WINDOW, "{}", tokens(shown));
        }
        // A prompt starts with the one before, except after a compaction, which a threshold causes.
        let changed = prompts.windows(2).filter(|pair| !pair[1].prompt().starts_with(pair[0].prompt()));
        prop_assert_eq!(changed.count(), compactions.len());
        for compacted in &compactions {
            let (before, after) = (compacted["tokensBefore"].as_u64(), compacted["tokensAfter"].as_u64());
            prop_assert!(before > Some(WINDOW * 80 / 100) && after <= Some(WINDOW) && after < before, "{compacted}");
        }
        let summaries: Vec<Arc<Retrievable>> = records
            .iter()
            .cloned()
            .filter_map(Record::downcast::<Retrievable>)
            .filter(|found| found.covers().is_some())
            .collect();
        for summary in &summaries {
            let lowest = lowest(&records, summary);
            // A trusted result that became a handle is not trusted any more. It may have become one after it was covered.
            let later = trusted && summary.tier() > lowest;
            prop_assert!(summary.tier() == lowest || later, "{:?} {lowest:?}", summary.tier());
        }
        for pair in summaries.windows(2) {
            let (before, after) = (covers(&pair[0]), covers(&pair[1]));
            let records = |covers: &Coverage| covers.summarised + covers.omitted;
            prop_assert!(records(before) < records(after) && before.exchanges <= after.exchanges);
            prop_assert!(pair[1].tier() <= pair[0].tier());
            prop_assert_eq!(&before.first, &after.first);
        }
        // The same conversation has the same prompts, except for ids and codes.
        let (again, ..) = runtime.block_on(play(&events, trusted, summarises));
        prop_assert_eq!(prompts.len(), again.len());
        for (one, other) in prompts.iter().zip(&again) {
            prop_assert_eq!(masked(&prompt(one)), masked(&prompt(other)));
        }
    }
}
