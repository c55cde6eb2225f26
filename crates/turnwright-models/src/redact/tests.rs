use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::Value;
use url::Url;

use super::{RUN, Redactor, credentials};

const KEY: &str = "sk-proj-Zx81/Qw?7+hT_ee>9Lm0~PaRtS";

fn redactor(secrets: &[&str]) -> Redactor {
    let mut redactor = Redactor::new("[secret]");
    for secret in secrets {
        redactor.add(secret);
    }
    redactor
}

/// Returns every byte as an escape.
fn escaped(secret: &str, one: impl Fn(u8) -> String) -> String {
    secret.bytes().map(one).collect()
}

/// Returns `true` if two texts share a run of 8 bytes, ignoring case.
fn share_a_run(one: &str, other: &str) -> bool {
    let (one, other) = (one.to_ascii_lowercase(), other.to_ascii_lowercase());
    let mut runs = other.as_bytes().windows(RUN);
    runs.any(|run| one.as_bytes().windows(RUN).any(|item| item == run))
}

/// Returns the forms in which a server can repeat a key, each with the part that must not remain.
fn forms(key: &str) -> Vec<(String, String)> {
    let (half, tail) = (key.len() / 2, key.len() - 10);
    let standard = |text: &str| STANDARD.encode(text);
    let url_safe = |text: &str| URL_SAFE.encode(text);
    let percent = escaped(key, |byte| format!("%{byte:02X}"));
    let unicode = escaped(key, |byte| format!("\\u{byte:04x}"));
    let form_encoded: String = url::form_urlencoded::byte_serialize(key.as_bytes()).collect();
    let plain = [
        ("whole", key.to_owned()),
        ("in upper case", key.to_uppercase()),
        ("in lower case", key.to_lowercase()),
        ("cut at the end", key[..half].to_owned()),
        ("cut at the start", key[half..].to_owned()),
        ("both ends cut", key[5..tail].to_owned()),
        ("masked at the end", format!("{}***", &key[..12])),
        (
            "masked in the middle",
            format!("{}...{}", &key[..12], &key[tail..]),
        ),
        ("masked at the start", format!("****{}", &key[tail..])),
        ("with an ellipsis", format!("{}…", &key[..15])),
        ("after a word", format!("Bearer {key}")),
        ("within a word", format!("xx{key}xx")),
        ("twice", format!("{key}{key}")),
        (
            "with a line break",
            format!("{}\n{}", &key[..half], &key[half..]),
        ),
        ("as JSON", Value::from(key).to_string()),
        ("as JSON with escaped slashes", key.replace('/', "\\/")),
        (
            "as JSON in JSON",
            Value::from(Value::from(format!("\"{key}\"")).to_string()).to_string(),
        ),
        ("as unicode escapes", unicode),
        (
            "as hexadecimal escapes",
            escaped(key, |byte| format!("\\x{byte:02x}")),
        ),
        (
            "as escapes of Rust",
            escaped(key, |byte| format!("\\u{{{byte:x}}}")),
        ),
        ("percent-encoded", percent.clone()),
        ("percent-encoded in lower case", percent.to_lowercase()),
        ("percent-encoded where needed", form_encoded),
        ("percent-encoded twice", percent.replace('%', "%25")),
        ("percent-encoded and cut", percent[..60].to_owned()),
        (
            "as decimal entities",
            escaped(key, |byte| format!("&#{byte};")),
        ),
        (
            "as hexadecimal entities",
            escaped(key, |byte| format!("&#x{byte:X};")),
        ),
        (
            "as entities where needed",
            key.replace('>', "&gt;").replace('~', "&#126;"),
        ),
    ]
    .map(|(name, text)| (name.to_owned(), text));
    let mut all = plain.to_vec();
    for lead in ["", "u", "us", "user:"] {
        for (alphabet, text) in [
            ("standard", standard(&format!("{lead}{key}"))),
            (
                "standard, more behind",
                standard(&format!("{lead}{key}, and more")),
            ),
            (
                "standard without padding",
                STANDARD_NO_PAD.encode(format!("{lead}{key}")),
            ),
            ("URL-safe", url_safe(&format!("{lead}{key}"))),
            (
                "URL-safe without padding",
                URL_SAFE_NO_PAD.encode(format!("{lead}{key}!")),
            ),
            (
                "standard, cut",
                standard(&format!("{lead}{key}"))[7..30].to_owned(),
            ),
        ] {
            all.push((format!("base64 {alphabet} after {lead:?}"), text));
        }
    }
    let basic = format!("Basic {}", standard(&format!("user:{key}")));
    let encoded = standard(key).replace('+', "%2B").replace('/', "%2F");
    let hex: String = escaped(key, |byte| format!("{byte:02x}"));
    all.push(("Basic".to_owned(), basic));
    all.push((
        "base64, percent-encoded".to_owned(),
        encoded.replace('=', "%3D"),
    ));
    all.push(("hexadecimal".to_owned(), hex.clone()));
    all.push(("hexadecimal in upper case".to_owned(), hex.to_uppercase()));
    all
}

