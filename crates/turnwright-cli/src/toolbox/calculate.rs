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

/// The time limit of a calculation.
const TIME: Duration = Duration::from_secs(2);

/// How long the tool waits for a calculation that ignores the time limit.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// The name of its threads.
const THREAD: &str = "calculate";

/// The most calculations at once, including those that were abandoned.
const MOST: usize = 4;

/// Enough stack for the deepest expression that the schema allows. Only used pages are allocated.
const STACK: usize = 64 << 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "turnwright::schemars")]
struct Args {
    /// Expression on one line: `3 * (1.19 + 2^0.5)`, `15% of 80`, `5 km to miles`, `0x1f to binary`. No variables, functions or comparisons.
    // The pattern excludes recursive functions and shifts, which cannot be interrupted.
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
            "Calculates an expression with exact numbers of any size, and converts units. Supports + - * / ^ ! mod, \
             percentages, sqrt, sin, ln, log10 and similar functions, pi, e, and most units. Returns the result as text; rounded \
             results begin with `approx.`. Use it instead of calculating yourself.",
        )
        .effects(Effects::ReadOnly)
        .timeout(Duration::from_secs(10))
        .handler_blocking(move |args: Args, _: ToolContext| calculate(&args.expression, &at_work))
        .build()
}

/// Interrupts a calculation at its time limit, wherever it checks for it.
struct Until(Instant);

impl Interrupt for Until {
    fn should_interrupt(&self) -> bool {
        Instant::now() >= self.0
    }
}

/// A running calculation.
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
    // Sums over all throws of many dice cannot be interrupted either.
    if has_dice(expression) {
        let for_model = "`d` before a digit means dice, which are not supported. Put a space between them, or use capital letters in hexadecimal numbers.";
        return Err(ToolError::invalid_arguments("the expression has dice").for_model(for_model));
    }
    let Some(at_work) = AtWork::begin(at_work) else {
        let message = "earlier calculations are still running";
        let for_model = "The calculator is still busy with earlier expressions. Try again later, with smaller numbers.";
        return Err(ToolError::rate_limited(message).for_model(for_model));
    };
    let (answer, answered) = mpsc::sync_channel(1);
    let expression = expression.to_owned();
    // A separate thread: a deep expression needs a large stack, and a calculation that does not stop is abandoned.
    thread::Builder::new()
        .name(THREAD.into())
        .stack_size(STACK)
        .spawn(move || {
            let _at_work = at_work;
            let result = evaluate(&expression);
            // Fails if the calculation was abandoned.
            let _ = answer.send(result);
        })?;
    match answered.recv_timeout(MAX_WAIT) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(why)) if why == "interrupted" => Err(too_long()),
        Ok(Err(why)) => {
            // An error may quote a very long number.
            let why = shortened(&why, 200);
            let for_model = format!("Cannot calculate this: {why}.");
            Err(ToolError::invalid_arguments(why).for_model(for_model))
        }
        Err(RecvTimeoutError::Timeout) => Err(too_long()),
        Err(RecvTimeoutError::Disconnected) => {
            let for_model =
                "The calculator failed on this expression. Try to write it in another way.";
            Err(ToolError::internal("the calculator panicked").for_model(for_model))
        }
    }
}

/// Without random numbers, time and exchange rates.
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
    let for_model = "This takes too long to calculate, because the numbers become too large. Use smaller numbers, or logarithms.";
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
    fn expressions_are_calculated() {
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
    fn a_calculation_that_takes_too_long_is_stopped() {
        for bomb in ["9^9^9^9", "999999999!", "1e-1000000", "10^10^10 mod 7"] {
            let for_model = calculated(bomb).unwrap_err();
            assert!(for_model.contains("too long"), "{bomb}: {for_model}");
        }
        assert!(calculated("100d1000000").unwrap_err().contains("dice"));
    }

    #[test]
    fn the_deepest_expression_does_not_overflow_the_stack() {
        let nested = format!("{}1{}", "(".repeat(99), ")".repeat(99));
        assert_eq!(calculated(&nested).as_deref(), Ok("1"));
        assert!(calculated(&format!("{}1", "-".repeat(199))).is_ok());
        let tower = "1^".repeat(99) + "1";
        assert_eq!(calculated(&tower).as_deref(), Ok("1"));
        let within = format!("{}1{}", "sin(".repeat(39), ")".repeat(39));
        assert!(calculated(&within).is_ok());
    }

    #[test]
    fn random_numbers_time_and_rates_are_not_available() {
        for expression in ["5 USD to EUR", "today", "sample(now)"] {
            let for_model = calculated(expression).unwrap_err();
            assert!(
                for_model.starts_with("Cannot calculate this"),
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
    fn an_error_does_not_quote_a_long_number() {
        let for_model = calculated("10^10000 to roman").unwrap_err();
        assert!(for_model.chars().count() < 300, "{for_model}");
    }

    #[test]
    fn a_panic_of_the_calculator_is_a_failure() {
        let at_work = Arc::default();
        let error = calculate("i^-1", &at_work).unwrap_err();
        assert!(error.model_text().contains("in another way"), "{error}");
        // The failure is reported before the thread has ended.
        while at_work.load(Ordering::Acquire) > 0 {
            thread::yield_now();
        }
    }

    #[test]
    fn abandoned_calculations_count_towards_the_limit() {
        let at_work = Arc::new(AtomicUsize::new(MOST));
        let error = calculate("1 + 1", &at_work).unwrap_err();
        assert!(error.model_text().contains("busy"));
        assert_eq!(at_work.load(Ordering::Acquire), MOST);
    }
}
