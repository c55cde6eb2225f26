//! Turns whose process is killed, at each stage and at random moments, and that are resumed.
//!
//! With 200 random moments: `TURNWRIGHT_KILLS=200 cargo test -p turnwright-sqlite --test it turns -- --nocapture`.
//! Each run prints its seed; `TURNWRIGHT_SEED=…` repeats the moments, as far as timing permits.

mod case;
mod child;
mod journal;
mod judge;
mod random;
mod rivals;
mod script;
mod stages;
#[cfg(unix)]
mod taken_over;
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

/// Returns how often each stage is reached in a run without kills, and how long it takes.
async fn uninterrupted_run() -> (BTreeMap<String, u32>, Duration) {
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
async fn run_without_kills_has_no_unknown_call() {
    let (counts, took) = uninterrupted_run().await;
    say(format!("an uninterrupted run: {took:?}, {counts:?}"));
    for stage in STAGES.iter().filter(|item| !item.is_on_resume_only()) {
        assert!(counts.contains_key(&stage.name()), "{stage:?}");
    }
}

/// Kills at the stages in order, each time in a process that resumes what the previous one left. Returns the stages
/// that were reached.
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
async fn turn_killed_at_any_stage_is_resumed_without_repeated_effects() {
    let mut random = Random::new();
    let (counts, _) = uninterrupted_run().await;
    let mut tally = Tally::default();
    let mut reached = BTreeSet::new();
    for stage in STAGES {
        let stops = match counts.get(&stage.name()) {
            // Whether the second is reached depends on the remaining work.
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
            // The number of lease renewals varies.
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

/// A reconciliation is valid only for the run that it was made for.
#[tokio::test]
async fn call_killed_twice_is_reconciled_twice() {
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
async fn turn_killed_at_random_moments_is_resumed_without_repeated_effects() {
    let kills = kills_or(15);
    let mut random = Random::new();
    let (_, took) = uninterrupted_run().await;
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