/// Returns what a reader can get from a text: itself, and its decoded forms.
fn readings(text: &str) -> Vec<String> {
    let mut all = vec![text.to_owned()];
    let raw = super::View::of(text.as_bytes());
    for once in raw.unescaped() {
        all.push(String::from_utf8_lossy(once.bytes()).into_owned());
        all.extend(
            once.unescaped()
                .map(|item| String::from_utf8_lossy(item.bytes()).into_owned()),
        );
    }
    all
}

/// Asserts that nothing of a key or its encodings can be read from a text.
fn assert_clean(text: &str, key: &str, why: &str) {
    let mut encodings = vec![key.to_owned(), escaped(key, |byte| format!("{byte:02x}"))];
    for (lead, from) in [("", 0), ("-", 2), ("--", 3)] {
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let bytes = format!("{lead}{key}");
            let end = bytes.len() * 8 / 6;
            encodings.push(engine.encode(&bytes)[from..end].to_owned());
        }
    }
    for reading in readings(text) {
        for encoding in &encodings {
            assert!(!share_a_run(&reading, encoding), "{why}: {text}");
        }
    }
}

#[test]
fn key_is_removed_in_every_form() {
    let redactor = redactor(&[KEY]);
    let forms = forms(KEY);
    assert!(forms.len() >= 31);
    for (name, form) in forms {
        for text in [
            form.clone(),
            format!("Incorrect API key provided: {form}. See the documentation."),
            format!("{{\"error\":{{\"message\":\"key='{form}'\",\"code\":401}}}}"),
        ] {
            let clean = redactor.text(&text);
            assert!(clean.contains("[secret]"), "{name}: {clean}");
            assert_clean(&clean, KEY, &name);
        }
        let clean = redactor.text(&format!("Incorrect API key provided: {form}, code 401"));
        assert!(clean.starts_with("Incorrect API key provided: "), "{clean}");
        assert!(clean.ends_with(", code 401"), "{clean}");
    }
}

#[test]
fn unrelated_text_is_unchanged() {
    let redactor = redactor(&[KEY, "hunter2"]);
    for text in [
        "",
        "The key is wrong: sk-proj is no key, nor is hunter.",
        "100 % of it \\ & more; caf\u{e9} %C3%A9 &amp; \\u00e9",
    ] {
        assert_eq!(redactor.text(text), text);
    }
    assert_eq!(redactor.bytes(&[0xff, 0, 0x80]), [0xff, 0, 0x80]);
    assert_eq!(Redactor::new("x").text(KEY), KEY);
}

#[test]
fn short_secret_is_removed() {
    let redactor = redactor(&["hunter2"]);
    assert_eq!(redactor.text("is Hunter2 right?"), "is [secret] right?");
    assert_eq!(redactor.text("h\\u0075nter%32 hunter"), "[secret] hunter");
    // Its base64 is long enough to be recognised.
    assert_eq!(STANDARD.encode("hunter2!"), "aHVudGVyMiE=");
    assert_eq!(redactor.text("aHVudGVyMiE="), "[secret]iE=");
}

#[test]
fn mark_that_contains_a_secret_is_not_written() {
    assert_eq!(redactor(&["secret"]).text("the secret."), "the ***.");
    assert_eq!(redactor(&["secret", "*"]).text("a secret*b"), "a b");
    assert_eq!(redactor(&["[secret]"]).text("[secret]"), "***");
}

