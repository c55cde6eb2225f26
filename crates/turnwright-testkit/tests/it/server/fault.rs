//! Each fault of the table, at each position.

use serde_json::{Value, json};
use turnwright_testkit::server::Server;
use turnwright_testkit::server::fault::{self, ARGUMENTS, Fault, FaultPosition, HUGE, TEXT, TOOL};
use turnwright_testkit::server::model::Protocol;

use super::ALL;
use super::wire::{End, Seen, ask, ask_silent};

async fn seen(protocol: Protocol, fault: Fault, place: FaultPosition, most: usize) -> Seen {
    let server = Server::script([fault.answer(protocol, place)])
        .await
        .unwrap();
    let (address, body) = (server.address(), r#"{"stream":true}"#);
    match fault {
        Fault::Silence => ask_silent(address, body, place != FaultPosition::BeforeFirstByte).await,
        Fault::HalfFrame => ask_silent(address, body, true).await,
        _ => ask(address, body, most).await,
    }
}

/// Returns the data of the complete frames of a stream.
fn frames(protocol: Protocol, text: &str) -> Vec<Value> {
    let text = text.trim_start_matches('\u{feff}');
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let end = if protocol == Protocol::Ollama {
        "\n"
    } else {
        "\n\n"
    };
    let frames = text
        .split_inclusive(end)
        .filter_map(|frame| frame.strip_suffix(end));
    let data = frames.filter_map(|frame| match protocol {
        Protocol::Ollama => Some(frame),
        _ => frame.lines().find_map(|line| line.strip_prefix("data: ")),
    });
    data.filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

/// Returns the content of the complete frames of a stream: the text or the arguments, and the finish reason.
fn content(protocol: Protocol, text: &str) -> (String, Option<String>) {
    let (mut content, mut finish) = (String::new(), None);
    for data in frames(protocol, text) {
        let pieces = [
            "/choices/0/delta/content",
            "/choices/0/delta/tool_calls/0/function/arguments",
            "/delta",
            "/delta/text",
            "/delta/partial_json",
            "/candidates/0/content/parts/0/text",
            "/candidates/0/content/parts/0/functionCall/args",
            "/message/content",
            "/message/tool_calls/0/function/arguments",
        ];
        for piece in pieces.iter().filter_map(|pointer| data.pointer(pointer)) {
            match piece {
                Value::String(text) => content.push_str(text),
                // The delta of a message is none of these.
                Value::Object(_) if data.get("delta").is_none() => {
                    content.push_str(&piece.to_string());
                }
                _ => {}
            }
        }
        let reasons = [
            "/choices/0/finish_reason",
            "/delta/stop_reason",
            "/candidates/0/finishReason",
            "/done_reason",
        ];
        let mut reasons = reasons
            .iter()
            .filter_map(|pointer| data.pointer(pointer)?.as_str());
        let ended = data["type"] == "response.completed";
        finish = finish.or(reasons
            .next()
            .or(ended.then_some("completed"))
            .map(str::to_owned));
    }
    (content, finish)
}

/// Returns `true` if the arguments are in one frame.
fn in_one_frame(protocol: Protocol, place: FaultPosition) -> bool {
    place == FaultPosition::InArguments && matches!(protocol, Protocol::Gemini | Protocol::Ollama)
}

fn reply(protocol: Protocol, place: FaultPosition) -> (&'static str, &'static str) {
    let calls = place == FaultPosition::InArguments;
    let reason = match protocol {
        Protocol::ChatCompletions if calls => "tool_calls",
        Protocol::ChatCompletions | Protocol::Ollama => "stop",
        Protocol::Responses => "completed",
        Protocol::Anthropic if calls => "tool_use",
        Protocol::Anthropic => "end_turn",
        Protocol::Gemini => "STOP",
        other => panic!("{other}"),
    };
    (if calls { ARGUMENTS } else { TEXT }, reason)
}

/// Asserts that the beginning of the reply arrived: nothing before its first byte, otherwise three pieces of eight.
fn assert_begun(protocol: Protocol, text: &str, place: FaultPosition, what: &str) {
    let (content, finish) = content(protocol, text);
    assert_eq!(finish, None, "{what}");
    let expected = match place {
        FaultPosition::InText => "The quick brown",
        FaultPosition::InArguments if !in_one_frame(protocol, place) => r#"{"city":"Paris""#,
        _ => "",
    };
    assert_eq!(content, expected, "{what}");
    let names = place == FaultPosition::InArguments && !in_one_frame(protocol, place);
    assert!(!names || text.contains(TOOL), "{what}");
}

/// Returns every protocol with every fault at every position.
fn all() -> impl Iterator<Item = (Protocol, Fault, FaultPosition)> {
    let protocols = Protocol::ALL.iter();
    protocols.flat_map(|&protocol| {
        fault::table(protocol).map(move |(fault, place)| (protocol, fault, place))
    })
}

#[test]
fn table_has_every_fault_and_no_duplicates() {
    for fault in Fault::ALL {
        let places = all().filter(|(_, item, _)| item == fault).count();
        assert!((1..=15).contains(&places), "{fault}");
    }
    let mut names: Vec<_> = Fault::ALL.iter().map(|fault| fault.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Fault::ALL.len());
}

#[tokio::test]
async fn status_faults_replace_the_reply() {
    let late = Fault::TooManyRequests {
        retry_after: Some(7),
    };
    for &protocol in Protocol::ALL {
        let overloaded = if protocol == Protocol::Anthropic {
            529
        } else {
            503
        };
        let stream = match protocol {
            Protocol::Ollama => "application/x-ndjson",
            _ => "text/event-stream",
        };
        let statuses = [
            (late, 429, "retry-after: 7\r\n".to_owned()),
            (Fault::ServerError, 500, "application/json\r\n".to_owned()),
            (
                Fault::Overloaded,
                overloaded,
                "application/json\r\n".to_owned(),
            ),
            (Fault::Redirect, 302, "location: /elsewhere\r\n".to_owned()),
            (
                Fault::WrongContentType,
                200,
                "content-type: text/html\r\n".to_owned(),
            ),
            (Fault::EmptyBody, 200, format!("content-type: {stream}\r\n")),
        ];
        for (fault, status, header) in statuses {
            let what = format!("{protocol}, {fault}");
            assert!(
                !fault.applies(protocol, FaultPosition::InText)
                    && !fault.applies(protocol, FaultPosition::InArguments)
            );
            let seen = seen(protocol, fault, FaultPosition::BeforeFirstByte, ALL).await;
            let head = seen.head().to_owned() + "\r\n";
            assert!(
                head.starts_with(&format!("HTTP/1.1 {status} ")),
                "{what}: {head}"
            );
            assert!(head.contains(&header), "{what}: {head}");
            assert_eq!(seen.end, End::Closed, "{what}");
            match fault {
                Fault::WrongContentType => assert!(seen.rest().starts_with(b"<!doctype html>")),
                Fault::Redirect => assert!(seen.rest().is_empty()),
                Fault::EmptyBody => {
                    assert!(seen.chunked().complete && seen.chunked().chunks.is_empty());
                }
                _ => assert_error(protocol, status, &seen.json()),
            }
        }
    }
}

/// Asserts that an error has the form of the protocol.
fn assert_error(protocol: Protocol, status: u16, body: &Value) {
    let message = match protocol {
        Protocol::Ollama => body.pointer("/error"),
        _ => body.pointer("/error/message"),
    };
    assert!(message.is_some_and(Value::is_string), "{protocol}: {body}");
    let (pointer, value) = match (protocol, status) {
        (Protocol::Anthropic, 429) => ("/error/type", json!("rate_limit_error")),
        (Protocol::Anthropic, 529) => ("/error/type", json!("overloaded_error")),
        (Protocol::Anthropic, _) => ("/error/type", json!("api_error")),
        (Protocol::Gemini, 429) => ("/error/status", json!("RESOURCE_EXHAUSTED")),
        (Protocol::Gemini, 503) => ("/error/status", json!("UNAVAILABLE")),
        (Protocol::Gemini, _) => ("/error/status", json!("INTERNAL")),
        (Protocol::Ollama, _) => return,
        (_, 429) => ("/error/type", json!("requests")),
        _ => ("/error/type", json!("server_error")),
    };
    assert_eq!(body.pointer(pointer), Some(&value), "{protocol}: {body}");
}

#[tokio::test]
async fn huge_error_and_huge_frame_are_sent() {
    let body = seen(
        Protocol::Gemini,
        Fault::HugeErrorBody,
        FaultPosition::BeforeFirstByte,
        ALL,
    )
    .await;
    assert!(body.head().starts_with("HTTP/1.1 500 "));
    assert_eq!(body.rest().len() as u64, HUGE);
    for &protocol in Protocol::ALL {
        // One position each: it takes a while.
        let place = match protocol {
            Protocol::ChatCompletions => FaultPosition::BeforeFirstByte,
            Protocol::Responses | Protocol::Ollama => FaultPosition::InText,
            _ => FaultPosition::InArguments,
        };
        let body = seen(protocol, Fault::HugeFrame, place, ALL).await.chunked();
        assert!(body.complete);
        let text = body.text();
        let longest = text.split('\n').map(str::len).max().unwrap();
        assert!(longest as u64 > HUGE && (longest as u64) < HUGE + 600);
        let (content, finish) = content(protocol, &text);
        let (complete, reason) = reply(protocol, place);
        assert_eq!(
            content.len() as u64,
            HUGE + complete.len() as u64,
            "{protocol}"
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
    for &protocol in Protocol::ALL {
        for (fault, end) in ends {
            for &place in FaultPosition::ALL {
                let what = format!("{protocol}, {fault}, {place}");
                let seen = seen(protocol, fault, place, ALL).await;
                assert_eq!(seen.end, end, "{what}");
                if place == FaultPosition::BeforeFirstByte && fault != Fault::HalfFrame {
                    assert!(seen.bytes.is_empty(), "{what}");
                    continue;
                }
                let body = seen.chunked();
                assert!(!body.complete, "{what}");
                let text = body.text();
                assert_begun(protocol, &text, place, &what);
                let half = !text.ends_with('\n') && !text.ends_with('}');
                let expected = fault == Fault::HalfFrame || in_one_frame(protocol, place);
                assert_eq!(half, expected, "{what}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn comments_are_endless() {
    for &protocol in Protocol::ALL {
        for &place in FaultPosition::ALL {
            let seen = seen(protocol, Fault::EndlessComments, place, 1 << 20).await;
            assert_eq!(seen.end, End::Enough);
            let text = seen.chunked().text();
            assert_begun(protocol, &text, place, place.name());
            let comment = match protocol {
                Protocol::Ollama => "              \n",
                _ => ": still at it\n\n",
            };
            assert!(text.matches(comment).count() > 10_000, "{protocol}");
        }
    }
}

#[tokio::test]
async fn bad_frames_are_in_the_middle_of_a_reply() {
    for (protocol, fault, place) in all() {
        let what = format!("{protocol}, {fault}, {place}");
        let bad: &[u8] = match (fault, protocol) {
            (Fault::NotJson, _) => b"{\"choices\": [oops",
            (Fault::InvalidUtf8, _) => b"\":\"\xc3\x28\xff\xfe\"",
            (Fault::ErrorFrame, Protocol::Anthropic | Protocol::Responses) => {
                b"event: error\ndata: {\"type\":\"error\","
            }
            (Fault::ErrorFrame, Protocol::Ollama) => b"{\"error\":\"The provider",
            (Fault::ErrorFrame, _) => b"data: {\"error\":{",
            (Fault::FailedResponse, _) => {
                b"event: response.failed\ndata: {\"type\":\"response.failed\","
            }
            _ => continue,
        };
        let body = seen(protocol, fault, place, ALL).await.chunked();
        assert!(body.complete, "{what}");
        let bytes = body.bytes();
        let at = bytes.windows(bad.len()).position(|item| item == bad);
        let before = String::from_utf8_lossy(&bytes[..at.expect(&what)]).into_owned();
        assert_begun(protocol, &before, place, &what);
        let done = protocol == Protocol::ChatCompletions;
        assert_eq!(bytes.ends_with(b"data: [DONE]\n\n"), done, "{what}");
        let (_, finish) = content(protocol, &String::from_utf8_lossy(&bytes));
        let is_error = matches!(fault, Fault::ErrorFrame | Fault::FailedResponse);
        assert_eq!(finish.is_none(), is_error, "{what}");
        assert_eq!(
            is_error,
            bytes.windows(13).any(|item| item == b"provider went"),
            "{what}"
        );
    }
}

#[tokio::test]
async fn another_protocol_is_complete_in_itself() {
    for &protocol in Protocol::ALL {
        let place = FaultPosition::BeforeFirstByte;
        let text = seen(protocol, Fault::OtherProtocol, place, ALL)
            .await
            .chunked()
            .text();
        let other = match protocol {
            Protocol::ChatCompletions => Protocol::Anthropic,
            _ => Protocol::ChatCompletions,
        };
        let (complete, reason) = reply(other, place);
        assert_eq!(
            content(other, &text),
            (complete.to_owned(), Some(reason.to_owned()))
        );
    }
}

#[tokio::test]
async fn harmless_faults_contain_the_complete_reply() {
    for (protocol, fault, place) in all() {
        let what = format!("{protocol}, {fault}, {place}");
        if !fault.is_harmless() && fault != Fault::NoFinishReason {
            continue;
        }
        let seen = seen(protocol, fault, place, ALL).await;
        assert_eq!(seen.end, End::Closed, "{what}");
        let body = seen.chunked();
        assert!(body.complete, "{what}");
        let text = body.text();
        let without_end = fault == Fault::NoLastBlankLine;
        let read = if without_end {
            text.clone() + "\n\n"
        } else {
            text.clone()
        };
        let (content, finish) = content(protocol, &read);
        let (complete, reason) = reply(protocol, place);
        assert_eq!(content, complete, "{what}");
        let reason = (fault != Fault::NoFinishReason).then_some(reason);
        assert_eq!(finish.as_deref(), reason, "{what}");

        let dones = text.matches("data: [DONE]").count();
        match fault {
            _ if protocol != Protocol::ChatCompletions => assert_eq!(dones, 0, "{what}"),
            Fault::DoneMissing => assert_eq!(dones, 0, "{what}"),
            Fault::DoneTwice => assert_eq!(dones, 2, "{what}"),
            _ => assert_eq!(dones, 1, "{what}"),
        }
        let (lf, cr) = (text.matches('\n').count(), text.matches('\r').count());
        match fault {
            Fault::CrLf => assert!(cr == lf && text.matches("\r\n").count() == lf, "{what}"),
            Fault::Cr => assert!(lf == 0 && cr > 0, "{what}"),
            _ if protocol == Protocol::Gemini => assert_eq!(cr, lf, "{what}"),
            _ => assert_eq!(cr, 0, "{what}"),
        }
        assert_eq!(
            text.starts_with('\u{feff}'),
            fault == Fault::ByteOrderMark,
            "{what}"
        );
        assert_eq!(!text.ends_with(['\n', '\r']), without_end, "{what}");
        if fault == Fault::SlowDrip {
            assert!(body.chunks.iter().all(|chunk| chunk.len() <= 48), "{what}");
        }
    }
}
