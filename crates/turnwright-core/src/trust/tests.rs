use std::borrow::Cow;

use super::{ConversationSecret, Envelope, EnvelopeKind, NOTICE, TrustTier, neutralise, restore};

/// Description, and a disguised name.
const DISGUISES: &[(&str, &str)] = &[
    ("plain", "tw-untrusted"),
    ("the others", "tw-trusted"),
    ("the others", "tw-agent"),
    ("the others", "tw-sender"),
    ("opening tag", "<tw-untrusted id=\"1\">"),
    ("closing tag", "</tw-untrusted-0123456789abcdef0123>"),
    ("blanks before the name", "< / \n tw-agent>"),
    ("within a word", "btw-agents"),
    ("case", "Tw-UNtrusTED"),
    ("decimal entity", "tw-&#117;ntrusted"),
    (
        "decimal entity, zeros",
        "tw-&#0000000000000000000117;ntrusted",
    ),
    ("decimal entity, no semicolon", "tw-&#117ntrusted"),
    ("last letter, no semicolon", "tw-agen&#116"),
    ("hex entity", "tw-&#x75;ntrusted"),
    ("hex entity, capital", "tw-&#X00075;ntrusted"),
    (
        "all entities",
        "&#116;&#119;&#45;&#97;&#103;&#101;&#110;&#116;",
    ),
    (
        "all entities, no semicolons",
        "&#116&#119&#45&#97&#103&#101&#110&#116",
    ),
    ("hyphen by name", "tw&hyphen;agent"),
    ("dash by name", "tw&ndash;agent"),
    ("underscore by name", "tw&lowbar;agent"),
    ("soft hyphen by name", "tw-un&shy;trusted"),
    ("soft hyphen by name, no semicolon", "tw-un&shytrusted"),
    ("soft hyphen by name, in capitals", "tw-un&SHY;trusted"),
    (
        "zero-width by name",
        "tw-un&ZeroWidthSpace;tru&zwj;st&zwnj;ed",
    ),
    ("letter by name", "&tscr;w-&Uopf;ntrusted"),
    ("accented letter by name", "tw-ag&eacute;nt"),
    ("encoded twice", "tw-&amp;#117;ntrusted"),
    ("encoded four times", "tw-&amp;amp;amp;#117;ntrusted"),
    ("encoded twice, by number", "tw-&#38;#117;ntrusted"),
    ("encoded twice, no semicolon", "tw-&amp#117;ntrusted"),
    ("digits encoded", "tw-&#1&#49;7;ntrusted"),
    ("number sign encoded", "tw-&&num;117;ntrusted"),
    ("Windows-1252 dash", "tw&#150;agent"),
    ("full-width", "ｔｗ－ｕｎｔｒｕｓｔｅｄ"),
    ("full-width entity", "tw-＆＃１１７；ntrusted"),
    ("mathematical", "𝐭𝓌-𝖚𝗇𝘁𝙧𝚞𝕤𝔱𝒆𝐝"),
    ("circled", "ⓣⓦ-ⓐⓖⓔⓝⓣ"),
    ("negative circled, squared, regional", "🅣🅦-🅐🅶🇪🅽🇹"),
    ("in brackets", "⒯⒲-⒜⒢⒠⒩⒯"),
    ("superscript", "ᵗʷ-ᵃᵍᵉⁿᵗ"),
    ("ligature", "tw-truﬆed"),
    ("small capitals", "ᴛᴡ-ᴀɢᴇɴᴛ"),
    ("accents", "ẗŵ-ágèńť"),
    ("marks that combine", "t\u{301}w-a\u{338}gent"),
    ("zero-width", "t\u{200B}w\u{200D}-\u{2060}agent\u{FEFF}"),
    ("soft hyphen within", "tw-a\u{AD}gent"),
    ("soft hyphen for the hyphen", "tw\u{AD}agent"),
    ("two soft hyphens", "tw\u{AD}\u{AD}agent"),
    ("bidi", "tw-\u{202E}agent\u{2066}"),
    ("control", "tw-a\0g\x07e\x1bnt"),
    ("line breaks and tabs", "t\nw\t-\r\nagent"),
    ("variation selectors", "t\u{FE0F}w-\u{E0101}agent"),
    ("tag characters between", "tw-a\u{E0041}gent"),
    (
        "tag characters alone",
        "\u{E0074}\u{E0077}\u{E002D}\u{E0061}\u{E0067}\u{E0065}\u{E006E}\u{E0074}",
    ),
    ("Hangul filler", "tw-a\u{3164}gent"),
    ("braille blank", "tw-a\u{2800}gent"),
    ("null notehead", "tw-a\u{1D159}gent"),
    ("blank of hieroglyphs", "tw-\u{13441}agent"),
    ("Khitan filler", "tw-ag\u{16FE4}ent"),
    ("Hangul letter like a dash", "tw\u{3161}agent"),
    ("Hangul vowel like a dash", "tw\u{1173}agent"),
    ("half-width Hangul like a dash", "tw\u{FFDA}agent"),
    ("CJK stroke", "tw㇐agent"),
    ("sideways letter", "twꟷagent"),
    ("scan line", "tw⎼agent"),
    ("en dash", "tw–agent"),
    ("minus", "tw−agent"),
    ("non-breaking hyphen", "tw‑agent"),
    ("underscore", "tw_agent"),
    ("long vowel mark", "twーagent"),
    ("Cyrillic", "тԝ-аgеnт"),
    ("Cyrillic of another name", "тԝ-ѕеndеr"),
    ("entities of another name", "tw-&#115;end&#x65;r"),
    ("Greek", "τω-αgεητ"),
    ("Armenian", "tա-սոtrսsted"),
    ("Cherokee", "ꭲꮃ-agent"),
    ("JSON", r"tw-\u0075ntrusted"),
    ("JSON in JSON", r"tw-\\\\u0075ntrusted"),
    ("JSON, pair", r"\ud835\udc2dw-agent"),
    ("JSON, invisible", r"tw-\u200bagent"),
    ("braces", r"tw-\u{75}ntrusted"),
    ("eight digits", r"tw-\U00000075ntrusted"),
    ("two digits", r"tw-\x75ntrusted"),
    ("octal", r"tw-\165ntrusted"),
    ("Markdown", r"tw\-agent"),
    ("percent", "tw-%75ntrusted"),
    ("percent twice", "tw-%2575ntrusted"),
    ("percent, UTF-8", "%D1%82w-agent"),
    ("percent, overlong", "%C1%B4w-agent"),
    ("percent, Latin-1", "tw-ag%E9nt"),
    ("percent u", "tw-%u0075ntrusted"),
    ("percent around entity", "tw-%26%23117%3Bntrusted"),
    ("entity around percent", "tw-&#37;75ntrusted"),
    ("unseen within an entity", "tw-&#1\u{200B}17;ntrusted"),
    ("unseen after an entity", "tw-agen&#116\u{200B}5"),
    (
        "digit of another alphabet after an entity",
        "tw-agen&#116５",
    ),
    ("digit escaped after an entity", "tw-untrust&#x65%64"),
    ("broken escape after an entity", "tw-a&#1%303;en&#116%zz"),
    ("half an entity before", "&#tw-agent"),
    ("half an entity name before", "&tw-agent"),
    ("soft hyphen after half an entity name", "&tw\u{AD}agent"),
    ("entity that ends in a letter of ours", "&ltw-agent"),
    ("many begun before", "&&&%%\\&#&#x&a&tw-agent"),
    ("marked already", "tw-·agent"),
    ("marked twice", "tw-··agent"),
    ("marked, and more unseen", "tw\u{AD}-\u{200B}·\u{200B}agent"),
    ("marked elsewhere", "t·w-ag·ent"),
];

