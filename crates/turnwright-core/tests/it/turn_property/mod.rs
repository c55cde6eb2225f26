//! Random turns, and the invariants that must hold for all of them.
//!
//! A script describes what happens in a few concurrent turns: calls, failures, gates, approvals, cancellations, and the behaviour
//! of middleware and the store. It runs on a paused clock, so that it is fast and deterministic. A model predicts the result. For
//! a long run:
//!
//! ```text
//! TURNWRIGHT_TURN_CASES=200000 cargo test --release -p turnwright-core --test it turn_property -- --nocapture
//! ```
//!
//! A failure prints the seed and the smallest failing script. `TURNWRIGHT_SEED` runs the same cases again.

mod answers;
mod dropped;
mod events;
mod judge;
mod layers;
mod model;
mod play;
mod script;
mod smallest;
mod suspended;
mod tools;
mod watched_store;
mod world;

use std::collections::BTreeMap;
use std::env;

use parking_lot::Mutex;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use tokio::runtime::{Builder, Runtime};

use script::{Script, scripts};

const CASES: u32 = 400;
const SEED: u64 = 0x7475_726E;
/// With several threads the clock is real, so a case takes longer.
const THREADED_SHARE: u32 = 50;

#[test]
fn random_turns_account_for_every_call_and_leave_nothing_behind() {
    let one_thread = || {
        Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap()
    };
    run(cases(), 3, one_thread, true);
}

#[test]
fn random_turns_on_several_threads() {
    let threads = || {
        Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .unwrap()
    };
    run(cases().div_ceil(THREADED_SHARE), 4, threads, false);
}

fn run(cases: u32, turns: usize, runtime: impl Fn() -> Runtime, strict: bool) {
    let seed = number_from("TURNWRIGHT_SEED").unwrap_or(SEED);
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 4_000,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let tally: Mutex<BTreeMap<String, usize>> = Mutex::default();
    let result = TestRunner::new_with_rng(config, rng).run(&scripts(turns), |script: Script| {
        let runtime = runtime();
        let played = play::play(&script, &runtime, strict);
        let mut tally = tally.lock();
        for outcome in played.outcomes.iter() {
            let how = outcome.as_ref().map_or("dropped".to_owned(), judge::ended);
            *tally.entry(how).or_default() += 1;
        }
        drop(tally);
        let wrong = runtime.block_on(judge::judge(played));
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(TestCaseError::fail(wrong.join("\n")))
        }
    });
    match result {
        Ok(()) => {}
        Err(TestError::Fail(why, script)) => {
            panic!("TURNWRIGHT_SEED={seed}: {why}\n{script:#?}")
        }
        Err(error) => panic!("TURNWRIGHT_SEED={seed}: {error}"),
    }
    let tally = tally.into_inner();
    crate::say(format_args!(
        "TURNWRIGHT_SEED={seed} TURNWRIGHT_TURN_CASES={cases}: {tally:?}"
    ));
}

fn cases() -> u32 {
    let asked = number_from("TURNWRIGHT_TURN_CASES");
    asked
        .and_then(|cases| cases.try_into().ok())
        .unwrap_or(CASES)
}

fn number_from(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.parse().ok()
}
