//! The drafts that foreign documents are written in, and the annotations of other tools in them.

use referencing::Draft;
use serde_json::Value;

use crate::problem::SchemaProblem;
use crate::text::quote;

/// The draft of a foreign document. Each is published as draft 7 or draft 2020-12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Draft4,
    Draft6,
    Draft7,
    Draft201909,
    Draft202012,
}

impl Dialect {
    /// Returns the dialect that `$schema` names.
    pub(super) fn of(uri: Option<&Value>) -> Result<Dialect, SchemaProblem> {
        let uri = match uri {
            None => return Ok(Dialect::Draft202012),
            Some(Value::String(uri)) => uri,
            Some(_) => return Err(SchemaProblem::new("/$schema", "must be a string")),
        };
        let address = uri.trim_end_matches('#');
        let address = address
            .strip_prefix("http://")
            .or_else(|| address.strip_prefix("https://"))
            .unwrap_or(address);
        Ok(match address {
            // The address without a draft has always meant the latest one.
            "json-schema.org/draft/2020-12/schema" | "json-schema.org/schema" => {
                Dialect::Draft202012
            }
            "json-schema.org/draft/2019-09/schema" => Dialect::Draft201909,
            "json-schema.org/draft-07/schema" => Dialect::Draft7,
            "json-schema.org/draft-06/schema" => Dialect::Draft6,
            "json-schema.org/draft-04/schema" => Dialect::Draft4,
            _ => {
                let message = format!(
                    "{} is not a draft of JSON Schema: its keywords could mean anything",
                    quote(&Value::from(uri.as_str()))
                );
                return Err(SchemaProblem::new("/$schema", message));
            }
        })
    }

    /// Returns the draft in which the document is published and enforced.
    pub(super) fn published(self) -> Draft {
        match self {
            Dialect::Draft4 | Dialect::Draft6 | Dialect::Draft7 => Draft::Draft7,
            Dialect::Draft201909 | Dialect::Draft202012 => Draft::Draft202012,
        }
    }

    /// Returns the `$schema` of the published document if it is not the original one.
    pub(super) fn new_address(self, uri: &Value) -> Option<&'static str> {
        match self {
            Dialect::Draft4 | Dialect::Draft6 => Some("http://json-schema.org/draft-07/schema#"),
            Dialect::Draft201909 => Some("https://json-schema.org/draft/2020-12/schema"),
            Dialect::Draft202012 if !uri.as_str().is_some_and(|uri| uri.contains("2020-12")) => {
                Some("https://json-schema.org/draft/2020-12/schema")
            }
            Dialect::Draft7 | Dialect::Draft202012 => None,
        }
    }

    /// Returns `true` if keywords next to a `$ref` are ignored.
    pub(super) fn ignores_siblings_of_ref(self) -> bool {
        self.published() == Draft::Draft7
    }

    /// Returns `true` if the draft lacks a keyword that the draft in which it is published has.
    pub(super) fn lacks(self, keyword: &str) -> bool {
        match self {
            Dialect::Draft4 => {
                matches!(keyword, "const" | "contains" | "propertyNames" | "$id")
                    || Dialect::Draft6.lacks(keyword)
            }
            Dialect::Draft6 => matches!(
                keyword,
                "if" | "then" | "else" | "contentEncoding" | "contentMediaType"
            ),
            Dialect::Draft201909 => keyword == "prefixItems",
            Dialect::Draft7 | Dialect::Draft202012 => false,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Dialect::Draft4 => "draft 4",
            Dialect::Draft6 => "draft 6",
            Dialect::Draft7 => "draft 7",
            Dialect::Draft201909 => "draft 2019-09",
            Dialect::Draft202012 => "draft 2020-12",
        }
    }
}

/// Returns `true` for keywords of other tools that have no effect on which values are valid.
pub(super) fn only_describes(name: &str) -> bool {
    name.starts_with("ui:")
        || name.starts_with("meta:")
        || matches!(
            name,
            "$vocabulary"
                | "$dynamicAnchor"
                | "$recursiveAnchor"
                | "_meta"
                | "defaultSnippets"
                | "deprecationMessage"
                | "doNotSuggest"
                | "enumDescriptions"
                | "enumNames"
                | "enumTitles"
                | "errorMessage"
                | "example"
                | "externalDocs"
                | "id"
                | "javaType"
                | "markdownDescription"
                | "markdownEnumDescriptions"
                | "options"
                | "order"
                | "placeholder"
                | "propertyOrder"
                | "propertyOrdering"
                | "sensitive"
                | "strict"
                | "tsEnumNames"
                | "tsType"
                | "xml"
        )
}
