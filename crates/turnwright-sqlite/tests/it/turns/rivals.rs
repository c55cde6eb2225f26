//! Processes that resume the same turns concurrently.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use super::case::{Case, Life};
use super::journal::{go, noted};
use super::judge::{Tally, judge};
use super::random::Random;
use super::script::Planned;
use super::stages::{STAGES, Stage, Stop};
use super::world::Task;
use super::{kills_or, uninterrupted_run};
use crate::say;

/// Long enough for a slow machine: no lease expires while its turn runs.
const LEASE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn concurrent_resumes_run_a_turn_once() {
    let mut random = Random::new();
    let (counts, _) = uninterrupted_run().await;
    let stages: Vec<_> = STAGES
        .iter()
        .filter(|item| !item.is_on_resume_only())
        .collect();
    let (mut contested, mut held) = (0, 0);
    let mut tally = Tally::default();
    for _ in 0..kills_or(60) / 10 {
        let mut case = Case::new();
        let stage = *stages[random.below(stages.len() as u32) as usize];
        let nth = 1 + random.below(counts[&stage.name()]);
        let mut life = case.start(Task::Begin, Some(Stop::at(stage).nth(nth)));
        if life.wait_for("at ").is_none() {
            // It reached the stage less often than the other one.
            continue;
        }
        case.kill(life);
        let mut rivals = [(); 2].map(|()| case.start_with(Task::TakeUpAtOnce, None, LEASE));
        for rival in &mut rivals {
            rival.wait_for("ready").unwrap();
        }
        let numbers = rivals.each_ref().map(Life::number);
        fs::write(go(case.folder()), "").unwrap();
        let output = rivals.map(Life::end);
        let mut reported: BTreeMap<&str, u32> = BTreeMap::new();
        for line in output.iter().flatten() {
            let Some(outcome) = line.strip_prefix("outcome ") else {
                continue;
            };
            let (turn, outcome) = outcome.split_once(' ').unwrap();
            let answer = Planned::named(turn).answer();
            match outcome.strip_prefix("answered - ") {
                Some(answered) => assert_eq!(answered, answer),
                None => {
                    assert!(outcome.starts_with("failed E_TURN_HELD"), "{line}");
                    held += 1;
                }
            }
            *reported.entry(turn).or_default() += 1;
        }
        contested += reported.values().filter(|reported| **reported == 2).count();

        let mut ran: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        for item in noted(case.folder()) {
            let turn = match item.what.as_str() {
                "input" => item.field(0),
                "ack" if item.field(1) == "turn" => item.field(2),
                _ => continue,
            };
            if numbers.contains(&item.life) {
                ran.entry(turn.to_owned()).or_default().insert(item.life);
            }
        }
        for (turn, ran) in ran {
            assert_eq!(ran.len(), 1, "both ran {turn} after {stage:?} {nth}");
        }
        case.finish(Task::GoOn);
        tally += judge(&case).await;
    }
    say(format!(
        "two processes: {contested} turns were contested, {held} attempts found the lease held; {tally:?}"
    ));
    assert!(contested > 0);
}

#[tokio::test]
async fn resume_of_a_running_turn_waits_and_returns_its_answer() {
    let mut case = Case::of("writes");
    let stop = Stop::at(Stage::BeforeBegun).nth(2).continues();
    let mut owner = case.start_with(Task::Begin, Some(stop), LEASE);
    owner.wait_for("at ").unwrap();
    let mut other = case.start(Task::TakeUp, None);
    other.wait_for("ready").unwrap();
    let number = other.number();
    fs::write(go(case.folder()), "").unwrap();
    let reported = "outcome writes-1 answered - writes-1 is done.".to_owned();
    for output in [owner.end(), other.end()] {
        assert!(output.contains(&reported), "{output:?}");
    }
    let noted = noted(case.folder());
    assert!(noted.iter().all(|item| item.life != number), "{noted:?}");
    let tally = judge(&case).await;
    assert_eq!((tally.resumes, tally.unknown, tally.effects), (0, 0, 2));
}