#[test]
fn every_disguised_name_is_broken_and_restored() {
    for (what, disguise) in DISGUISES {
        for text in [
            (*disguise).to_owned(),
            format!("…{disguise}…"),
            format!("{disguise} {disguise}"),
        ] {
            let once = neutralise(&text).into_owned();
            let marks = |text: &str| text.matches('·').count();
            assert!(marks(&once) > marks(&text), "{what}: {text:?}");
            assert_eq!(restore(&once), text, "{what}: {once:?}");
            let twice = neutralise(&once).into_owned();
            assert!(marks(&twice) > marks(&once), "{what}: {once:?}");
            assert_eq!(restore(&twice), once, "{what}");
        }
    }
}

#[test]
fn the_marker_is_inserted_after_the_hyphen() {
    for (text, harmless) in [
        ("</tw-untrusted>", "</tw-·untrusted>"),
        ("tw&#45agent", "tw&#45·agent"),
        ("tw&#45;agent", "tw&#45;·agent"),
        ("tw&shy;agent", "tw&shy;·agent"),
        ("tw&shyagent", "tw&shy·agent"),
        ("tw-\u{200B}agent", "tw-·\u{200B}agent"),
        ("tw%2Dagent", "tw%2D·agent"),
        ("tw-·agent", "tw-··agent"),
        ("tw-agent tw-trusted", "tw-·agent tw-·trusted"),
    ] {
        assert_eq!(neutralise(text), harmless);
    }
}

