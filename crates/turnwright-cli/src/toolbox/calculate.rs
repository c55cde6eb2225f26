//! The calculator.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use fend_core::{Context, Interrupt};
use serde::Deserialize;
use turnwright::prelude::*;
use turnwright::schemars::JsonSchema;
use turnwright::{Effects, Error};

use super::content::shortened;

/// How long a calculation may take.
const TIME: Duration = Duration::from_secs(2);

/// How long it is waited for one that does not notice that its time is over.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// What its threads are called.
const THREAD: &str = "calculate";

/// How many may be at work, those included that nobody waits for any more.
const MOST: usize = 4;

/// What the deepest expression that fits needs, with room to spare. Only what is used is taken.
const STACK: usize = 64 << 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "turnwright::schemars")]
struct Args {
    /// On one line: `3 * (1.19 + 2^0.5)`, `15% of 80`, `5 km to miles`, `0x1f to binary`. No variables, functions or comparisons.
    // What is left out by the pattern makes functions that call themselves, and shifts that nothing stops.
    #[schemars(
        length(min = 1, max = 200),
        regex(pattern = r#"^[^<>=:;\\\u03bb\u2260@"{}\[\]\n\r]*$"#)
    )]
    expression: String,
}

pub(super) fn tool() -> Result<Tool, Error> {
    let at_work = Arc::new(AtomicUsize::new(0));
    Tool::typed::<Args>("calculate")
        .description(
            "Calculates an expression with exact numbers of any size, and converts units. Knows + - * / ^ ! mod, \
             percentages, sqrt, sin, ln, log10 and so on, pi, e, and most units. Returns the result as text; `approx.` \
             stands before one that is rounded. Use it instead of calculating yourself.",
        )
        .effects(Effects::ReadOnly)
        .timeout(Duration::from_secs(10))
        .handler_blocking(move |args: Args, _: ToolContext| calculate(&args.expression, &at_work))
        .build()
}

/// Stops a calculation when its time is over, wherever it asks.
struct Until(Instant);

impl Interrupt for Until {
    fn should_interrupt(&self) -> bool {
        Instant::now() >= self.0
    }
}

/// One that is at work.
struct AtWork(Arc<AtomicUsize>);

impl AtWork {
    fn begin(count: &Arc<AtomicUsize>) -> Option<Self> {
        let one = AtWork(Arc::clone(count));
        (count.fetch_add(1, Ordering::AcqRel) < MOST).then_some(one)
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn calculate(expression: &str, at_work: &Arc<AtomicUsize>) -> Result<String, ToolError> {
    // Sums over all throws of many dice are not stopped by anything either.
    if has_dice(expression) {
        let for_model = "`d` before a digit means dice, which are not calculated. Write a space between them, or capital letters in a hexadecimal number.";
        return Err(ToolError::invalid_arguments("it has dice").for_model(for_model));
    }
    let Some(at_work) = AtWork::begin(at_work) else {
        let message = "earlier calculations are still at work";
        let for_model = "The calculator is still busy with earlier expressions. Try again later, with smaller numbers.";
        return Err(ToolError::rate_limited(message).for_model(for_model));
    };
    let (answer, answered) = mpsc::sync_channel(1);
    let expression = expression.to_owned();
    // A thread of its own: a deep expression needs more stack than others have, and one that goes on is left behind.
    thread::Builder::new()
        .name(THREAD.into())
        .stack_size(STACK)
        .spawn(move || {
            let _at_work = at_work;
            let result = evaluate(&expression);
            // Nobody waits any more.
            let _ = answer.send(result);
        })?;
    match answered.recv_timeout(MAX_WAIT) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(why)) if why == "interrupted" => Err(too_long()),
        Ok(Err(why)) => {
            // An error may quote a number of a hundred thousand digits.
            let why = shortened(&why, 200);
            let for_model = format!("This cannot be calculated: {why}.");
            Err(ToolError::invalid_arguments(why).for_model(for_model))
        }
        Err(RecvTimeoutError::Timeout) => Err(too_long()),
        Err(RecvTimeoutError::Disconnected) => {
            let for_model =
                "The calculator failed at this expression. Try another way to write it.";
            Err(ToolError::internal("the calculator panicked").for_model(for_model))
        }
    }
}

