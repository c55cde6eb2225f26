//! Follows the references of a schema.

use std::collections::HashSet;

use serde_json::Value;

use super::rules::StrictRules;
use super::{child, inner, misfit};

/// Checks that all references lead to a schema of the document, and back to themselves only if that is allowed.
pub(super) fn check(document: &Value, rules: &StrictRules) -> Result<(), String> {
    let mut references = References {
        document,
        rules,
        finished: HashSet::new(),
    };
    references.follow("", &mut Vec::new())
}

struct References<'a> {
    document: &'a Value,
    rules: &'a StrictRules,
    /// Schemas whose references were followed.
    finished: HashSet<String>,
}

impl References<'_> {
    fn follow(&mut self, target: &str, path: &mut Vec<String>) -> Result<(), String> {
        if self.finished.contains(target) {
            return Ok(());
        }
        let Some(schema) = self.document.pointer(target) else {
            let why = "a `$ref` refers to this schema, which does not exist";
            return Err(misfit(target, why));
        };
        path.push(target.to_owned());
        let mut waiting = vec![(schema, target.to_owned(), "")];
        while let Some((schema, at, keyword)) = waiting.pop() {
            let Value::Object(fields) = schema else {
                continue;
            };
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                let at = child(&at, "$ref");
                if keyword == "allOf" && !self.rules.references_in_all_of {
                    let why = "`allOf` cannot have a `$ref`: copy the definition";
                    return Err(misfit(&at, why));
                }
                self.reference(reference, &at, path)?;
            }
            let inner = inner(fields, &at).into_iter();
            let used = inner.filter(|inner| !["$defs", "definitions"].contains(&inner.keyword));
            waiting.extend(used.map(|inner| (inner.schema, inner.at, inner.keyword)));
        }
        path.pop();
        self.finished.insert(target.to_owned());
        Ok(())
    }

    fn reference(
        &mut self,
        reference: &str,
        at: &str,
        path: &mut Vec<String>,
    ) -> Result<(), String> {
        let Some(target) = reference.strip_prefix('#') else {
            let why =
                "only references within the schema are supported: copy the definition into `$defs`";
            return Err(misfit(at, why));
        };
        if path.iter().all(|step| step != target) {
            return self.follow(target, path);
        }
        if self.rules.allows_recursion {
            return Ok(());
        }
        let why = "recursive schemas are not supported: limit the depth with nested definitions";
        Err(misfit(at, why))
    }
}