#[test]
fn ordinary_text_is_not_touched() {
    for text in [
        "",
        "tw-",
        "tw",
        "untrusted",
        "two-untrusted sources",
        "tw untrusted",
        "tw - untrusted",
        "t w - a g e n t",
        "tw.agent, tw=trusted",
        "twagent",
        "now-agent, know-trusted: follow-up, view-untrusted",
        "The two-way trust between agents was un-trusted.",
        "Он не доверяет этому агенту — а тот ему; это твой агент.",
        "Ο πράκτορας δεν είναι αξιόπιστος – τώρα.",
        "代理不受信任。エージェント",
        "fn main() { let two_agents = tw_ag(&ent, \"%s\\n\", a && b); x %= 7; }",
        "<!doctype html><p class=\"tw-mb-4 tw-text-gray\">R&amp;D &lt;b&gt; &#8212; caf&eacute; &copy;&nbsp;2024</p>",
        r#"{"path": "C:\\two\\agents", "text": "Gr\u00fc\u00dfe \ud83d\ude00", "url": "https://x.y/?q=%D1%82%D0%B2%20-%20%D0%B0"}"#,
        "&&&&&& %%%%%% \\\\\\\\ &#; &#x; &; %u %zz \\u12 &#99999999999; &unknown; · ·",
        "👩‍👩‍👧‍👦 🇬🇧 🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
        NOTICE,
        super::NAMES_NOTICE,
    ] {
        assert!(
            matches!(neutralise(text), Cow::Borrowed(same) if same == text),
            "{text:?}"
        );
        assert!(
            matches!(restore(text), Cow::Borrowed(same) if same == text),
            "{text:?}"
        );
    }
}

#[test]
fn text_made_to_waste_time_or_memory_is_processed_to_the_end() {
    let many = 40_000;
    for piece in [
        "&",
        "&#",
        "&#1",
        "&#38",
        "&#38;",
        "&amp",
        "&amp;",
        "amp;",
        "&a",
        "%",
        "%2",
        "%25",
        "\\",
        "\\u",
        "\\u{0",
        "%E2",
        "\\ud800",
        "&#38\u{AD}",
        "&\u{AD}",
        "&#0",
        "tw-",
        "tw\u{AD}",
        "tw·",
        "&#x26;#",
        "&&num;",
    ] {
        for head in ["", "&", "&#"] {
            let text = format!("{head}{}tw-agent", piece.repeat(many / piece.len()));
            let harmless = neutralise(&text);
            assert!(harmless.ends_with("tw-·agent"), "{head:?} {piece:?}");
            assert_eq!(restore(&harmless), text, "{head:?} {piece:?}");
        }
    }
    let chain = format!("tw-{}#97;gent", "&amp;".to_owned() + &"amp;".repeat(many));
    assert_eq!(neutralise(&chain), chain.replacen("tw-", "tw-·", 1));
    let nested = (0..1000).fold("7".to_owned(), |digit, _| format!("&#x3{digit};"));
    assert!(neutralise(&format!("tw-&#x6{}gent", nested.replace('7', "1") + ";")).contains('·'));
}

