//! Numbers: at the bounds, beside them, and between.

use serde_json::{Number, Value};

use super::Generator;
use crate::contract::document::Object;
use crate::contract::number::{float, from_integer, integer};

/// The largest integer that every reader of JSON takes exactly.
const SAFE: i128 = 9_007_199_254_740_991;

impl<'d> Generator<'_, 'd> {
    pub(super) fn integer(&mut self, schemas: &[&'d Object]) -> Option<Value> {
        let least = bounds(schemas, "minimum", "exclusiveMinimum")
            .map(|(bound, open)| match integer(bound) {
                Some(n) if open => n.saturating_add(1),
                Some(n) => n,
                None if float(bound) < 0.0 => -(float(bound).abs().floor() as i128),
                None => float(bound).ceil() as i128,
            })
            .max();
        let most = bounds(schemas, "maximum", "exclusiveMaximum")
            .map(|(bound, open)| match integer(bound) {
                Some(n) if open => n.saturating_sub(1),
                Some(n) => n,
                None => float(bound).floor() as i128,
            })
            .min();
        let (low, high) = match (least, most) {
            (Some(low), Some(high)) => (low, high),
            (Some(low), None) => (low, low.saturating_add(1_000).max(SAFE)),
            (None, Some(high)) => (high.saturating_sub(1_000).min(-SAFE), high),
            (None, None) => (-SAFE, SAFE),
        };
        // What no 64 bits can hold is not made.
        let (low, high) = (
            low.max(i128::from(i64::MIN)),
            high.min(i128::from(u64::MAX)),
        );
        if low > high {
            return None;
        }
        let step = steps(schemas)
            .filter_map(integer)
            .fold(1_i128, |all, step| all.saturating_mul(step.max(1)));
        let near = i128::try_from(self.rng.below(100)).unwrap_or(0);
        let far = i128::from(self.rng.next() >> 1);
        let wanted = match self.rng.below(8) {
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
        // The multiple below it, or the first one inside.
        let multiple = wanted - wanted.rem_euclid(step);
        let multiple = if multiple < low {
            multiple.saturating_add(step)
        } else {
            multiple
        };
        if multiple > high {
            return None;
        }
        // `7.0` is an integer too, however it is spelled.
        if multiple.abs() < 1_000 && self.rng.one_in(20) {
            return Number::from_f64(multiple as f64).map(Value::Number);
        }
        from_integer(multiple)
    }

    pub(super) fn number(&mut self, schemas: &[&'d Object]) -> Option<Value> {
        if self.rng.one_in(3)
            && let Some(value) = self.integer(schemas)
        {
            return Some(value);
        }
        let low = bounds(schemas, "minimum", "exclusiveMinimum")
            .map(|(bound, _)| float(bound))
            .reduce(f64::max);
        let high = bounds(schemas, "maximum", "exclusiveMaximum")
            .map(|(bound, _)| float(bound))
            .reduce(f64::min);
        let (low, high) = match (low, high) {
            (Some(low), Some(high)) => (low, high),
            (Some(low), None) => (low, low + 1_000.0),
            (None, Some(high)) => (high - 1_000.0, high),
            (None, None) => (-1_000.0, 1_000.0),
        };
        let share = self.rng.below(8_000) as f64 / 8_000.0;
        let wanted = match self.rng.below(8) {
            0 => low,
            1 => high,
            2 => low + (high - low) * 1e-3,
            3 => high - (high - low) * 1e-3,
            _ => low + (high - low) * share,
        };
        let step = steps(schemas).map(float).reduce(f64::max);
        let Some(step) = step else {
            return Number::from_f64(wanted).map(Value::Number);
        };
        // Through decimal text: `3 * 0.1` is not what anyone means by a multiple of 0.1.
        let times = (wanted / step).floor();
        [times, times + 1.0].into_iter().find_map(|times| {
            let decimals = format!("{step}")
                .split_once('.')
                .map_or(0, |(_, decimals)| decimals.len());
            let value: f64 = format!("{:.decimals$}", times * step).parse().ok()?;
            (low..=high)
                .contains(&value)
                .then(|| Number::from_f64(value).map(Value::Number))?
        })
    }
}

/// The bounds that these schemas set on one side, and whether each leaves its own value out.
fn bounds<'d>(
    schemas: &[&'d Object],
    closed: &'static str,
    open: &'static str,
) -> impl Iterator<Item = (&'d Number, bool)> {
    schemas
        .iter()
        .flat_map(move |schema| {
            [(closed, false), (open, true)]
                .into_iter()
                .filter_map(move |(keyword, open)| match schema.get(keyword) {
                    Some(Value::Number(bound)) => Some((bound, open)),
                    _ => None,
                })
        })
        .collect::<Vec<_>>()
        .into_iter()
}

fn steps<'d>(schemas: &[&'d Object]) -> impl Iterator<Item = &'d Number> {
    schemas
        .iter()
        .filter_map(|schema| match schema.get("multipleOf") {
            Some(Value::Number(step)) => Some(step),
            _ => None,
        })
        .collect::<Vec<_>>()
        .into_iter()
}
