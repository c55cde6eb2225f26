use serde_json::json;
use turnwright_core::ErrorCode;

use super::{delta, error_of};
use crate::decode::{Decoder, Delta};

fn push(decoder: &mut Decoder, bytes: &[u8]) -> Result<Vec<Delta>, turnwright_core::Error> {
    let mut deltas = Vec::new();
    decoder.push(bytes, &mut deltas)?;
    Ok(deltas)
}

#[test]
fn event_size_is_limited_and_stream_size_is_not() {
    let event = format!("data: {}\n\n", delta(json!({ "content": "a" })));
    let mut decoder = super::decoder(None).max_event(event.len());
    for _ in 0..1_000 {
        assert_eq!(push(&mut decoder, event.as_bytes()).unwrap().len(), 1);
    }
    let mut decoder = super::decoder(None).max_event(event.len() - 2);
    let error = push(&mut decoder, event.as_bytes()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::WIRE_ERROR);
}

#[test]
fn body_size_is_limited() {
    let text = "{\"choices\":[]}";
    let mut decoder = super::decoder(None).max_body(text.len());
    push(&mut decoder, text.as_bytes()).unwrap();
    assert!(push(&mut decoder, b" ").is_err());
    assert!(decoder.finish(&mut Vec::new()).is_err());
}

#[test]
fn leading_blank_lines_are_limited() {
    let mut decoder = super::decoder(None).max_event(100);
    push(&mut decoder, &[b'\n'; 100]).unwrap();
    assert!(push(&mut decoder, b"\n").is_err());
}

#[test]
fn deeply_nested_json_is_rejected() {
    for (open, close) in [("[", "]"), ("{\"text\":", "}"), ("[{\"thinking\":", "}]")] {
        for field in ["content", "reasoning_details", "tool_calls"] {
            let deep = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
            let text = format!("data: {{\"choices\":[{{\"delta\":{{\"{field}\":{deep}}}}}]}}\n\n");
            assert_eq!(error_of(None, &text).code(), ErrorCode::WIRE_ERROR);
        }
    }
    // Nesting in skipped fields is harmless.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let text =
        format!("data: {{\"other\":{deep},\"choices\":[{{\"delta\":{{\"content\":\"a\"}}}}]}}\n\n");
    assert_eq!(super::deltas_of(&text), [Delta::Text("a".to_owned())]);
}
