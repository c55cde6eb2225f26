//! Numbers: at the bounds, next to them, and in between.

use serde_json::{Number, Value, json};

use super::Generator;
use crate::contract::document::{Object, float, floor};

/// The largest integer that every JSON parser reads exactly.
const SAFE: i128 = 9_007_199_254_740_991;

impl<'d> Generator<'_, 'd> {
    /// Generates a number, also for the type `integer`.
    pub(super) fn number(&mut self, schemas: &[&'d Object], only_integers: bool) -> Option<Value> {
        let integer = only_integers || self.rng.usize(..3) == 0;
        let value = match integer.then(|| self.integer(schemas)).flatten() {
            None if only_integers => return None,
            None => self.fraction(schemas)?,
            Some(value) => value,
        };
        // Decimal and binary arithmetic differ on fractions, and so do validators.
        self.uncertain |= rules(schemas, "multipleOf").any(|step| {
            let quotient = value.as_f64().unwrap_or(f64::NAN) / float(step);
            !step.is_u64() && (quotient.fract() != 0.0 || quotient.abs() >= SAFE as f64)
        });
        Some(value)
    }

    fn integer(&mut self, schemas: &[&'d Object]) -> Option<Value> {
        let above = rules(schemas, "exclusiveMinimum").map(|n| floor(n).saturating_add(1));
        let least = rules(schemas, "minimum").map(ceil).chain(above).max();
        let below = rules(schemas, "exclusiveMaximum").map(|n| ceil(n).saturating_sub(1));
        let most = rules(schemas, "maximum").map(floor).chain(below).min();
        // Integers beyond 64 bits are not generated.
        let low = least
            .unwrap_or(most.map_or(-SAFE, |most| most.saturating_sub(1_000).min(-SAFE)))
            .max(i128::from(i64::MIN));
        let high = most
            .unwrap_or(least.map_or(SAFE, |least| least.saturating_add(1_000).max(SAFE)))
            .min(i128::from(u64::MAX));
        if low > high {
            return None;
        }
        let steps = rules(schemas, "multipleOf")
            .filter(|step| step.is_u64())
            .map(floor);
        let step = steps.fold(1_i128, |all, step| all.saturating_mul(step.max(1)));
        let near = i128::try_from(self.rng.usize(..100)).unwrap_or(0);
        let far = i128::from(self.rng.u64(..) >> 1);
        let wanted = match self.rng.usize(..8) {
            0 => low,
            1 => high,
            2 => low + 1,
            3 => high - 1,
            4 => 0,
            5 => near - 50,
            6 => low.saturating_add(near),
            _ => low.saturating_add(far.rem_euclid((high - low).saturating_add(1))),
        }
        .clamp(low, high);
        // The multiple below, or the first one in the range.
        let below = wanted - wanted.rem_euclid(step);
        let multiple = if below < low {
            below.saturating_add(step)
        } else {
            below
        };
        if multiple > high {
            return None;
        }
        // `7.0` is an integer too.
        if multiple.abs() < 1_000 && self.rng.usize(..20) == 0 {
            return Some(json!(multiple as f64));
        }
        integer_value(multiple)
    }

    fn fraction(&mut self, schemas: &[&'d Object]) -> Option<Value> {
        let both = |closed, open| {
            rules(schemas, closed)
                .chain(rules(schemas, open))
                .map(float)
        };
        let low = both("minimum", "exclusiveMinimum").reduce(f64::max);
        let high = both("maximum", "exclusiveMaximum").reduce(f64::min);
        let low = low.unwrap_or(high.unwrap_or(0.0) - 1_000.0);
        let high = high.unwrap_or(low + 2_000.0);
        let share = match self.rng.usize(..8) {
            0 => 0.0,
            1 => 1.0,
            2 => 1e-3,
            3 => 1.0 - 1e-3,
            _ => self.rng.usize(..8_000) as f64 / 8_000.0,
        };
        let wanted = low + (high - low) * share;
        let Some(step) = rules(schemas, "multipleOf").map(float).reduce(f64::max) else {
            return Number::from_f64(wanted).map(Value::Number);
        };
        // Through decimal text: `3 * 0.1` is not the multiple of 0.1 that people mean.
        let text = step.to_string();
        let decimals = text
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        let times = (wanted / step).floor();
        let value = [times, times + 1.0]
            .into_iter()
            .filter_map(|times| format!("{:.decimals$}", times * step).parse::<f64>().ok())
            .find(|value| (low..=high).contains(value))?;
        Number::from_f64(value).map(Value::Number)
    }
}

fn rules<'d>(schemas: &[&'d Object], keyword: &str) -> impl Iterator<Item = &'d Number> {
    schemas
        .iter()
        .filter_map(move |schema| schema.get(keyword)?.as_number())
}

fn ceil(number: &Number) -> i128 {
    floor(number) + i128::from(number.is_f64() && float(number).fract() != 0.0)
}

/// Returns an integer as a JSON number, if it fits into 64 bits.
pub(crate) fn integer_value(integer: i128) -> Option<Value> {
    let signed = i64::try_from(integer).map(Value::from).ok();
    signed.or_else(|| u64::try_from(integer).map(Value::from).ok())
}
