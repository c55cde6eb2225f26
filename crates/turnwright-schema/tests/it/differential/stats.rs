//! Statistics of a run. A property that holds only for values that were never generated proves nothing, so these
//! numbers are asserted too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;
use turnwright_schema::RepairKind;

use super::documents::Draft;
use super::judge::Verdict;
use super::walk;

/// The repairs that documents trigger: all but `NoArguments`, which a complete response without arguments does.
const REPAIRS: [RepairKind; 6] = [
    RepairKind::Number,
    RepairKind::Boolean,
    RepairKind::Json,
    RepairKind::Integer,
    RepairKind::NullAsAbsent,
    RepairKind::Default,
];

/// Every keyword that a document may contain. Draft 7's tuple is counted separately from its list.
const KEYWORDS: &[&str] = &[
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$ref",
    "$schema",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "default",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "deprecated",
    "description",
    "else",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "items[]",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "readOnly",
    "required",
    "then",
    "title",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "writeOnly",
    "x-origin",
];

#[derive(Default)]
pub(super) struct Stats {
    documents: u64,
    draft_7: u64,
    recursive: u64,
    refused_documents: u64,
    refusals: BTreeMap<String, u64>,
    keywords: BTreeMap<&'static str, u64>,
    cases: u64,
    accepted: u64,
    must_pass: u64,
    made: u64,
    repaired: u64,
    repairs: BTreeMap<String, u64>,
}

impl Stats {
    pub(super) fn document(&mut self, document: &Value) {
        self.documents += 1;
        self.draft_7 += u64::from(Draft::of(document) == Draft::V7);
        let mut seen = BTreeSet::new();
        let mut recursive = false;
        walk::subschemas(document, &mut |pointer, schema| {
            for (keyword, value) in schema {
                let name = if keyword == "items" && value.is_array() {
                    "items[]"
                } else {
                    keyword
                };
                seen.extend(KEYWORDS.iter().find(|known| **known == name));
            }
            let target = schema
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|target| target.strip_prefix('#'));
            recursive |= target.is_some_and(|target| pointer.starts_with(target));
        });
        self.recursive += u64::from(recursive);
        for keyword in seen {
            *self.keywords.entry(keyword).or_default() += 1;
        }
    }

    pub(super) fn refused_document(&mut self, reason: String) {
        self.refused_documents += 1;
        *self.refusals.entry(reason).or_default() += 1;
    }

    pub(super) fn case(&mut self, made: bool, must_pass: bool, verdict: &Verdict) {
        self.cases += 1;
        self.made += u64::from(made);
        self.must_pass += u64::from(must_pass);
        self.accepted += u64::from(verdict.accepted);
        self.repaired += u64::from(!verdict.repairs.is_empty());
        for kind in REPAIRS.iter().filter(|kind| verdict.repairs.contains(kind)) {
            *self.repairs.entry(format!("{kind:?}")).or_default() += 1;
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.documents += other.documents;
        self.draft_7 += other.draft_7;
        self.recursive += other.recursive;
        self.refused_documents += other.refused_documents;
        self.cases += other.cases;
        self.accepted += other.accepted;
        self.must_pass += other.must_pass;
        self.made += other.made;
        self.repaired += other.repaired;
        for (reason, count) in other.refusals {
            *self.refusals.entry(reason).or_default() += count;
        }
        for (keyword, count) in other.keywords {
            *self.keywords.entry(keyword).or_default() += count;
        }
        for (kind, count) in other.repairs {
            *self.repairs.entry(kind).or_default() += count;
        }
    }

    pub(super) fn assert_worth_something(&self) {
        let tried = self.documents + self.refused_documents;
        assert!(
            self.refused_documents * 20 <= tried,
            "{} of {tried} documents were rejected",
            self.refused_documents
        );
        assert!(
            self.made * 100 >= self.cases * 45,
            "{} of {} values were made from their document",
            self.made,
            self.cases
        );
        let share = self.accepted * 100 / self.cases.max(1);
        assert!(
            (30..=70).contains(&share),
            "{share} % of the values were accepted"
        );
        for keyword in KEYWORDS {
            let count = self.keywords.get(keyword).copied().unwrap_or(0);
            assert!(
                count * 100 >= self.documents,
                "{keyword} occurs in {count} of {} documents",
                self.documents
            );
        }
        for kind in REPAIRS {
            let count = self.repairs.get(&format!("{kind:?}")).copied().unwrap_or(0);
            assert!(
                count * 100 >= self.cases,
                "the repair {kind:?} occurs in {count} of {} cases",
                self.cases
            );
        }
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: u64, complete: u64| part as f64 * 100.0 / complete.max(1) as f64;
        writeln!(
            f,
            "{} documents, {} of draft 7, {} recursive, {} more rejected",
            self.documents, self.draft_7, self.recursive, self.refused_documents
        )?;
        for (reason, count) in &self.refusals {
            writeln!(f, "  rejected {count}: {reason}")?;
        }
        writeln!(
            f,
            "{} values, {} made from their document, {} of them must pass",
            self.cases, self.made, self.must_pass
        )?;
        writeln!(
            f,
            "{} accepted ({:.1} %), {} repaired",
            self.accepted,
            percent(self.accepted, self.cases),
            self.repaired
        )?;
        for (kind, count) in &self.repairs {
            writeln!(f, "  repair {kind}: {count} cases")?;
        }
        write!(f, "keywords, in % of the documents:")?;
        for (keyword, count) in &self.keywords {
            write!(f, " {keyword} {:.1}", percent(*count, self.documents))?;
        }
        writeln!(f)
    }
}
