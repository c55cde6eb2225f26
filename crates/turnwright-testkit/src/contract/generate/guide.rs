//! What earlier values taught: which parts of the document no value has reached, and which never succeed.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::contract::document::Object;

/// So many failures without a success, and a part is tried only now and then.
const PATIENCE: u32 = 6;

/// Kept from value to value; makes chance look where it has not been.
#[derive(Debug, Default)]
pub(crate) struct Guide {
    unreached: HashSet<*const Object>,
    failures: HashMap<Vec<*const Value>, u32>,
}

impl Guide {
    /// Takes the schemas that no accepted value has reached, with all that lead to them.
    pub(crate) fn look_for(&mut self, unreached: HashSet<*const Object>) {
        self.unreached = unreached;
    }

    pub(super) fn is_unreached(&self, schema: &Value) -> bool {
        match schema {
            Value::Object(object) => self.unreached.contains(&std::ptr::from_ref(object)),
            _ => false,
        }
    }

    /// Remembers whether a value was found that keeps all these rules.
    pub(super) fn learn(&mut self, rules: &[&Value], success: bool) {
        let key = rules
            .iter()
            .map(|rule| std::ptr::from_ref::<Value>(rule))
            .collect();
        if success {
            self.failures.insert(key, 0);
        } else {
            let failures = self.failures.entry(key).or_insert(1);
            // A part that succeeded once is never given up.
            if *failures > 0 {
                *failures += 1;
            }
        }
    }

    pub(super) fn is_barren(&self, rules: &[&Value]) -> bool {
        let key: Vec<_> = rules
            .iter()
            .map(|rule| std::ptr::from_ref::<Value>(rule))
            .collect();
        self.failures
            .get(&key)
            .is_some_and(|failures| *failures > PATIENCE)
    }
}
