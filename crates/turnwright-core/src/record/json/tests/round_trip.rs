use std::sync::Arc;

use proptest::prelude::*;

use super::{again, random, resolver, time};
use crate::artifact::SpooledArtifact;
use crate::media::Media;
use crate::record::{
    LedgerEntry, Message, ProviderState, Record, ResponseRef, Retrievable, Retrieved, ToolCall,
    ToolResults,
};

type Response<'r> = (Option<&'r ResponseRef>, Option<&'r ProviderState>);

fn same_response(a: Response<'_>, b: Response<'_>) {
    assert_eq!(a, b);
    let parts = |state: &ProviderState| {
        let (protocol, address) = (state.protocol(), state.address());
        let bytes = state.for_server(protocol, address).cloned();
        (protocol.to_owned(), address.to_owned(), bytes.unwrap())
    };
    assert_eq!(a.1.map(parts), b.1.map(parts));
}

fn same_media(a: &Media, b: &Media) {
    assert_eq!(a.descriptor(), b.descriptor());
    assert!(a.descriptor().stash.keys().eq(b.descriptor().stash.keys()));
    assert_eq!(a.byte_length(), b.byte_length());
}

fn same_artifact(a: &SpooledArtifact, b: &SpooledArtifact) {
    assert_eq!(a.kind(), b.kind());
    assert_eq!(a.byte_length(), b.byte_length());
    assert_eq!(a.spool_id(), b.spool_id());
    if a.spool_id().is_none() {
        let bytes = |item: &SpooledArtifact| {
            let mut all = vec![0; usize::try_from(item.byte_length()).unwrap()];
            item.reader().read_now(0, &mut all).unwrap().unwrap();
            all
        };
        assert_eq!(bytes(a), bytes(b));
    }
}

fn same_message(a: &Message, b: &Message) {
    assert_eq!(a.author(), b.author());
    assert_eq!(a.name(), b.name());
    assert_eq!(a.text(), b.text());
    assert_eq!(a.media().len(), b.media().len());
    a.media()
        .iter()
        .zip(b.media())
        .for_each(|(a, b)| same_media(a, b));
    same_response(
        (a.response(), a.provider_state()),
        (b.response(), b.provider_state()),
    );
    assert_eq!(
        (a.created_at(), a.updated_at()),
        (b.created_at(), b.updated_at())
    );
}

fn same_retrievable(a: &Retrievable, b: &Retrievable) {
    assert_eq!(a.tier(), b.tier());
    assert_eq!(a.source(), b.source());
    assert_eq!(a.is_inline(), b.is_inline());
    assert_eq!(a.covers(), b.covers());
    assert_eq!(
        (a.created_at(), a.updated_at()),
        (b.created_at(), b.updated_at())
    );
    match (a.content(), b.content()) {
        (Retrieved::Text(a), Retrieved::Text(b)) => assert_eq!(a, b),
        (Retrieved::Artifact(a), Retrieved::Artifact(b)) => same_artifact(a, b),
        (Retrieved::Media(a), Retrieved::Media(b)) => same_media(a, b),
        (a, b) => panic!("{a:?} became {b:?}"),
    }
}

fn same_call(a: &ToolCall, b: &ToolCall) {
    assert_eq!(a.provider_id(), b.provider_id());
    assert_eq!(a.tool(), b.tool());
    assert_eq!(a.args().text(), b.args().text());
    assert_eq!(a.args().to_value(), b.args().to_value());
    assert_eq!(format!("{:?}", a.args()), format!("{:?}", b.args()));
    assert_eq!(a.edited_args(), b.edited_args());
    assert_eq!(a.checksum(), b.checksum());
    assert_eq!(a.is_complete(), b.is_complete());
    assert_eq!(a.is_error(), b.is_error());
    assert_eq!(a.is_trusted(), b.is_trusted());
    assert_eq!(a.is_inline(), b.is_inline());
    assert_eq!(a.from_artifact_tool(), b.from_artifact_tool());
    assert_eq!(
        (a.created_at(), a.updated_at()),
        (b.created_at(), b.updated_at())
    );
    assert_eq!(a.completed_at(), b.completed_at());
    same_response(
        (a.response(), a.provider_state()),
        (b.response(), b.provider_state()),
    );
    assert_eq!(a.media().len(), b.media().len());
    let media = a.media().iter().zip(b.media());
    media.for_each(|(a, b)| same_media(a, b));
    match (a.results(), b.results()) {
        (ToolResults::Nothing, ToolResults::Nothing) => {}
        (ToolResults::Text(a), ToolResults::Text(b))
        | (ToolResults::Failure(a), ToolResults::Failure(b))
        | (ToolResults::Refusal(a), ToolResults::Refusal(b)) => assert_eq!(a, b),
        (ToolResults::Media(_), ToolResults::Media(_)) => {}
        (ToolResults::Artifacts(a), ToolResults::Artifacts(b)) => {
            assert_eq!(a.len(), b.len());
            a.iter().zip(b).for_each(|(a, b)| same_artifact(a, b));
        }
        (a, b) => panic!("{a:?} became {b:?}"),
    }
}