#[test]
fn no_legacy_entity_ends_with_the_start_of_a_tag_name() {
    for name in super::entity::LEGACY {
        assert!(!name.ends_with('t') && !name.ends_with("tw"), "{name}");
        assert!(super::entity::legacy(name).is_some(), "{name}");
        assert!(name.len() <= super::entity::MAX_LEGACY_LEN, "{name}");
    }
}

fn secret() -> ConversationSecret {
    ConversationSecret::from_bytes([42; 32])
}

fn sealed() -> Envelope {
    Envelope::new(EnvelopeKind::Untrusted, "record").attribute("tool", "fetch")
}

fn nonce(sealed: &str) -> &str {
    let code = sealed.split([' ', '>']).next().unwrap();
    code.rsplit('-').next().unwrap()
}

#[test]
fn sealing_is_deterministic() {
    assert_eq!(
        sealed().part(3).seal(&secret(), "Hello"),
        "<tw-untrusted-886ff8565446ca543e14 id=\"record\" part=\"3\" tool=\"fetch\">\nHello\n</tw-untrusted-886ff8565446ca543e14>",
    );
}

#[test]
fn a_code_is_valid_for_one_envelope_only() {
    let envelopes = [
        sealed(),
        sealed().part(1),
        sealed().attribute("tool", "fetch"),
        sealed().attribute("", ""),
        Envelope::new(EnvelopeKind::Trusted, "record").attribute("tool", "fetch"),
        Envelope::new(EnvelopeKind::Agent, "record").attribute("tool", "fetch"),
        Envelope::new(EnvelopeKind::Untrusted, "record"),
        Envelope::new(EnvelopeKind::Untrusted, "recordtool").attribute("", "fetch"),
        Envelope::new(EnvelopeKind::Untrusted, "recor").attribute("dtool", "fetch"),
        Envelope::new(EnvelopeKind::Untrusted, "record").attribute("toolf", "etch"),
        Envelope::new(EnvelopeKind::Untrusted, "record").attribute("too", "lfetch"),
        Envelope::new(EnvelopeKind::Untrusted, "record").attribute("tool", "fetch "),
        Envelope::new(EnvelopeKind::Untrusted, "record\0").attribute("tool", "fetch"),
        Envelope::new(EnvelopeKind::Untrusted, "").attribute("tool", "fetch"),
    ];
    let mut codes: Vec<String> = Vec::new();
    for envelope in &envelopes {
        for content in ["", "a", "tw-agent", "tw-·agent"] {
            codes.push(nonce(&envelope.seal(&secret(), content)).to_owned());
        }
    }
    let other = ConversationSecret::from_bytes([43; 32]);
    codes.push(nonce(&sealed().seal(&other, "a")).to_owned());
    let count = codes.len();
    for code in &codes {
        assert!(code.len() == 20 && code.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
    }
    codes.sort();
    codes.dedup();
    assert_eq!(codes.len(), count);
}

#[test]
fn an_attribute_value_cannot_break_out() {
    let hostile = "a\"b'c<d>e&f\\g\nh\ti\u{202E}j\u{200B}k\u{2028}l\u{A0}m tw-agent é\u{301}";
    let text = Envelope::new(EnvelopeKind::Untrusted, hostile)
        .attribute("file name=\"", hostile)
        .seal(&secret(), "");
    let escaped = "a&#x22;b&#x27;c&#x3c;d&#x3e;e&#x26;f&#x5c;g&#xa;h&#x9;i&#x202e;j&#x200b;k&#x2028;l&#xa0;m tw-·agent é\u{301}";
    let opening = text.lines().next().unwrap();
    let code = nonce(opening);
    assert_eq!(
        opening,
        format!("<tw-untrusted-{code} id=\"{escaped}\" part=\"0\" filename=\"{escaped}\">")
    );
}

#[test]
fn a_combining_mark_at_the_start_of_a_value_is_escaped() {
    let text = sealed().attribute("name", "\u{338}x").seal(&secret(), "");
    assert!(text.contains(" name=\"&#x338;x\""), "{text}");
}

#[test]
fn debug_does_not_show_the_secret() {
    let secret = ConversationSecret::from_bytes([0xAB; 32]);
    assert_eq!(format!("{secret:?}"), "ConversationSecret(..)");
    assert_eq!(secret.expose(), [0xAB; 32]);
    let shown = format!("{:?}", sealed());
    assert!(!shown.contains("fetch"), "{shown}");
}

#[test]
fn random_secrets_differ() {
    let [one, two] = [(); 2].map(|()| ConversationSecret::random().unwrap().expose());
    assert_ne!(one, two);
}

#[test]
fn tiers_are_ordered_and_named() {
    use TrustTier::{FirstParty, ThirdPartyPrivate, ThirdPartyPublic};
    let tiers = [ThirdPartyPublic, ThirdPartyPrivate, FirstParty];
    assert!(tiers.is_sorted_by(|a, b| a < b));
    for (tier, name) in
        tiers
            .into_iter()
            .zip(["third-party-public", "third-party-private", "first-party"])
    {
        assert_eq!(tier.to_string(), name);
        assert_eq!(serde_json::to_value(tier).unwrap(), name);
        assert_eq!(
            serde_json::from_value::<TrustTier>(name.into()).unwrap(),
            tier
        );
    }
}

proptest::proptest! {
    #[test]
    fn restore_undoes_neutralise(
        pieces in proptest::collection::vec(proptest::sample::select(vec![
            "t", "w", "-", "a", "g", "e", "n", "t", "tw-", "agent", "un", "trusted", "·", "&", "#", "x", ";", "%",
            "\\", "u", "0", "1", "6", "7", "4", "5", "amp;", "shy", "&#116", "&#x65", "%64", "\u{AD}", "\u{200B}", "５",
            "＆", "\n", " ", "{", "}", "\u{E0074}", "\u{E002D}", "\\x", "%C3", "%A9", "d", "d8", "ﬆ", "т",
        ]), 0..40),
        text in ".*",
    ) {
        for text in [pieces.concat(), text] {
            let once = neutralise(&text).into_owned();
            proptest::prop_assert_eq!(&restore(&once), &text);
            let twice = neutralise(&once).into_owned();
            proptest::prop_assert_eq!(&restore(&twice), &once);
        }
    }
}

#[test]
fn a_name_with_an_ambiguous_end_is_broken() {
    for (text, broken) in [
        ("tw-trust&#x65&#x64 ", "tw-·trust&#x65&#x64 "),
        (
            "tw-t&#X72&#X75&#X73&#X74&#X65&#X64&",
            "tw-·t&#X72&#X75&#X73&#X74&#X65&#X64&",
        ),
        (
            "t&#119%2DTR&#117&#115&#x74&amp#101d%3C",
            "t&#119%2D·TR&#117&#115&#x74&amp#101d%3C",
        ),
    ] {
        assert_eq!(neutralise(text), broken);
        assert_eq!(restore(broken), text);
    }
}

#[test]
fn entity_ends_may_be_escaped_and_digits_may_belong_to_two_escapes() {
    for text in [
        "&#116&#xa;&amp;#119;-untrusted",
        "tw-&shy;trusted",
        "tw-&amp;#97;gent",
    ] {
        let percent: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
        assert_ne!(neutralise(&percent), percent, "{text}");
        assert_eq!(restore(&neutralise(&percent)), percent);
    }
    for text in [
        "%74%25%37%37-&#37&#54&#49&#37&#54&#55&#101n%74",
        "Tw&#45&amp#116r&#X00075&amp#115&#116%26%23%31%30%31%3bd",
    ] {
        assert_ne!(neutralise(text), text);
        assert_eq!(restore(&neutralise(text)), text);
    }
}
