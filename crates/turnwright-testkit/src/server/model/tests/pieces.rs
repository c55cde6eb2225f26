//! Text and calls in arbitrary pieces are the same in each protocol.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::read::said;
use crate::server::model::{Asked, Call, Protocol, Reply};

fn arguments() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        any::<String>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    prop::collection::btree_map(any::<String>(), value, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>()))
}

fn reply() -> impl Strategy<Value = Reply> {
    let text = || prop::option::of(".{1,60}");
    let calls = prop::collection::vec(("[a-z_]{1,12}", arguments()), 0..4);
    let usage = (0_u64..1_000, 0_u64..1_000, 0_u64..1_000, 0_u64..1_000);
    (text(), text(), calls, 0_usize..70, prop::option::of(usage)).prop_map(
        |(text, reasoning, calls, pieces, usage)| {
            let mut reply = Reply::default().pieces(pieces);
            reply.text = text;
            reply.reasoning = reasoning;
            for (name, arguments) in calls {
                reply = reply.with_call(Call::new(name, arguments));
            }
            match usage {
                Some((rest, cached, written, output)) => reply
                    .usage(rest + cached + written, output)
                    .cached(cached)
                    .cache_written(written)
                    .reasoning_tokens(output / 3),
                None => reply,
            }
        },
    )
}

proptest! {
    #[test]
    fn reply_says_the_same_in_each_protocol_streamed_and_not(reply in reply()) {
        let usage = reply.usage.unwrap_or_default();
        for &protocol in Protocol::ALL {
            let mut asked = Asked::streamed(protocol);
            let streamed = said(&reply, &asked);
            asked.streamed = false;
            prop_assert_eq!(&said(&reply, &asked), &streamed, "{}", protocol);

            prop_assert_eq!(&streamed.text, reply.text.as_deref().unwrap_or_default());
            prop_assert_eq!(&streamed.reasoning, reply.reasoning.as_deref().unwrap_or_default());
            let calls = reply.calls.iter().map(|call| (call.name.clone(), call.arguments_value()));
            prop_assert_eq!(&streamed.calls, &calls.collect::<Vec<_>>(), "{}", protocol);
            let (written, kept) = match protocol {
                Protocol::Ollama => (0, 0),
                Protocol::Gemini => (0, 1),
                _ => (1, 1),
            };
            let expected = [
                usage.input, usage.output, kept * usage.cached, written * usage.cache_written, kept * usage.reasoning,
            ];
            prop_assert_eq!(streamed.usage, expected, "{}", protocol);
        }
    }
}
