//! Evaluates paths on a parsed document or on streamed lines.

use serde_json::Value;

use super::format::{is_lines, parse};
use super::page::type_of;
use super::path::{Flow, JsonPath, Place};
use super::records::Records;
use crate::artifact::{ArtifactKind, ArtifactLimits, ArtifactRead};
use crate::error::Error;
use crate::schema::{clip, counted};

/// Maximum number of nodes to follow when explaining why a path matches nothing.
const HINT_WAYS: usize = 8;

pub(super) struct Content<'r> {
    form: Form<'r>,
    limits: ArtifactLimits,
}

enum Form<'r> {
    Document(Value),
    Lines(Records<'r>),
}

impl<'r> Content<'r> {
    pub(super) fn open(
        read: &'r ArtifactRead,
        kind: ArtifactKind,
        limits: ArtifactLimits,
    ) -> Result<Self, Error> {
        let form = if kind == ArtifactKind::JSON_LINES || is_lines(read)? {
            Form::Lines(Records::new(read))
        } else {
            Form::Document(parse(read, limits)?)
        };
        Ok(Content { form, limits })
    }

    /// Returns the records if the content is JSON Lines and the path is `$`.
    pub(super) fn all_records(&mut self, path: &JsonPath) -> Option<&mut Records<'r>> {
        match &mut self.form {
            Form::Lines(records) if path.is_root() => Some(records),
            _ => None,
        }
    }

    /// Calls `take` for every node that the path matches, in order.
    pub(super) fn select(
        &mut self,
        path: &JsonPath,
        visit: &mut dyn FnMut(&Place<'_>, &Value),
    ) -> Result<(), Error> {
        let mut take = |place: &Place<'_>, node: &Value| {
            visit(place, node);
            Flow::Continue(())
        };
        match &mut self.form {
            Form::Document(document) => path.select(document, &mut take),
            Form::Lines(records) if path.needs_all_records() => {
                let document = records.assemble(path, self.limits)?;
                path.select(&document, &mut take)
            }
            Form::Lines(records) => records.select(path, &mut take),
        }
    }

    /// Returns a note about skipped lines.
    pub(super) fn note(&self) -> Option<String> {
        match &self.form {
            Form::Document(_) => None,
            Form::Lines(records) => records.stats.note(),
        }
    }

    /// Explains why a path matches nothing: the last node on the way and what it contains.
    pub(super) fn dead_end(&self, path: &JsonPath) -> Option<String> {
        match &self.form {
            Form::Lines(records) => lines_have_no_names(path).or_else(|| {
                let stats = &records.stats;
                let known = stats.complete && path.is_one_step();
                known.then(|| format!("`$` is an array of {}", counted(stats.records, "element")))
            }),
            Form::Document(document) => last_on_the_way(path, document),
        }
    }
}

fn lines_have_no_names(path: &JsonPath) -> Option<String> {
    path.begins_with_names().then(|| {
        let text = path.to_string();
        let rest = clip(text.strip_prefix('$').unwrap_or(&text).trim_start(), 80);
        format!("the content is JSON Lines and `$` is the array of records: use `$[*]{rest}`")
    })
}

fn last_on_the_way(path: &JsonPath, document: &Value) -> Option<String> {
    path.prefixes().take(HINT_WAYS).find_map(|way| {
        let mut found = None;
        let _ = way.select(document, &mut |place, node| {
            let path = clip(&place.path(), 100);
            found = Some(format!("`{path}` is {}", described(node)));
            Flow::Break(())
        });
        found
    })
}

/// Describes a node, with the names of its first members.
pub(super) fn described(node: &Value) -> String {
    match node {
        Value::Object(members) if members.is_empty() => "an empty object".to_owned(),
        Value::Object(members) => {
            let mut names = String::new();
            for name in members.keys() {
                if names.len() > 100 {
                    names.push_str(", …");
                    break;
                }
                names.push_str(if names.is_empty() { "" } else { ", " });
                names.push_str(&Value::from(clip(name, 40)).to_string());
            }
            format!(
                "an object with {}: {names}",
                counted(members.len() as u64, "key")
            )
        }
        Value::Array(items) => format!("an array of {}", counted(items.len() as u64, "element")),
        Value::Null => "null".to_owned(),
        node => format!("a {}", type_of(node)),
    }
}
