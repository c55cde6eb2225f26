use proptest::prelude::*;

use super::*;

/// Text with what must be kept.
const ORDINARY: &[&str] = &[
    "plain text\n\twith\r\nlines",
    "Persian می\u{200c}خواهم",
    "Hindi क\u{94d}\u{200d}ष and क\u{94d}\u{200c}ष",
    "Hebrew \u{200f}שלום\u{200f} C++\u{200e}",
    "\u{61c}العربية",
    "emoji 👩\u{200d}👩\u{200d}👧 👩🏽\u{200d}💻 🏳\u{fe0f}\u{200d}🌈 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
    "flags 🇩🇪 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} 🏴\u{200d}☠\u{fe0f}",
    "ideographic variation 葛\u{e0100}",
    "Mongolian ᠠ\u{180b}",
    "e\u{301} and blanks \u{a0}\u{2003}\u{3000}\u{2028}",
];

/// Text, and what is left of it.
const HIDDEN: &[(&str, &str)] = &[
    ("a\u{200b}b\u{2060}c\u{feff}d\u{ad}e", "abcde"),
    ("\u{202e}abc\u{202c} \u{2066}def\u{2069}", "abc def"),
    ("\u{1b}[31mred\u{1b}[0m\0\u{7f}\u{85}\u{9b}", "[31mred[0m"),
    ("x\u{e0049}\u{e0067}\u{e006e}y", "xy"),
    // Other text in tag characters after a flag.
    ("🏴\u{e0069}\u{e0067}\u{e006e}\u{e007f}.", "🏴."),
    (
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}\u{e0041}.",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}.",
    ),
    // Bytes as variation selectors after an emoji.
    ("😀\u{fe01}\u{fe0e}\u{e0150}\u{e0151}!", "😀\u{fe01}!"),
    // Bits as joiners.
    ("a\u{200d}\u{200c}\u{200d}b", "ab"),
    ("م\u{200c}\u{200d}\u{200c}ی", "م\u{200c}ی"),
    ("\u{200e}\u{200f}\u{200e}a", "\u{200e}a"),
    ("\u{fe0f}\u{200d}", ""),
    ("a\u{fffe}\u{fdd0}\u{1ffff}\u{fff9}b", "ab"),
];

#[test]
fn text_of_all_scripts_and_emoji_is_kept() {
    for text in ORDINARY {
        assert!(matches!(remove_hidden(text), Cow::Borrowed(_)), "{text:?}");
    }
}

#[test]
fn characters_that_only_a_model_sees_are_removed() {
    for (text, shown) in HIDDEN {
        assert_eq!(remove_hidden(text), *shown, "{text:?}");
    }
}

#[test]
fn what_is_removed_counts_as_invisible() {
    for c in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
        if !matches!(Visibility::of(c), Visibility::Shown) {
            let is_invisible = c.is_control() || crate::schema::is_invisible(c);
            assert!(is_invisible, "U+{:04X}", u32::from(c));
        }
    }
}

proptest! {
    #[test]
    fn removing_twice_changes_nothing_more(text in "(\\PC|[a1م❤🏴\u{200b}-\u{200f}\u{fe0f}\u{e0067}\u{e0062}\u{e007f}\u{1b}]){0,40}") {
        let shown = remove_hidden(&text);
        prop_assert!(matches!(remove_hidden(&shown), Cow::Borrowed(_)));
        let mut rest = text.chars();
        prop_assert!(shown.chars().all(|kept| rest.any(|c| c == kept)));
    }
}
