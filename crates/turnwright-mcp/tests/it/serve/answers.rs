//! Approvals and gates as questions to the client.

use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorCode};
use rmcp::service::ServiceError;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{advance, timeout};
use turnwright_core::gate::TurnGate;
use turnwright_core::schema::{object, string};
use turnwright_core::tool::approval::{always, before_writes};
use turnwright_core::{DispatchContext, Tool, ToolError};
use turnwright_mcp::McpService;
use turnwright_mcp::serve::{ServeLimits, agent_tool, client_request};

use super::person::{Connected, LIFECYCLES, Lifecycle, Person, text_of, tool};

fn pay() -> McpService {
    let schema = json!({ "type": "object", "properties": { "euros": { "type": "integer" } }, "required": ["euros"] });
    let pay = Tool::dynamic("pay", schema)
        .description("Pays.")
        .handler(async |args: Value, _| format!("paid {}", args["euros"]))
        .build();
    let service = McpService::of([pay.unwrap()]).unwrap();
    service.policy(always("it costs money"))
}

#[tokio::test]
async fn an_approval_asks_with_the_arguments_and_runs_if_granted() {
    for lifecycle in LIFECYCLES {
        for http in [false, true] {
            let person = Person::who_accepts(json!({ "approve": true }));
            let connected = if http {
                Connected::over_http(pay(), person.clone(), lifecycle).await
            } else {
                Connected::over_streams(pay(), person.clone(), lifecycle).await
            };
            let result = connected.call("pay", json!({ "euros": 7 })).await.unwrap();
            assert_eq!(text_of(&result), "paid 7", "{lifecycle:?}, HTTP: {http}");
            let asked = person.asked.lock().clone();
            let [message] = asked.as_slice() else {
                panic!("{asked:?}")
            };
            for part in ["pay", "it costs money", r#"{"euros":7}"#] {
                assert!(message.contains(part), "{message}");
            }
        }
    }
}

#[tokio::test]
async fn a_denied_call_does_not_run() {
    for lifecycle in LIFECYCLES {
        let denies = Person::who_accepts(json!({ "approve": false, "reason": "too much" }));
        for person in [denies, Person::who_declines()] {
            let connected = Connected::over_streams(pay(), person, lifecycle).await;
            let result = connected.call("pay", json!({ "euros": 7 })).await.unwrap();
            assert_eq!(result.is_error, Some(true));
            assert!(!text_of(&result).contains("paid"));
        }
    }
}

#[tokio::test]
async fn without_elicitation_an_approval_is_a_denial() {
    for lifecycle in LIFECYCLES {
        let connected = Connected::over_streams(pay(), Person::absent(), lifecycle).await;
        let result = connected.call("pay", json!({ "euros": 7 })).await.unwrap();
        assert_eq!(result.is_error, Some(true), "{lifecycle:?}");
        assert!(text_of(&result).contains("not run"), "{}", text_of(&result));
    }
}

#[tokio::test]
async fn invalid_arguments_are_refused_before_anyone_is_asked() {
    let person = Person::who_accepts(json!({ "approve": true }));
    let connected = Connected::over_streams(pay(), person.clone(), Lifecycle::Stateless).await;
    let result = connected
        .call("pay", json!({ "euros": "x" }))
        .await
        .unwrap();
    assert_eq!(result.is_error, Some(true));
    assert!(person.asked.lock().is_empty());
}

