//! What readers and observers see of a suspension.

use super::*;

/// The names of the events of a turn, and its last event.
async fn read(mut turn: Turn) -> (Vec<&'static str>, Event) {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        events.push(event);
    }
    let last = events.last().unwrap().clone();
    (events.iter().map(Event::name).collect(), last)
}

/// The ids of the gates that an end says are open.
#[track_caller]
fn left_open(last: &Event) -> Vec<Arc<str>> {
    let EventKind::TurnEnd { status, gates, .. } = &last.kind else {
        panic!("{last:?}")
    };
    assert_eq!(*status, TurnState::Suspended);
    gates.iter().map(|gate| gate.id.clone()).collect()
}

#[test]
fn a_suspended_turn_does_not_say_that_its_gates_are_closed_and_its_end_names_them() {
    let world = World::default();
    process().block_on(async {
        let observed = Observed::default();
        let runner = world.paying(&pays()).suspend_at_gates();
        let runner = runner.observer(observed.observer()).build().unwrap();
        let (names, last) = read(runner.start(go_input())).await;
        assert!(names.contains(&"turnGateOpen"), "{names:?}");
        assert!(!names.contains(&"turnGateClosed"), "{names:?}");
        assert_eq!(observed.of("turnGateOpen").len(), 1);
        assert!(observed.of("turnGateClosed").is_empty());
        let id = observed.of("turnGateOpen")[0]["id"].clone();
        assert_eq!(json!(left_open(&last)), json!([id]));

        // As JSON, everything that a user interface shows.
        let ended = serde_json::to_value(&last).unwrap();
        let gate = &ended["gates"][0];
        assert_eq!(
            (&ended["status"], &ended["code"]),
            (&json!("suspended"), &json!("E_TURN_WAITING"))
        );
        assert_eq!(
            (&gate["name"], &gate["question"]["tool"]),
            (&json!("approval"), &json!("pay"))
        );
        assert_eq!(gate["question"]["args"], json!({ "amount": 7 }));
        assert!(gate["openedAt"].is_string());

        // A reader that comes later sees the same.
        let (names, attached) = read(runner.attach(TALK, TURN).await.unwrap()).await;
        assert_eq!(names, ["turnStart", "turnGateOpen", "turnEnd"]);
        assert_eq!(left_open(&attached), left_open(&last));
    });
}

#[test]
fn a_turn_that_is_suspended_on_request_leaves_its_gates_open_too() {
    let world = World::default();
    process().block_on(async {
        let observed = Observed::default();
        let runner = world.paying(&pays()).observer(observed.observer());
        let turn = runner.build().unwrap().start(go_input());
        let gate = turn.gates().next().await.unwrap();
        turn.suspend().unwrap();
        let (names, last) = read(turn).await;
        assert!(!names.contains(&"turnGateClosed"), "{names:?}");
        assert!(observed.of("turnGateClosed").is_empty());
        assert_eq!(left_open(&last), std::slice::from_ref(&gate.id));
        assert_eq!(
            (gate.tool(), gate.args()),
            (Some("pay"), Some(&json!({ "amount": 7 })))
        );
    });
}

#[test]
fn a_turn_that_was_not_suspended_names_no_gates_at_its_end() {
    let world = World::default();
    process().block_on(async {
        let runner = world.runner(&answers()).build().unwrap();
        let (_, last) = read(runner.start(go_input())).await;
        assert!(serde_json::to_value(&last).unwrap().get("gates").is_none());
    });
}