/// Nothing is known to it but numbers and units: no chance, no time of day, no rates of exchange.
fn evaluate(expression: &str) -> Result<String, String> {
    let until = Until(Instant::now() + TIME);
    let result = fend_core::evaluate_with_interrupt(expression, &mut Context::new(), &until)?;
    Ok(result.get_main_result().to_owned())
}

fn has_dice(expression: &str) -> bool {
    let mut after_d = expression.split('d').skip(1);
    after_d.any(|rest| rest.starts_with(|ch: char| ch.is_ascii_digit()))
}

fn too_long() -> ToolError {
    let for_model = "This takes too long to calculate: the numbers become too large. Use smaller ones, or logarithms.";
    ToolError::timeout("the calculation took too long").for_model(for_model)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calculated(expression: &str) -> Result<String, String> {
        let result = calculate(expression, &Arc::default());
        result.map_err(|error| error.model_text().to_owned())
    }

    #[test]
    fn it_calculates() {
        for (expression, result) in [
            ("1 + 2 * 3", "7"),
            ("0.1 + 0.2", "0.3"),
            ("15% of 80", "12"),
            ("2^100", "1267650600228229401496703205376"),
            ("5 km to m", "5000 m"),
            ("255 to hex", "ff"),
            ("1/3 to exact", "1/3"),
        ] {
            assert_eq!(calculated(expression).as_deref(), Ok(result));
        }
    }

    #[test]
    fn what_would_never_end_is_stopped_and_said() {
        for bomb in ["9^9^9^9", "999999999!", "1e-1000000", "10^10^10 mod 7"] {
            let for_model = calculated(bomb).unwrap_err();
            assert!(for_model.contains("too long"), "{bomb}: {for_model}");
        }
        assert!(calculated("100d1000000").unwrap_err().contains("dice"));
    }

    #[test]
    fn the_deepest_expression_is_no_danger() {
        let nested = format!("{}1{}", "(".repeat(99), ")".repeat(99));
        assert_eq!(calculated(&nested).as_deref(), Ok("1"));
        assert!(calculated(&format!("{}1", "-".repeat(199))).is_ok());
        let tower = "1^".repeat(99) + "1";
        assert_eq!(calculated(&tower).as_deref(), Ok("1"));
        let within = format!("{}1{}", "sin(".repeat(39), ")".repeat(39));
        assert!(calculated(&within).is_ok());
    }

    #[test]
    fn neither_chance_nor_the_world_are_reached() {
        for expression in ["5 USD to EUR", "today", "sample(now)"] {
            let for_model = calculated(expression).unwrap_err();
            assert!(
                for_model.starts_with("This cannot be calculated"),
                "{for_model}"
            );
        }
        assert!(calculated("roll d6").unwrap_err().contains("dice"));
    }

    #[test]
    fn functions_and_shifts_are_refused_by_the_schema() {
        let tool = tool().unwrap();
        for expression in [
            r"(\x. x x)(\x. x x)",
            "f = x: f x; f 1",
            "(λx. x x) 1",
            "1 << 10^12",
            "x => x",
        ] {
            let args = serde_json::json!({ "expression": expression });
            let error = tool.probe(&args).unwrap_err();
            assert_eq!(error.faults()[0].pointer, "/expression", "{expression}");
        }
    }

    #[test]
    fn an_error_does_not_quote_a_number_of_many_pages() {
        let for_model = calculated("10^10000 to roman").unwrap_err();
        assert!(for_model.chars().count() < 300, "{for_model}");
    }

    #[test]
    fn a_panic_of_the_calculator_is_a_failure_like_others() {
        let at_work = Arc::default();
        let error = calculate("i^-1", &at_work).unwrap_err();
        assert!(error.model_text().contains("another way"), "{error}");
        // It is said before the thread is gone.
        while at_work.load(Ordering::Acquire) > 0 {
            thread::yield_now();
        }
    }

    #[test]
    fn those_that_were_left_behind_are_counted() {
        let at_work = Arc::new(AtomicUsize::new(MOST));
        let error = calculate("1 + 1", &at_work).unwrap_err();
        assert!(error.model_text().contains("busy"));
        assert_eq!(at_work.load(Ordering::Acquire), MOST);
    }
}