#[tokio::test]
async fn an_answer_is_valid_once_and_for_its_call_only() {
    let person = Person::who_accepts(json!({ "approve": true }));
    let connected = Connected::over_streams(pay(), person, Lifecycle::Stateless).await;
    let call = |euros: i64| {
        let args = json!({ "euros": euros }).as_object().unwrap().clone();
        CallToolRequestParams::new("pay").with_arguments(args)
    };
    let CallToolResponse::InputRequired(asked) =
        connected.client.call_tool_once(call(7)).await.unwrap()
    else {
        panic!("no question");
    };
    let state = asked.request_state.unwrap();
    let yes = json!({ "action": "accept", "content": { "approve": true } });
    let repeat = |euros: i64| {
        let mut repeated = call(euros);
        repeated.request_state = Some(state.clone());
        repeated.input_responses = Some([("approval".to_owned(), yes.clone())].into());
        connected.client.call_tool_once(repeated)
    };
    let refused = |error: ServiceError| match error {
        ServiceError::McpError(error) => assert_eq!(error.code, ErrorCode::INVALID_PARAMS),
        other => panic!("{other:?}"),
    };
    // Other arguments than those that were shown.
    refused(repeat(1_000_000).await.unwrap_err());
    let CallToolResponse::Complete(paid) = repeat(7).await.unwrap() else {
        panic!("not complete");
    };
    assert_eq!(text_of(&paid), "paid 7");
    refused(repeat(7).await.unwrap_err());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_answered_is_cancelled() {
    let (waits, mut ended) = waits_for_an_answer();
    let person = Person::who_accepts(json!({}));
    let service = McpService::of([waits]).unwrap();
    let connected = Connected::over_streams(service, person, Lifecycle::Stateless).await;
    let asked = ask(&connected).await;
    // Time passes because nothing else happens.
    assert_eq!(ended.recv().await, None);
    let mut late = CallToolRequestParams::new("waits");
    late.request_state = Some(asked);
    assert!(connected.client.call_tool_once(late).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn asking_again_without_an_answer_gives_no_more_time() {
    let (waits, mut ended) = waits_for_an_answer();
    let person = Person::who_accepts(json!({}));
    let service = McpService::of([waits]).unwrap();
    let connected = Connected::over_streams(service, person, Lifecycle::Stateless).await;
    let mut state = ask(&connected).await;
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let before = tasks();
    let waiting = ServeLimits::default().waiting;
    advance(waiting / 2).await;
    for _ in 0..50 {
        let mut again = CallToolRequestParams::new("waits");
        again.request_state = Some(state);
        let CallToolResponse::InputRequired(asked) =
            connected.client.call_tool_once(again).await.unwrap()
        else {
            panic!("no question");
        };
        state = asked.request_state.unwrap();
    }
    assert!(tasks() < before + 50, "{} tasks", tasks());
    let ended = timeout(waiting * 3 / 4, ended.recv()).await;
    assert_eq!(ended, Ok(None));
}

#[tokio::test]
async fn a_call_whose_arguments_cannot_be_shown_does_not_run() {
    let writes = tool("writes", |_| async { Ok("written".to_owned()) });
    for lifecycle in LIFECYCLES {
        let person = Person::who_accepts(json!({ "approve": true }));
        let service = McpService::of([writes.clone()]).unwrap();
        let service = service.policy(always("it may change something"));
        let connected = Connected::over_streams(service, person.clone(), lifecycle).await;
        let args = json!({ "text": "x".repeat(40_000) });
        let result = connected.call("writes", args).await.unwrap();
        assert_eq!(result.is_error, Some(true), "{lifecycle:?}");
        let text = text_of(&result);
        assert!(text.contains("too long to be shown in full"), "{text}");
        assert!(person.asked.lock().is_empty());
    }
}

#[tokio::test]
async fn the_oldest_unanswered_call_makes_room() {
    let (waits, _ended) = waits_for_an_answer();
    let limits = ServeLimits {
        waiting_calls: 1,
        ..ServeLimits::default()
    };
    let person = Person::who_accepts(json!({}));
    let service = McpService::of([waits]).unwrap().limits(limits);
    let connected = Connected::over_streams(service, person, Lifecycle::Stateless).await;
    let (first, second) = (ask(&connected).await, ask(&connected).await);
    for (state, is_known) in [(first, false), (second, true)] {
        let mut again = CallToolRequestParams::new("waits");
        again.request_state = Some(state);
        let answer = connected.client.call_tool_once(again).await;
        assert_eq!(answer.is_ok(), is_known, "{answer:?}");
    }
}

/// A tool that waits at a gate. The receiver ends when no handler is left.
fn waits_for_an_answer() -> (Tool, mpsc::Receiver<()>) {
    let (sender, ended) = mpsc::channel(1);
    let weak = sender.downgrade();
    let running = Arc::new(Mutex::new(Some(sender)));
    let waits = tool("waits", move |ctx| {
        // The last sender belongs to the handlers.
        let own = weak.upgrade();
        running.lock().take();
        async move {
            let _own = own;
            let gate = TurnGate::new("question").question("Well?").build()?;
            ctx.wait_for(gate).await?;
            Ok("answered".to_owned())
        }
    });
    (waits, ended)
}

/// Calls the tool and returns the state of the call that waits.
async fn ask(connected: &Connected) -> String {
    let call = CallToolRequestParams::new("waits");
    match connected.client.call_tool_once(call).await.unwrap() {
        CallToolResponse::InputRequired(asked) => asked.request_state.unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_approvals_of_an_agent_ask_the_client() {
    let model = |ctx: DispatchContext| async move {
        match ctx.records().own_tool_calls().pop() {
            None => drop(ctx.call("order", "{}").await),
            Some(call) => drop(ctx.answer(call.text().await.unwrap_or_default()).await?),
        }
        Ok(())
    };
    let order = tool("order", |_| async { Ok("ordered".to_owned()) });
    let runner = turnwright_core::runner(model).tool(order);
    let runner = runner.policy(before_writes("it may cost money")).build();
    let agent = agent_tool("librarian", "Orders books.", runner.unwrap()).unwrap();
    for lifecycle in LIFECYCLES {
        let person = Person::who_accepts(json!({ "approve": true }));
        let service = McpService::of([agent.clone()]).unwrap();
        let connected = Connected::over_streams(service, person.clone(), lifecycle).await;
        let result = connected
            .call("librarian", json!({ "task": "order" }))
            .await;
        assert_eq!(text_of(&result.unwrap()), "ordered", "{lifecycle:?}");
        assert!(person.asked.lock()[0].contains("order"), "{lifecycle:?}");
    }
}

#[tokio::test]
async fn a_handler_asks_at_its_gates() {
    let ships = tool("ships", |ctx| async move {
        let gate = TurnGate::new("address")
            .question("Where to?")
            .schema(object().field("street", string().required()))
            .build()?;
        let address = ctx.wait_for(gate).await?;
        Ok(format!("shipped to {}", address["street"]))
    });
    for lifecycle in LIFECYCLES {
        let person = Person::who_accepts(json!({ "street": "Elm Street" }));
        let service = McpService::of([ships.clone()]).unwrap();
        let connected = Connected::over_streams(service, person.clone(), lifecycle).await;
        let result = connected.call("ships", json!({})).await.unwrap();
        assert_eq!(text_of(&result), r#"shipped to "Elm Street""#);
        assert_eq!(*person.asked.lock(), ["Where to?"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_questions_and_reports_at_once_are_all_answered() {
    let busy = tool("busy", |ctx| async move {
        let questions = (0..8).map(|number| {
            let ctx = ctx.clone();
            async move {
                for step in 0..4 {
                    ctx.progress(format!("{number}/{step}"));
                    let gate = TurnGate::new(format!("question_{number}"));
                    let gate = gate.question("Well?").build()?;
                    ctx.wait_for(gate).await?;
                }
                Ok::<_, ToolError>(())
            }
        });
        futures_util::future::try_join_all(questions).await?;
        Ok("answered".to_owned())
    });
    for lifecycle in LIFECYCLES {
        let person = Person::who_accepts(json!({ "answer": "yes" }));
        let service = McpService::of([busy.clone()]).unwrap();
        let connected = Connected::over_streams(service, person.clone(), lifecycle).await;
        let result = connected.call("busy", json!({})).await.unwrap();
        assert_eq!(text_of(&result), "answered", "{lifecycle:?}");
        assert_eq!(person.asked.lock().len(), 32, "{lifecycle:?}");
    }
}

#[tokio::test]
async fn an_answer_that_does_not_match_is_not_accepted() {
    let ships = tool("ships", |ctx| async move {
        let gate = TurnGate::new("address")
            .question("Where to?")
            .schema(object().field("street", string().min_length(3).required()))
            .build()?;
        ctx.wait_for(gate).await?;
        Ok("shipped".to_owned())
    });
    let person = Person::who_accepts(json!({ "street": "x" }));
    let service = McpService::of([ships]).unwrap();
    let connected = Connected::over_streams(service, person, Lifecycle::Sessions).await;
    let result = connected.call("ships", json!({})).await.unwrap();
    assert_eq!(result.is_error, Some(true));
}

#[tokio::test]
async fn a_stateless_client_without_the_capability_reads_which_one_is_missing() {
    let samples = tool("samples", |ctx| async move {
        let params = json!({ "messages": [], "maxTokens": 10 });
        let gate = client_request("question", "sampling/createMessage", params)?;
        Ok(ctx.wait_for(gate).await?.to_string())
    });
    let service = McpService::of([samples]).unwrap();
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Stateless).await;
    let ServiceError::McpError(error) = connected.call("samples", json!({})).await.unwrap_err()
    else {
        panic!("another error");
    };
    assert_eq!(error.code, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY);
    assert!(error.data.unwrap()["requiredCapabilities"]["sampling"].is_object());
}
