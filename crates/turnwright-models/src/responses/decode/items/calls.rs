//! The calls among the items.

use serde_json::{Map, Value};
use turnwright_core::{Error, ErrorCode};

use super::{Class, Items};
use crate::decode::{Delta, too_large};
use crate::engine::Part;

/// The maximum number of calls in one response. Every call would be executed.
const MAX_CALLS: usize = 1_000;

impl Items {
    /// Reads a piece of a call.
    pub(super) fn call(
        &mut self,
        index: u64,
        (id, name): (Option<String>, String),
        arguments: &str,
        extra: Option<Map<String, Value>>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        let slot = self.calls;
        let open = self.open(index, Class::Call, deltas)?;
        let is_new = open.entry.is_none();
        if is_new {
            open.call.slot = slot;
            open.entry = Some(0);
        }
        let call = &mut open.call;
        call.arguments.push_str(arguments);
        let id = id.filter(|id| !call.has_id && !id.is_empty());
        let name = Some(name).filter(|name| !call.has_name && !name.is_empty());
        call.has_id |= id.is_some();
        call.has_name |= name.is_some();
        deltas.push(Delta::Call {
            slot: call.slot,
            id,
            name,
            arguments: arguments.to_owned(),
            extra,
        });
        if is_new {
            self.entries.add(index, vec![Part::Call]);
            self.calls += 1;
        }
        match self.calls > MAX_CALLS {
            true => Err(too_large(format!(
                "the response has more than {MAX_CALLS} calls"
            ))),
            false => Ok(()),
        }
    }

    /// Ends a call: its item has the arguments.
    pub(super) fn complete_call(
        &mut self,
        index: u64,
        names: (Option<String>, String),
        arguments: &str,
        fields: Option<Map<String, Value>>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        let open = self
            .open
            .get(&index)
            .filter(|open| open.class == Class::Call);
        let known = open.map_or("", |open| open.call.arguments.as_str());
        let rest = match arguments.strip_prefix(known) {
            Some(rest) => rest,
            None if known.trim().is_empty() => arguments,
            None if is_same(known, arguments) => "",
            None => {
                let message = "the arguments of a call differ between its deltas and its item";
                return Err(Error::new(ErrorCode::WIRE_ERROR, message));
            }
        };
        self.call(index, names, rest, fields, deltas)?;
        self.open.remove(&index);
        Ok(())
    }
}

/// Returns `true` if two texts are the same JSON.
fn is_same(one: &str, two: &str) -> bool {
    let parse = |text| serde_json::from_str::<Value>(text).ok();
    parse(one).is_some_and(|one| Some(one) == parse(two))
}
