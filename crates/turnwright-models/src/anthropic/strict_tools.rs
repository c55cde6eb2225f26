//! What the strict mode of Anthropic accepts, as documented in "JSON Schema limitations" and "Schema complexity limits"
//! of its structured outputs.

use crate::engine::{RequestLimits, SchemaLimits, StrictRules};

pub(super) static RULES: StrictRules = StrictRules {
    supported: None,
    rejected: &[
        ("oneOf", "use `anyOf`"),
        ("not", "list the accepted values"),
        ("if", "use `anyOf`"),
        ("dependentRequired", "use `anyOf`"),
        ("dependentSchemas", "use `anyOf`"),
        ("patternProperties", "use a list of names and values"),
        ("propertyNames", "use a list of names and values"),
        (
            "unevaluatedProperties",
            "set `additionalProperties` to `false`",
        ),
        (
            "prefixItems",
            "use an object with one property for each item",
        ),
        ("contains", "check it in the tool"),
        ("minimum", IN_THE_TOOL),
        ("maximum", IN_THE_TOOL),
        ("exclusiveMinimum", IN_THE_TOOL),
        ("exclusiveMaximum", IN_THE_TOOL),
        ("multipleOf", IN_THE_TOOL),
        ("minLength", IN_THE_TOOL),
        ("maxLength", IN_THE_TOOL),
        ("maxItems", IN_THE_TOOL),
        ("uniqueItems", IN_THE_TOOL),
        ("minProperties", IN_THE_TOOL),
        ("maxProperties", IN_THE_TOOL),
    ],
    formats: &[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "uri",
        "ipv4",
        "ipv6",
        "uuid",
    ],
    word_boundaries: false,
    scalar_enums: true,
    references_in_all_of: false,
    max_min_items: Some(1),
    all_required: false,
    allows_recursion: false,
    // There are limits of the compiled grammar too, which cannot be computed from a schema.
    schema: SchemaLimits::NONE,
    request: RequestLimits {
        tools: 20,
        optional: 24,
        unions: 16,
    },
};

const IN_THE_TOOL: &str = "describe the limit in the description and check it in the tool";
