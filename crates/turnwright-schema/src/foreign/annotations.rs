//! Annotations of other tools.

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
