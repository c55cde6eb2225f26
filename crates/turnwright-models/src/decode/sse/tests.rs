use turnwright_core::ErrorCode;

use super::{Event, EventParser, MAX_EVENT};

/// Returns all events of these pieces, including the last one.
fn read(parser: &mut EventParser, pieces: &[&[u8]]) -> Result<Vec<Event>, turnwright_core::Error> {
    let mut events = Vec::new();
    for piece in pieces {
        let mut piece = *piece;
        while let Some(event) = parser.next_event(&mut piece)? {
            events.push(event);
        }
        assert!(piece.is_empty(), "a piece is used up");
    }
    events.extend(parser.finish()?);
    Ok(events)
}

fn data(pieces: &[&[u8]]) -> Vec<String> {
    let events = read(&mut EventParser::new(), pieces).unwrap();
    events.into_iter().map(|event| event.data).collect()
}

#[test]
fn lines_end_in_lf_crlf_or_cr() {
    for text in [
        "data: a\n\ndata: b\n\n",
        "data: a\r\n\r\ndata: b\r\n\r\n",
        "data: a\r\rdata: b\r\r",
        "data: a\r\n\ndata: b\n\r",
    ] {
        assert_eq!(data(&[text.as_bytes()]), ["a", "b"], "{text:?}");
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(data(&bytes), ["a", "b"], "{text:?} byte by byte");
    }
}

#[test]
fn the_last_event_needs_no_blank_line() {
    for end in ["", "\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n"] {
        let text = format!("data: a\n\ndata: b{end}");
        assert_eq!(data(&[text.as_bytes()]), ["a", "b"], "{end:?}");
    }
}

#[test]
fn finished_stream_returns_no_events() {
    let mut parser = EventParser::new();
    assert_eq!(read(&mut parser, &[b"data: a"]).unwrap().len(), 1);
    assert_eq!(parser.finish().unwrap(), None);
}

#[test]
fn data_in_several_lines_is_one_event() {
    assert_eq!(data(&[b"data: a\ndata:b\ndata:\n\n"]), ["a\nb\n"]);
}

#[test]
fn comments_and_blocks_without_data_are_not_events() {
    let text = b"\xEF\xBB\xBF: hello\n\nevent: ping\n\nid: 7\nretry: 10\n\n\n\ndata: a\n\n:\n\n";
    assert_eq!(data(&[text]), ["a"]);
    let bytes: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(data(&bytes), ["a"]);
}

#[test]
fn event_has_its_type() {
    let events = read(&mut EventParser::new(), &[b"event: error\ndata: no\n\n"]).unwrap();
    assert_eq!(events[0].name, "error");
    assert_eq!(events[0].data, "no");
}

#[test]
fn invalid_utf8_is_an_error() {
    let mut parser = EventParser::new();
    let error = read(&mut parser, &[b"data: a\n\ndata: \xFF\n\n"]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::WIRE_ERROR);
}

#[test]
fn character_may_be_split_anywhere() {
    let text = "data: ä€😀\n\n";
    for cut in 0..text.len() {
        let (one, two) = text.as_bytes().split_at(cut);
        assert_eq!(data(&[one, two]), ["ä€😀"]);
    }
}

#[test]
fn event_limit_does_not_depend_on_chunk_boundaries() {
    for ending in ["\n", "\r\n", "\r"] {
        let one = format!("data: {}{ending}{ending}", "x".repeat(50));
        let size = one.len();
        let text = one.repeat(3);
        for (limit, passes) in [(size, true), (size - 1, false)] {
            for step in 1..=text.len() {
                let pieces: Vec<&[u8]> = text.as_bytes().chunks(step).collect();
                let mut parser = EventParser::new().limit(limit);
                let events = read(&mut parser, &pieces);
                if passes {
                    assert_eq!(events.unwrap().len(), 3, "{ending:?} {limit} {step}");
                } else {
                    let error = events.unwrap_err();
                    let limit = format!("larger than {limit} bytes");
                    assert!(error.message().contains(&limit), "{error}");
                }
            }
        }
    }
}

#[test]
fn comments_count_towards_the_limit() {
    let mut parser = EventParser::new();
    let comment = [b":\n".as_slice(); 1024].concat();
    let mut fed = 0;
    let error = loop {
        let mut piece = comment.as_slice();
        match parser.next_event(&mut piece) {
            Ok(event) => assert_eq!(event, None),
            Err(error) => break error,
        }
        fed += comment.len();
    };
    assert_eq!(fed, MAX_EVENT);
    assert_eq!(error.code(), ErrorCode::WIRE_ERROR);
    assert!(error.message().contains("8388608"), "{error}");
}

#[test]
fn blocks_without_data_count_towards_the_limit() {
    let text = "event: ping\n\n".repeat(100);
    let mut piece = text.as_bytes();
    let mut parser = EventParser::new().limit(1_000);
    assert!(parser.next_event(&mut piece).is_err());
}

#[test]
fn many_small_events_in_one_piece_do_not_add_up_to_the_limit() {
    let text = "data: a\n\n".repeat(1_000);
    let mut parser = EventParser::new().limit(20);
    let events = read(&mut parser, &[text.as_bytes()]).unwrap();
    assert_eq!(events.len(), 1_000);
}

#[test]
fn debug_of_events_hides_content() {
    let events = read(&mut EventParser::new(), &[b"data: secret"]).unwrap();
    assert_eq!(
        format!("{:?}", events[0]),
        "Event { name: \"message\", data: 6 bytes }"
    );
}
