//! Turns whose process is killed, at each stage and at random moments, and that are taken up again.
//!
//! With 200 random moments: `TURNWRIGHT_KILLS=200 cargo test -p turnwright-store --test it turns -- --nocapture`. Each run says
//! its seed; `TURNWRIGHT_SEED=…` plays the moments again, as far as the machine is the same.

mod case;
mod child;
mod journal;
mod judge;
#[cfg(unix)]
mod lost;
mod random;
mod rivals;
mod script;
mod stages;
mod tools;
mod watched;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use case::Case;
use judge::{Tally, judge};
use random::Random;
use stages::{STAGES, Stage, Stop};
use world::Task;

use crate::say;

fn kills_or(few: u32) -> u32 {
    let kills = std::env::var("TURNWRIGHT_KILLS").ok();
    kills.map_or(few, |kills| kills.parse().unwrap())
}

/// How often the stages are come to in a run that nobody kills, and how long it takes.
async fn whole_run() -> (BTreeMap<String, u32>, Duration) {
    let mut case = Case::new();
    let mut life = case.start(Task::Begin, None);
    life.wait_for("ready").unwrap();
    let start = Instant::now();
    life.end();
    let took = start.elapsed();
    let tally = judge(&case).await;
    assert_eq!((tally.unknown, tally.resumes, tally.read_again), (0, 0, 0));
    let mut counts = BTreeMap::new();
    for item in journal::noted(case.folder()) {
        if item.what == "stage" {
            *counts.entry(item.field(0).to_owned()).or_insert(0) += 1;
        }
    }
    (counts, took)
}

#[tokio::test]
async fn a_run_that_nobody_kills_has_no_unknown_call() {
    let (counts, took) = whole_run().await;
    say(format!("a whole run: {took:?}, {counts:?}"));
    for stage in STAGES.iter().filter(|item| !item.is_of_resuming()) {
        assert!(counts.contains_key(&stage.name()), "{stage:?}");
    }
}

/// Kills at the stages in their order, each time in a process that takes up what the one before left. Which of them were
/// reached.
async fn killed_at(stops: Vec<Stop>) -> (Vec<Stage>, Tally) {
    let mut case = Case::new();
    let mut reached = Vec::new();
    let mut task = Task::Begin;
    for stop in stops {
        let stage = stop.stage;
        let mut life = case.start(task, Some(stop));
        task = Task::GoOn;
        if life.wait_for("at ").is_none() {
            life.end();
            continue;
        }
        reached.push(stage);
        assert!(case.kill(life));
    }
    case.finish(task);
    (reached, judge(&case).await)
}

#[tokio::test]
async fn whatever_stage_it_was_killed_at_a_turn_is_taken_up_and_nothing_is_done_twice() {
    let mut random = Random::new();
    let (counts, _) = whole_run().await;
    let mut tally = Tally::default();
    let mut reached = BTreeSet::new();
    for stage in STAGES {
        let stops = match counts.get(&stage.name()) {
            // The second is reached or not: what is left to do decides.
            Some(count) => {
                let nth = 1 + random.below(*count);
                vec![Stop::at(*stage).nth(nth), Stop::at(*stage)]
            }
            None => vec![
                Stop::at(Stage::AfterEffect).of("transfer"),
                Stop::at(*stage),
                Stop::at(*stage),
            ],
        };
        let (met, counted) = killed_at(stops).await;
        if met.is_empty() {
            // How often a lease is renewed is not always the same.
            let (met, counted) = killed_at(vec![Stop::at(*stage)]).await;
            reached.extend(met);
            tally += counted;
        }
        reached.extend(met);
        tally += counted;
    }
    say(format!("{} stages: {tally:?}", reached.len()));
    let missed: Vec<&Stage> = STAGES
        .iter()
        .filter(|item| !reached.contains(item))
        .collect();
    assert!(missed.is_empty(), "never reached: {missed:?}");
}

/// What was found out once is true of that time only.
#[tokio::test]
async fn a_call_that_was_run_again_and_killed_again_is_asked_for_anew() {
    for conversation in ["wire", "transfer"] {
        let (reached, tally) = killed_at(vec![
            Stop::at(Stage::BeforeEffect).of(conversation),
            Stop::at(Stage::AfterEffect).of(conversation),
        ])
        .await;
        assert_eq!(reached, [Stage::BeforeEffect, Stage::AfterEffect]);
        assert!(tally.resumes >= 2);
    }
}

#[tokio::test]
async fn whenever_it_was_killed_a_turn_is_taken_up_and_nothing_is_done_twice() {
    let kills = kills_or(15);
    let mut random = Random::new();
    let (_, took) = whole_run().await;
    let mut tally = Tally::default();
    while tally.kills < kills {
        let mut case = Case::new();
        let mut task = Task::Begin;
        let most = 1 + random.below(4);
        while case.kills < most {
            let mut life = case.start(task, None);
            life.wait_for("ready").unwrap();
            tokio::time::sleep(random.within(took)).await;
            if !case.kill(life) {
                break;
            }
            task = Task::GoOn;
        }
        case.finish(Task::GoOn);
        tally += judge(&case).await;
    }
    say(format!("random moments: {tally:?}"));
}
