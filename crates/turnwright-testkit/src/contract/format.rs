//! The string formats: what surely has one, and what surely has not.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::pattern::Pattern;
use super::verdict::Verdict;

/// One format: a pattern whose every match has it (values are made from that pattern), and texts that do not have it.
/// Anything else is not judged, so that opinions about leap seconds or odd hosts never become an alarm.
#[derive(Debug)]
pub(crate) struct Format {
    pub(crate) sure: Pattern,
    pub(crate) broken: &'static [&'static str],
}

impl Format {
    pub(crate) fn judge(&self, text: &str) -> Verdict {
        if self.broken.contains(&text) {
            Verdict::Invalid
        } else if self.sure.matches(text) == Some(true) {
            Verdict::Valid
        } else {
            Verdict::Unknown
        }
    }
}

/// The format of that name, if this crate knows one.
pub(crate) fn named(name: &str) -> Option<&'static Format> {
    static FORMATS: OnceLock<HashMap<&'static str, Format>> = OnceLock::new();
    let formats = FORMATS.get_or_init(|| {
        TABLE
            .iter()
            .filter_map(|&(name, sure, broken)| {
                Some((
                    name,
                    Format {
                        sure: Pattern::parse(sure).ok()?,
                        broken,
                    },
                ))
            })
            .collect()
    });
    formats.get(name)
}

type Row = (&'static str, &'static str, &'static [&'static str]);

const TABLE: &[Row] = &[
    (
        "date",
        "^(19[789]|20[0-8])[0-9]-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$",
        &[
            "2024-13-01",
            "2024-02-30",
            "2024-00-10",
            "24-01-01",
            "2024/01/01",
            "yesterday",
            "2024-1-1",
        ],
    ),
    (
        "date-time",
        "^(19[789]|20[0-8])[0-9]-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-](0[0-9]|1[0-2]):[03]0)$",
        &[
            "2024-01-01",
            "2024-13-01T00:00:00Z",
            "2024-01-01T25:00:00Z",
            "2024-01-01T00:61:00Z",
            "now",
            "2024-01-01T00:00:00",
        ],
    ),
    (
        "time",
        "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-](0[0-9]|1[0-2]):[03]0)$",
        &["25:00:00Z", "12:61:00Z", "noon", "12:00", "12:00:00"],
    ),
    (
        "duration",
        "^P([1-9][0-9]?D|[1-9][0-9]?W|[1-9]Y[1-9]M[1-9]D|T[1-9]H|T[1-9][0-9]?M|[1-9]DT[1-9]H[1-9]M[1-9]S)$",
        &["P", "PT", "1D", "P1X", "an hour", "P1D2H", "PT1D"],
    ),
    (
        "email",
        "^[a-z][a-z0-9]{0,8}(\\.[a-z]{1,5}|\\+[a-z]{1,3})?@[a-z]{1,8}(-[a-z]{1,3})?\\.(com|org|example)$",
        &[
            "nobody",
            "@example.com",
            "nobody@",
            "two words@example.com",
            "a@b@example.com",
        ],
    ),
    (
        "hostname",
        "^[a-z][a-z0-9]{0,10}(-[a-z0-9]{1,4})?(\\.[a-z]{1,8}){0,2}$",
        &[
            "-a.example",
            "a_b.example",
            "a b.example",
            "a..example",
            "host!",
        ],
    ),
    (
        "ipv4",
        "^(25[0-5]|1[0-9][0-9]|[1-9][0-9])(\\.(25[0-5]|1[0-9][0-9]|[1-9][0-9]|[0-9])){3}$",
        &["256.1.1.1", "1.2.3", "1.2.3.4.5", "localhost", "1.2.3.x"],
    ),
    (
        "ipv6",
        "^([1-9a-f][0-9a-f]{0,3}(:[1-9a-f][0-9a-f]{0,3}){7}|::1|2001:db8::[1-9a-f]{1,4}|fe80::[1-9a-f]{1,4}:[1-9a-f])$",
        &["::g", "1:2:3", "12345::", "1::2::3", "127.0.0.1", ":"],
    ),
    (
        "uri",
        "^(https?://[a-z]{2,8}\\.example(:[1-9][0-9]{1,3})?(/[a-z0-9]{1,6}){0,3}(\\?[a-z]=[0-9]{1,3})?(#[a-z]{1,4})?|urn:isbn:[0-9]{10}|mailto:[a-z]{1,5}@[a-z]{2,6}\\.example)$",
        &[
            "not a uri",
            "/only/a/path",
            "http://exa mple.com",
            "://missing.scheme",
            "http://[::1",
            "no-scheme",
        ],
    ),
    (
        "uri-reference",
        "^(https?://[a-z]{2,8}\\.example(/[a-z0-9]{1,6}){0,3}|(/[a-z0-9]{1,6}){1,3}(\\?[a-z]=[0-9]{1,3})?|[a-z]{1,6}/[a-z]{1,6}|#[a-z]{1,4})$",
        &[
            "two words",
            "\\\\server\\share",
            "http://exa mple.com",
            "#a#b c",
            "/a{b}",
        ],
    ),
    (
        "iri",
        "^https?://[a-zéü漢]{2,8}\\.example(/[a-z0-9éß]{1,6}){0,3}(\\?[a-z]=[0-9]{1,3})?$",
        &[
            "not an iri",
            "/only/a/path",
            "http://exa mple.com",
            "http://[::1",
            "no-scheme",
        ],
    ),
    (
        "iri-reference",
        "^(https?://[a-zé]{2,8}\\.example(/[a-z0-9éß]{1,6}){0,3}|(/[a-z0-9éü]{1,6}){1,3})$",
        &[
            "two words",
            "\\\\server\\share",
            "http://exa mple.com",
            "/a{b}",
        ],
    ),
    (
        "uuid",
        "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
        &[
            "123e4567-e89b-12d3-a456",
            "not-a-uuid",
            "123e4567-e89b-12d3-a456-42661417400g",
            "123e4567_e89b_12d3_a456_426614174000",
        ],
    ),
    (
        "json-pointer",
        "^(/([a-z0-9é]|~[01]){0,5}){0,4}$",
        &["a", "no/slash", "/a~", "/a~2b", "#/a"],
    ),
    (
        "relative-json-pointer",
        "^(0|[1-9][0-9]?)(#|(/([a-z0-9]|~[01]){0,5}){0,3})$",
        &["/a", "-1", "01", "a", "1a", "0##"],
    ),
    (
        "regex",
        "^(\\^?[a-z]{1,5}(\\[0-9\\]\\+|\\{2,3\\}|\\*|\\?)?\\$?|\\([a-z]\\|[a-z]{1,3}\\))$",
        &["(", "[a", "*", "a{2,1}", "(?<n", "\\"],
    ),
    (
        "uri-template",
        "^https?://[a-z]{2,8}\\.example(/[a-z0-9]{1,6}|/\\{[a-z]{1,6}\\}){0,3}(\\{\\?[a-z]{1,4}(,[a-z]{1,4})?\\})?$",
        &[
            "http://a.example/{open",
            "http://a.example/{}",
            "http://a.example/}",
            "{a b}",
        ],
    ),
    (
        "idn-email",
        "^[a-zéü]{1,8}@[a-z]{1,8}\\.(com|example)$",
        &["nobody", "@example.com", "nobody@"],
    ),
    (
        "idn-hostname",
        "^[a-zéü]{2,8}\\.(com|example)$",
        &["a b.example", "a..example", "host!"],
    ),
];