#[test]
fn debug_hides_secrets() {
    assert!(!share_a_run(&format!("{:?}", redactor(&[KEY])), KEY));
}

#[test]
fn credentials_of_a_request_are_found() {
    let url =
        Url::parse("https://me%20too:p%40ssword@host/v1?api-version=2024-10-21&key=query-secret")
            .unwrap();
    let basic = format!("Basic {}", STANDARD.encode("you:other-password"));
    let headers = [
        ("Content-Type", "application/json"),
        ("authorization", "Bearer header-secret"),
        ("proxy-authorization", &basic),
        ("x-custom", "two words"),
    ];
    let found = credentials(headers, &url);
    for secret in [
        "header-secret",
        "other-password",
        "you:other-password",
        "two words",
        "me too",
        "p@ssword",
        "me too:p@ssword",
        "query-secret",
    ] {
        assert!(
            found.iter().any(|item| item == secret),
            "{secret}: {found:?}"
        );
    }
    let joined = found.join("\n");
    for public in ["application", "Bearer", "2024"] {
        assert!(!joined.contains(public), "{public}: {found:?}");
    }
}

/// Generates keys of typical and untypical characters.
fn keys() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z0-9_-]{8,60}",
        "sk-[A-Za-z0-9]{20,48}",
        "[ -~]{8,30}",
        "\\PC{8,20}",
    ]
}

proptest! {
    #[test]
    fn no_run_of_a_key_remains(
        key in keys(),
        (before, after) in ("[a-z .%&\\\\]{0,9}", "[a-z .%&\\\\*]{0,9}"),
        (from, length) in (any::<prop::sample::Index>(), 8_usize..80),
        encoding in 0_usize..9,
    ) {
        let part: String = {
            let chars: Vec<char> = key.chars().collect();
            let from = from.index(chars.len());
            chars[from..(from + length).min(chars.len())].iter().collect()
        };
        let form = match encoding {
            0 => key.clone(),
            1 => part,
            2 => STANDARD.encode(format!("{before}{key}{after}")),
            3 => URL_SAFE_NO_PAD.encode(format!("{before}{key}{after}")),
            4 => Value::from(part).to_string(),
            5 => escaped(&part, |byte| format!("%{byte:02x}")),
            6 => part.chars().map(|c| format!("&#{};", u32::from(c))).collect(),
            7 => part.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect(),
            _ => escaped(&key, |byte| format!("{byte:02X}")),
        };
        let text = format!("{before}{form}{after}");
        let clean = redactor(&[&key]).text(&text);
        let mut encodings = vec![key.clone(), escaped(&key, |byte| format!("{byte:02x}"))];
        for lead in 0..3_usize {
            let bytes = [&[0; 2][..lead.min(2)], key.as_bytes()].concat();
            let (from, to) = ((lead * 8).div_ceil(6), bytes.len() * 8 / 6);
            encodings.push(STANDARD_NO_PAD.encode(&bytes)[from..to].to_owned());
            encodings.push(URL_SAFE_NO_PAD.encode(&bytes)[from..to].to_owned());
        }
        for reading in readings(&clean) {
            for encoding in &encodings {
                prop_assert!(!share_a_run(&reading, encoding), "{clean:?} of {text:?}");
            }
        }
    }

    #[test]
    fn unrelated_bytes_are_unchanged(
        key in "[A-Z]{8,40}",
        text in "\\PC{0,80}",
    ) {
        // Without ASCII letters and digits it cannot contain the key or its encodings.
        let text: String = text.chars().filter(|c| !c.is_ascii_alphanumeric()).collect();
        prop_assert_eq!(redactor(&[&key]).text(&text), text);
    }

    #[test]
    fn any_bytes_can_be_redacted_and_utf8_stays_valid(
        secrets in prop::collection::vec("\\PC{1,12}", 1..4),
        bytes in any::<Vec<u8>>(),
        text in "\\PC{0,40}",
    ) {
        let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
        let redactor = redactor(&secrets);
        let _ = redactor.bytes(&bytes);
        let joined = format!("{text}{}{text}", secrets.concat());
        let clean = redactor.bytes(joined.as_bytes());
        let clean = String::from_utf8(clean).unwrap();
        for secret in secrets {
            prop_assert!(!clean.contains(secret));
        }
    }
}
