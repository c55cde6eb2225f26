//! Token counts.

use super::{text, wait};
use crate::ErrorCode;

#[test]
fn estimates_are_labelled_and_depend_on_the_script() {
    let estimate = |content: &str| wait(text(content).estimate_tokens(None)).unwrap();
    assert_eq!(estimate("").tokens, 0);
    assert_eq!(estimate("word").tokens, 1);
    assert_eq!(estimate(&"words and more ".repeat(100)).tokens, 375);
    assert_eq!(estimate("\u{65e5}\u{672c}\u{8a9e}").tokens, 3);
    assert_eq!(estimate("\u{43f}\u{440}\u{438}\u{432}").tokens, 2);
    assert_eq!(estimate("\u{1f980}").tokens, 2);
    assert_eq!(estimate("word").to_string(), "about 1 tokens (estimate)");
    assert_eq!(estimate("word").encoding, None);
    let stray = wait(text(b"\xff\xff\xff\xff".to_vec()).estimate_tokens(None)).unwrap();
    assert_eq!(stray.tokens, 2);
}

#[test]
fn an_unknown_encoding_is_rejected_with_the_available_ones() {
    let error = wait(text("a").estimate_tokens(Some("o201k"))).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ARTIFACT_QUERY);
    let reply = error.model_text();
    assert!(reply.contains("omit `encoding`"), "{reply}");
    assert_eq!(
        reply.contains("o200k_base"),
        cfg!(feature = "tokens"),
        "{reply}"
    );
}

#[cfg(feature = "tokens")]
#[test]
fn counting_in_pieces_gives_the_same_result() {
    let mut content = String::new();
    for n in 0..4000_u32 {
        let words = "The quick brown fox doesn't jump over\t the lazy dog's   back; ";
        content += &format!(
            "2026-11-15 12:{:02} [INFO] {words}n={n}\n\n  /path/to/\u{65e5}{n}\n",
            n % 60
        );
    }
    for name in ["o200k_base", "cl100k_base", "p50k_base", "r50k_base"] {
        let counted = wait(text(content.clone()).estimate_tokens(Some(name))).unwrap();
        let complete = tiktoken::get_encoding(name).unwrap().count(&content) as u64;
        assert_eq!((counted.tokens, counted.exact), (complete, true), "{name}");
        assert_eq!(counted.to_string(), format!("{complete} tokens ({name})"));
    }
}

#[cfg(feature = "tokens")]
#[test]
fn runs_without_a_space_are_counted_in_pieces_with_a_small_error() {
    for unit in ["x", " ", "\n", "\u{65e5}", "=", "7", "aB"] {
        let content = unit.repeat(100_000 / unit.len());
        let counted = wait(text(content.clone()).estimate_tokens(Some("o200k_base"))).unwrap();
        let complete = tiktoken::get_encoding("o200k_base")
            .unwrap()
            .count(&content) as u64;
        assert!(
            counted.tokens.abs_diff(complete) <= 16,
            "{unit:?}: {} and {complete}",
            counted.tokens
        );
        assert!(!counted.exact);
    }
}

#[test]
fn the_encoding_of_a_known_model_is_used() {
    use crate::artifact::text::TokenCount;
    let estimate = TokenCount::of_text("Hello world, hello world!", "unknown-model");
    assert_eq!(
        (estimate.tokens, estimate.encoding, estimate.exact),
        (7, None, false)
    );
    let counted = TokenCount::of_text("Hello world, hello world!", "gpt-4o");
    #[cfg(feature = "tokens")]
    {
        assert_eq!(counted.encoding.as_deref(), Some("o200k_base"));
        assert_eq!((counted.tokens, counted.exact), (6, true));
        let long = "word ".repeat(10_000);
        let complete = tiktoken::get_encoding("o200k_base").unwrap().count(&long) as u64;
        assert_eq!(TokenCount::of_text(&long, "gpt-4o").tokens, complete);
    }
    #[cfg(not(feature = "tokens"))]
    assert_eq!(counted.encoding, None);
}
