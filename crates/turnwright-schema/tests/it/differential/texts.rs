//! Patterns and formats used in documents, each with matching and non-matching strings.
//!
//! Both implementations translate ECMA-262 patterns, but they differ outside ASCII (`\s`, `\p{…}`, case folding), and
//! their formats differ at the edges of the RFCs (leap seconds, quoted mail addresses, IDNA tables, percent signs in
//! templates). Those edges belong to the official suite; here every string is clearly valid or clearly invalid.

pub(super) struct Text {
    pub(super) name: &'static str,
    pub(super) good: &'static [&'static str],
    pub(super) bad: &'static [&'static str],
}

const fn text(
    name: &'static str,
    good: &'static [&'static str],
    bad: &'static [&'static str],
) -> Text {
    Text { name, good, bad }
}

pub(super) const PATTERNS: &[Text] = &[
    text("^[a-z]+$", &["abc", "z", "hello"], &["", "A", "a1"]),
    text(
        "^[A-Z]{3}-\\d{2,4}$",
        &["ABC-12", "XYZ-1234"],
        &["ABC-1", "abc-12", "5"],
    ),
    text("\\d", &["5", "a1", " 7 ", "true0"], &["", "abc", "true"]),
    text("^(on|off)$", &["on", "off"], &["On", "offf"]),
    text("^\\S+$", &["a", "a-b", "{}", "12"], &["", "a b"]),
    text("b", &["b", "abc", "[\"b\"]"], &["", "ac"]),
    text("^.{2,3}$", &["ab", "xyz"], &["a", "abcd"]),
    text("^\\w+$", &["a_1", "Z"], &["", "-", "a b"]),
];

/// Patterns of property names, with our own matcher for the value generator, and matching names.
pub(super) struct NamePattern {
    pub(super) pattern: &'static str,
    pub(super) fits: fn(&str) -> bool,
    pub(super) names: &'static [&'static str],
}

pub(super) const NAME_PATTERNS: &[NamePattern] = &[
    NamePattern {
        pattern: "^x",
        fits: |name| name.starts_with('x'),
        names: &["x", "x1", "xy"],
    },
    NamePattern {
        pattern: "_n$",
        fits: |name| name.ends_with("_n"),
        names: &["a_n", "_n"],
    },
    NamePattern {
        pattern: "^[ab]$",
        fits: |name| matches!(name, "a" | "b"),
        names: &["a", "b"],
    },
    NamePattern {
        pattern: "\\d",
        fits: |name| name.contains(|c: char| c.is_ascii_digit()),
        names: &["k9", "x1", "0"],
    },
];

/// Without `uri-template` and `iri-reference`: the other implementation parses them with a URL parser, which accepts
/// input that the RFCs reject (a blank, for example). Without `regex`: it treats ECMA-262 patterns as Rust patterns
/// and rejects `[]`. Without `hostname`: it accepts a trailing dot, so that the number `5.` is one. The official
/// suite covers all of them.
pub(super) const FORMATS: &[Text] = &[
    text(
        "date",
        &["2024-02-29", "1999-12-31"],
        &["2023-02-29", "24-1-1", "5"],
    ),
    text(
        "time",
        &["10:20:30Z", "23:59:00+01:00"],
        &["25:00:00Z", "10:20"],
    ),
    text(
        "date-time",
        &["2024-01-02T03:04:05Z", "1999-12-31T23:00:00+02:00"],
        &["2024-01-02", "now"],
    ),
    text("duration", &["P1D", "PT5M", "P2W"], &["1D", "P", "PT"]),
    text(
        "email",
        &["joe@example.com", "a.b@c.org"],
        &["joe", "a b@c.org", "a@"],
    ),
    text(
        "ipv4",
        &["127.0.0.1", "10.0.0.255"],
        &["256.0.0.1", "1.2.3", "12"],
    ),
    text("ipv6", &["::1", "fe80::1"], &["::g", "12345::"]),
    text(
        "uri",
        &["https://example.com/a?b#c", "urn:a:b"],
        &["/a/b", "a b", ""],
    ),
    text(
        "uri-reference",
        &["/a/b", "https://e.org", "#x"],
        &["a b", "\\\\a"],
    ),
    text(
        "uuid",
        &["2eb8aa08-aa98-11ea-b4aa-73b441d16380"],
        &["2eb8aa08", "zzb8aa08-aa98-11ea-b4aa-73b441d16380"],
    ),
    text("json-pointer", &["", "/a/b~1c"], &["a", "/~2"]),
    text("relative-json-pointer", &["0#", "1/a"], &["/a", "-1/a"]),
    text("iri", &["https://example.com/a"], &["/a/b"]),
];

/// Formats that draft 7 does not know. A draft 7 document that uses one cannot be enforced.
pub(super) const NOT_IN_DRAFT_7: &[&str] = &["duration", "uuid"];

pub(super) fn pattern(name: &str) -> Option<&'static Text> {
    PATTERNS.iter().find(|text| text.name == name)
}

pub(super) fn format(name: &str) -> Option<&'static Text> {
    FORMATS.iter().find(|text| text.name == name)
}

pub(super) fn name_pattern(pattern: &str) -> Option<&'static NamePattern> {
    NAME_PATTERNS.iter().find(|entry| entry.pattern == pattern)
}
