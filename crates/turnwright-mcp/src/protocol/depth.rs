//! Lists that are nested too deeply.

/// The deepest value that is kept. `serde_json` reads 128 levels, and a list has levels of its own.
const MAX_DEPTH: usize = 120;

/// What stands for a value that was left out, as JSON. It has a character that no definition may have.
pub(crate) const LEFT_OUT: &str = r#""\u0000 nested too deeply""#;

/// Returns a JSON text without the values that are nested too deeply, so that the rest can be read. `None` if there are none.
pub(super) fn without_deep_values(text: &[u8]) -> Option<Vec<u8>> {
    let mut kept = Vec::with_capacity(text.len());
    let (mut depth, mut in_text, mut escaped, mut found) = (0_usize, false, false, false);
    for &byte in text {
        let was_deep = depth > MAX_DEPTH;
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                if depth == MAX_DEPTH + 1 {
                    found = true;
                    kept.extend_from_slice(LEFT_OUT.as_bytes());
                }
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth <= MAX_DEPTH && !was_deep {
            kept.push(byte);
        }
    }
    found.then_some(kept)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}\"[{{\\\"\"{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn deep_values_are_left_out_and_the_rest_is_kept() {
        let text = |depth: usize| format!(r#"{{"deep": {}, "other": [1, "]"]}}"#, nested(depth));
        assert_eq!(without_deep_values(text(119).as_bytes()), None);
        for depth in [120, 200, 100_000] {
            let kept = without_deep_values(text(depth).as_bytes()).unwrap();
            let kept: Value = serde_json::from_slice(&kept).unwrap();
            assert_eq!(kept["other"], json!([1, "]"]));
            assert!(kept.to_string().contains(LEFT_OUT));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_scanned(text in "[\\[\\]{}\\\\\"a]{0,400}", depth in 0_usize..300) {
            let text = format!("{}{text}", "[".repeat(depth));
            let _ = without_deep_values(text.as_bytes());
        }
    }
}