fn same_entry(a: &LedgerEntry, b: &LedgerEntry) {
    assert_eq!(a.turn_id, b.turn_id);
    assert_eq!(a.tool_call, b.tool_call);
    assert_eq!(a.checksum, b.checksum);
    assert_eq!(a.tool, b.tool);
    assert_eq!(a.fingerprint, b.fingerprint);
    assert_eq!(a.args, b.args);
    assert_eq!(a.state, b.state);
    assert_eq!((a.started_at, a.ended_at), (b.started_at, b.ended_at));
}

fn assert_same(a: &Record, b: &Record) {
    assert_eq!((a.kind(), a.id()), (b.kind(), b.id()));
    macro_rules! same_words {
        ($a:expr, $b:expr) => {{
            assert_eq!($a.text(), $b.text());
            assert_eq!(
                ($a.created_at(), $a.updated_at()),
                ($b.created_at(), $b.updated_at())
            );
        }};
    }
    match (a, b) {
        (Record::Instruction(a), Record::Instruction(b)) => same_words!(a, b),
        (Record::Memory(a), Record::Memory(b)) => same_words!(a, b),
        (Record::Thought(a), Record::Thought(b)) => {
            same_words!(a, b);
            same_response(
                (a.response(), a.provider_state()),
                (b.response(), b.provider_state()),
            );
        }
        (Record::Message(a), Record::Message(b)) => same_message(a, b),
        (Record::Retrievable(a), Record::Retrievable(b)) => same_retrievable(a, b),
        (Record::ToolCall(a), Record::ToolCall(b)) => same_call(a, b),
        (Record::Ledger(a), Record::Ledger(b)) => same_entry(a, b),
        (Record::ConversationInfo(a), Record::ConversationInfo(b)) => assert!(a == b),
        (a, b) => panic!("{a:?} became {b:?}"),
    }
}

proptest! {

    #[test]
    fn records_of_every_kind_round_trip_through_text(record in random::record()) {
        let read = again(&record, &resolver()).unwrap();
        assert_same(&record, &read);
        // It is written the same way again.
        prop_assert_eq!(record.to_value().unwrap(), read.to_value().unwrap());
    }

    /// Clocks are set back while a record is in use.
    #[test]
    fn times_are_put_in_order(record in random::record(), began in random::time(), ended in random::time()) {
        let mut value = record.to_value().unwrap();
        for (name, field) in value.as_object_mut().unwrap() {
            match name.as_str() {
                "createdAt" | "startedAt" => *field = time::format(began).into(),
                "updatedAt" | "completedAt" | "endedAt" => *field = time::format(ended).into(),
                _ => {}
            }
        }
        let read = Record::from_value(record.kind(), &value, &resolver()).unwrap();
        let read = read.to_value().unwrap();
        let at = |name: &str| read.get(name).map(|item| time::parse(item.as_str().unwrap()).unwrap());
        for name in ["updatedAt", "completedAt", "endedAt"] {
            prop_assert!(at(name).is_none_or(|at| at == began.max(ended)));
        }
    }

    #[test]
    fn arguments_round_trip_exactly(value in random::value()) {
        let call = ToolCall::builder("t", value.clone()).edited_args(value.clone()).build().unwrap();
        let Record::ToolCall(read) = again(&Arc::clone(&call).into(), &resolver()).unwrap() else { panic!() };
        prop_assert_eq!(read.args().to_value().to_string(), value.to_string());
        prop_assert_eq!(read.edited_args().unwrap().to_string(), value.to_string());
    }
}
