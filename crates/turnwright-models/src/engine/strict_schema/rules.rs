//! What strict modes accept, as data, and what the strict tools of one request share.

/// What the strict mode of a provider accepts.
#[derive(Debug)]
pub struct StrictRules {
    /// The keywords that are accepted. `None` for all that are not rejected.
    pub(crate) supported: Option<&'static [&'static str]>,
    /// Keywords that are rejected, and what to do instead.
    pub(crate) rejected: &'static [(&'static str, &'static str)],
    /// The formats of strings that are accepted.
    pub(crate) formats: &'static [&'static str],
    /// Whether patterns can have word boundaries. No schema has look-around or references to groups.
    pub(crate) word_boundaries: bool,
    /// Whether the values of an `enum` must be strings, numbers, booleans or `null`.
    pub(crate) scalar_enums: bool,
    /// Whether an `allOf` may contain a `$ref`.
    pub(crate) references_in_all_of: bool,
    /// The largest `minItems`. `None` for any.
    pub(crate) max_min_items: Option<u64>,
    /// Whether every property must be required.
    pub(crate) all_required: bool,
    /// Whether a definition may refer to itself.
    pub(crate) allows_recursion: bool,
    /// Limits of one schema.
    pub(crate) schema: SchemaLimits,
    /// Limits of all strict tools of a request together.
    pub(crate) request: RequestLimits,
}

/// Limits of one schema.
#[derive(Debug)]
pub(crate) struct SchemaLimits {
    /// The maximum number of properties of all objects.
    pub(crate) properties: usize,
    /// The maximum depth of nested objects.
    pub(crate) depth: usize,
    /// The maximum number of values of all enums.
    pub(crate) enum_values: usize,
    /// An enum with more values than the first number may have as many characters as the second.
    pub(crate) large_enum: (usize, usize),
    /// The maximum number of characters of all names of properties and definitions, and values of enums and constants.
    pub(crate) characters: usize,
}

/// Limits of all strict tools of a request together.
#[derive(Debug)]
pub(crate) struct RequestLimits {
    /// The maximum number of tools.
    pub(crate) tools: usize,
    /// The maximum number of properties that are not required.
    pub(crate) optional: usize,
    /// The maximum number of schemas with alternatives.
    pub(crate) unions: usize,
}

impl SchemaLimits {
    pub(crate) const NONE: SchemaLimits = SchemaLimits {
        properties: usize::MAX,
        depth: usize::MAX,
        enum_values: usize::MAX,
        large_enum: (usize::MAX, usize::MAX),
        characters: usize::MAX,
    };
}

impl RequestLimits {
    pub(crate) const NONE: RequestLimits = RequestLimits {
        tools: usize::MAX,
        optional: usize::MAX,
        unions: usize::MAX,
    };
}

/// What a strict tool takes of the limits of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    pub(super) optional: usize,
    pub(super) unions: usize,
}

/// What is left of the limits of a request.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: &'static RequestLimits,
    tools: usize,
    taken: Demand,
}

impl Budget {
    pub(crate) fn new(rules: &'static StrictRules) -> Self {
        Budget {
            limits: &rules.request,
            tools: 0,
            taken: Demand::default(),
        }
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// Returns which limit the tool would exceed. It is not added then.
    pub(crate) fn take(&mut self, demand: Demand) -> Result<(), String> {
        let tools = self.tools + 1;
        let optional = self.taken.optional + demand.optional;
        let unions = self.taken.unions + demand.unions;
        for (count, max, what, advice) in [
            (
                tools,
                self.limits.tools,
                "tools",
                "use fewer tools, or turn strict mode off",
            ),
            (
                optional,
                self.limits.optional,
                "optional properties",
                "require some of them, or use fewer tools",
            ),
            (
                unions,
                self.limits.unions,
                "schemas with alternatives (`anyOf` or several types)",
                "use fewer alternatives or fewer tools",
            ),
        ] {
            if count > max {
                return Err(format!(
                    "strict mode allows {max} {what} in a request, and with this tool there are {count}: {advice}"
                ));
            }
        }
        self.tools = tools;
        self.taken = Demand { optional, unions };
        Ok(())
    }
}
