//! Each fault of the table, at each position.

use serde_json::Value;
use turnwright_testkit::server::Server;
use turnwright_testkit::server::fault::{self, ARGUMENTS, Fault, FaultPosition, HUGE, TEXT, TOOL};

use super::ALL;
use super::wire::{End, Seen, ask, ask_silent};

async fn seen(fault: Fault, place: FaultPosition, most: usize) -> Seen {
    let server = Server::script([fault.answer(place)]).await.unwrap();
    let (address, body) = (server.address(), r#"{"stream":true}"#);
    match fault {
        Fault::Silence => ask_silent(address, body, place != FaultPosition::BeforeFirstByte).await,
        Fault::HalfFrame => ask_silent(address, body, true).await,
        _ => ask(address, body, most).await,
    }
}

/// Returns the content of the complete frames of a stream: the text or the arguments, and the finish reason.
fn content(text: &str) -> (String, Option<String>) {
    let text = text.trim_start_matches('\u{feff}');
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (mut content, mut finish) = (String::new(), None);
    for frame in text.split_inclusive("\n\n") {
        let data = frame
            .strip_prefix("data: ")
            .and_then(|item| item.strip_suffix("\n\n"));
        let Some(Ok(chunk)) = data.map(serde_json::from_str::<Value>) else {
            continue;
        };
        for piece in ["/content", "/tool_calls/0/function/arguments"] {
            let piece = chunk.pointer(&format!("/choices/0/delta{piece}"));
            content.push_str(piece.and_then(Value::as_str).unwrap_or_default());
        }
        let reason = chunk
            .pointer("/choices/0/finish_reason")
            .and_then(Value::as_str);
        finish = finish.or(reason.map(str::to_owned));
    }
    (content, finish)
}

fn reply(place: FaultPosition) -> (&'static str, &'static str) {
    match place {
        FaultPosition::InArguments => (ARGUMENTS, "tool_calls"),
        _ => (TEXT, "stop"),
    }
}

/// Asserts that the beginning of the reply arrived: nothing before its first byte, otherwise a non-empty part.
fn assert_begun(text: &str, place: FaultPosition, what: &str) {
    let (content, finish) = content(text);
    assert_eq!(finish, None, "{what}");
    let (complete, _) = reply(place);
    assert!(complete.starts_with(&content), "{what}: {content:?}");
    assert!(content.len() < complete.len(), "{what}");
    assert_eq!(
        content.is_empty(),
        place == FaultPosition::BeforeFirstByte,
        "{what}"
    );
    assert_eq!(
        text.contains(TOOL),
        place == FaultPosition::InArguments,
        "{what}"
    );
}

#[test]
fn table_has_every_fault_and_no_duplicates() {
    for fault in Fault::ALL {
        let places = fault::table().filter(|(item, _)| item == fault).count();
        assert!((1..=3).contains(&places), "{fault}");
    }
    let mut names: Vec<_> = Fault::ALL.iter().map(|fault| fault.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Fault::ALL.len());
}

#[tokio::test]
async fn status_faults_replace_the_reply() {
    let statuses = [
        (
            Fault::TooManyRequests {
                retry_after: Some(7),
            },
            "429 Too Many Requests\r\n",
        ),
        (Fault::ServerError, "500 Internal Server Error\r\n"),
        (Fault::Redirect, "302 Found\r\nlocation: /elsewhere\r\n"),
        (
            Fault::WrongContentType,
            "200 OK\r\ncontent-type: text/html\r\n",
        ),
        (
            Fault::EmptyBody,
            "200 OK\r\ncontent-type: text/event-stream\r\n",
        ),
    ];
    for (fault, begins) in statuses {
        assert!(
            !fault.applies(FaultPosition::InText) && !fault.applies(FaultPosition::InArguments)
        );
        let seen = seen(fault, FaultPosition::BeforeFirstByte, ALL).await;
        assert!(
            seen.head().starts_with(&format!("HTTP/1.1 {begins}")),
            "{}",
            seen.head()
        );
        assert_eq!(seen.end, End::Closed, "{fault}");
        match fault {
            Fault::TooManyRequests { .. } => assert!(seen.head().contains("retry-after: 7\r\n")),
            Fault::ServerError => assert_eq!(seen.json()["error"]["type"], "server_error"),
            Fault::WrongContentType => assert!(seen.rest().starts_with(b"<!doctype html>")),
            Fault::EmptyBody => {
                assert!(seen.chunked().complete && seen.chunked().chunks.is_empty());
            }
            _ => assert!(seen.rest().is_empty()),
        }
    }
}

#[tokio::test]
async fn huge_error_and_huge_frame_are_sent() {
    let body = seen(Fault::HugeErrorBody, FaultPosition::BeforeFirstByte, ALL).await;
    assert!(body.head().starts_with("HTTP/1.1 500 "));
    assert_eq!(body.rest().len() as u64, HUGE);
    for &place in FaultPosition::ALL {
        let body = seen(Fault::HugeFrame, place, ALL).await.chunked();
        assert!(body.complete);
        let text = body.text();
        let longest = text.split("\n\n").map(str::len).max().unwrap();
        assert!(longest as u64 > HUGE && (longest as u64) < HUGE + 300);
        let (content, finish) = content(&text);
        let (complete, reason) = reply(place);
        assert_eq!(
            content.len() as u64,
            HUGE + complete.len() as u64,
            "{place}"
        );
        assert_eq!(
            content.replace("xx", "").len() % 2,
            complete.len() % 2,
            "{place}"
        );
        assert_eq!(finish.as_deref(), Some(reason));
    }
}

#[tokio::test]
async fn connections_break_at_the_requested_position() {
    let ends = [
        (Fault::Reset, End::Reset),
        (Fault::Truncated, End::Closed),
        (Fault::Silence, End::Silent),
        (Fault::HalfFrame, End::Silent),
    ];
    for (fault, end) in ends {
        for &place in FaultPosition::ALL {
            let what = format!("{fault}, {place}");
            let seen = seen(fault, place, ALL).await;
            assert_eq!(seen.end, end, "{what}");
            if place == FaultPosition::BeforeFirstByte && fault != Fault::HalfFrame {
                assert!(seen.bytes.is_empty(), "{what}");
                continue;
            }
            let body = seen.chunked();
            assert!(!body.complete, "{what}");
            let text = body.text();
            assert_begun(&text, place, &what);
            let half = text.rsplit("\n\n").next().unwrap();
            let begun = half.starts_with("data: {") && !half.ends_with('}');
            assert_eq!(begun, fault == Fault::HalfFrame, "{what}: {half}");
        }
    }
}

#[tokio::test]
async fn comments_are_endless() {
    for &place in FaultPosition::ALL {
        let seen = seen(Fault::EndlessComments, place, 1 << 20).await;
        assert_eq!(seen.end, End::Enough);
        let text = seen.chunked().text();
        assert_begun(&text, place, place.name());
        assert!(text.matches(": still at it\n\n").count() > 10_000);
    }
}

#[tokio::test]
async fn bad_frames_are_in_the_middle_of_a_reply() {
    for (fault, place) in fault::table() {
        let what = format!("{fault}, {place}");
        let bad: &[u8] = match fault {
            Fault::NotJson => b"data: {\"choices\": [oops\n\n",
            Fault::InvalidUtf8 => b"\":\"\xc3\x28\xff\xfe\"}",
            Fault::ErrorFrame => b"data: {\"error\":",
            _ => continue,
        };
        let body = seen(fault, place, ALL).await.chunked();
        assert!(body.complete, "{what}");
        let bytes = body.bytes();
        let at = bytes
            .windows(bad.len())
            .position(|item| item == bad)
            .unwrap();
        let before = String::from_utf8_lossy(&bytes[..at]).into_owned();
        assert_begun(&before, place, &what);
        assert!(bytes.ends_with(b"data: [DONE]\n\n"), "{what}");
        let (_, finish) = content(&String::from_utf8_lossy(&bytes));
        assert_eq!(finish.is_none(), fault == Fault::ErrorFrame, "{what}");
    }
}

#[tokio::test]
async fn harmless_faults_contain_the_complete_reply() {
    for (fault, place) in fault::table() {
        let what = format!("{fault}, {place}");
        if !fault.is_harmless() && fault != Fault::NoFinishReason {
            continue;
        }
        let seen = seen(fault, place, ALL).await;
        assert_eq!(seen.end, End::Closed, "{what}");
        let body = seen.chunked();
        assert!(body.complete, "{what}");
        let text = body.text();
        let (content, finish) = content(&text);
        let (complete, reason) = reply(place);
        assert_eq!(content, complete, "{what}");
        let reason = (fault != Fault::NoFinishReason).then_some(reason);
        assert_eq!(finish.as_deref(), reason, "{what}");

        let dones = text.matches("data: [DONE]").count();
        match fault {
            Fault::DoneMissing => assert_eq!(dones, 0, "{what}"),
            Fault::DoneTwice => assert_eq!(dones, 2, "{what}"),
            _ => assert_eq!(dones, 1, "{what}"),
        }
        let (lf, cr) = (text.matches('\n').count(), text.matches('\r').count());
        match fault {
            Fault::CrLf => assert_eq!(text.matches("\r\n\r\n").count() * 2, lf, "{what}"),
            Fault::Cr => assert!(lf == 0 && cr > 0, "{what}"),
            _ => assert_eq!(cr, 0, "{what}"),
        }
        assert_eq!(
            text.starts_with('\u{feff}'),
            fault == Fault::ByteOrderMark,
            "{what}"
        );
        assert_eq!(
            text.ends_with("[DONE]"),
            fault == Fault::NoLastBlankLine,
            "{what}"
        );
        if fault == Fault::SlowDrip {
            assert!(body.chunks.iter().all(|chunk| chunk.len() <= 48), "{what}");
        }
    }
}
