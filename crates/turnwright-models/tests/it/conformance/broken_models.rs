//! Models with one defect each. Every requirement is broken by one of them.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use turnwright_core::Error;
use turnwright_testkit::server::model::Protocol;

use super::checks;
use super::tampering::{Behaving, Habit, Tampering, ToRequest, ToResponse};
use super::{Built, ModelSetup, retry, run};

/// A model of Anthropic with a defect, and what it breaks.
struct Defect {
    name: &'static str,
    kind: Kind,
    breaks: &'static [&'static str],
}

enum Kind {
    Request(ToRequest),
    Response(ToResponse),
    Transport(fn(&mut Tampering)),
    Attempts(usize),
    EventBytes(usize),
    Habit(Habit),
    KeyInDebug,
}

/// Returns the blocks of all messages that have this type.
fn blocks<'b>(body: &'b mut Value, kind: &'static str) -> impl Iterator<Item = &'b mut Value> {
    let messages = body["messages"].as_array_mut().unwrap().iter_mut();
    let blocks = messages.filter_map(|message| message["content"].as_array_mut());
    blocks.flatten().filter(move |block| block["type"] == kind)
}

/// Removes the blocks with this type from all messages.
fn remove(body: &mut Value, kind: &str) {
    for message in body["messages"].as_array_mut().unwrap() {
        if let Some(blocks) = message["content"].as_array_mut() {
            blocks.retain(|block| block["type"] != kind);
        }
    }
}

fn replace(body: &mut Value, from: &str, to: &str) {
    *body = serde_json::from_str(&body.to_string().replace(from, to)).unwrap();
}

const DEFECTS: &[Defect] = &[
    Defect {
        name: "does not stream",
        kind: Kind::Request(|body, _| body["stream"] = false.into()),
        breaks: &["a streamed response is shown in pieces and becomes the answer"],
    },
    Defect {
        name: "cuts complete responses",
        kind: Kind::Response(|text| {
            text.map(|text| {
                if text.starts_with('{') {
                    text.replace(", as always.", "")
                } else {
                    text
                }
            })
        }),
        breaks: &["a complete response gives the same answer as a streamed one"],
    },
    Defect {
        name: "knows only ASCII",
        kind: Kind::Response(|text| text.map(|text| text.replace(|c: char| !c.is_ascii(), "?"))),
        breaks: &["text can have any characters"],
    },
    Defect {
        name: "ignores thinking",
        kind: Kind::Response(|text| text.map(|text| text.replace("\"thinking\":", "\"musing\":"))),
        breaks: &["reasoning becomes thoughts and is no part of the answer"],
    },
    Defect {
        name: "takes every end for a proper one",
        kind: Kind::Response(|text| {
            let proper = r#""stop_reason":"end_turn""#;
            let text = text?.replace(r#""stop_reason":"refusal""#, proper);
            Ok(text.replace(r#""stop_reason":"max_tokens""#, proper))
        }),
        breaks: &[
            "a refusal is not an answer",
            "a call of a response that was cut off never runs",
            "an answer that was cut off is not an answer",
        ],
    },
    Defect {
        name: "rewrites schemas",
        kind: Kind::Request(|body, _| {
            let city = &mut body["tools"][0]["input_schema"]["properties"]["city"];
            city.as_object_mut().unwrap().remove("maxLength").unwrap();
        }),
        breaks: &["the schema of a tool is sent unchanged"],
    },
    Defect {
        name: "loses results",
        kind: Kind::Request(|body, _| {
            blocks(body, "tool_result").for_each(|block| block["content"] = "ok".into());
        }),
        breaks: &[
            "a call runs, and its result reaches the model",
            "a call with invalid arguments does not run, and the model can correct it",
            "the agent runs approved calls, and no denied ones",
            "the agent queries a large result as an artifact",
        ],
    },
    Defect {
        name: "returns results in another order",
        kind: Kind::Request(|body, _| {
            for message in body["messages"].as_array_mut().unwrap() {
                if message["content"][0]["type"] == "tool_result" {
                    message["content"].as_array_mut().unwrap().reverse();
                }
            }
        }),
        breaks: &["calls of one response all run, and their results return in order"],
    },
    Defect {
        name: "makes up arguments",
        kind: Kind::Response(|text| {
            text.map(|text| text.replace(r#""input":{}"#, r#""input":{"city":"x"}"#))
        }),
        breaks: &["a call without arguments has an empty object"],
    },
    Defect {
        name: "loses thinking",
        kind: Kind::Request(|body, _| remove(body, "thinking")),
        breaks: &["reasoning goes back to the server with the calls that it led to"],
    },
    Defect {
        name: "forgets old messages",
        kind: Kind::Request(|body, _| {
            let messages = body["messages"].as_array_mut().unwrap();
            let old = messages.len().saturating_sub(3);
            messages.drain(..old);
        }),
        breaks: &["a later turn sends the complete exchange again"],
    },
    Defect {
        name: "completes what broke",
        kind: Kind::Response(|text| {
            let call = json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted",
                "content": [{ "type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {} }],
                "stop_reason": "tool_use", "usage": { "input_tokens": 1, "output_tokens": 1 },
            });
            Ok(text.unwrap_or_else(|_| call.to_string()))
        }),
        breaks: &["a call of a response whose connection broke never runs"],
    },
    Defect {
        name: "assumes an end",
        kind: Kind::Response(|text| {
            let end = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}"#;
            let stop = "event: message_stop";
            let with_end = format!("event: message_delta\ndata: {end}\n\n{stop}");
            text.map(|text| {
                if text.contains("message_delta") {
                    text
                } else {
                    text.replace(stop, &with_end)
                }
            })
        }),
        breaks: &["a call of a response without an end never runs"],
    },
    Defect {
        name: "gives up",
        kind: Kind::Attempts(1),
        breaks: &[
            "a busy server is asked again",
            "a response that breaks is discarded and requested again",
        ],
    },
    Defect {
        name: "never gives up",
        kind: Kind::Attempts(5),
        breaks: &["the number of attempts is limited"],
    },
    Defect {
        name: "insists",
        kind: Kind::Transport(|transport| transport.insists = true),
        breaks: &["a rejected request is not sent again"],
    },
    Defect {
        name: "follows redirects",
        kind: Kind::Transport(|transport| transport.follows = true),
        breaks: &["a redirect is not followed"],
    },
    Defect {
        name: "does not tell failures apart",
        kind: Kind::Habit(Habit::OneCode),
        breaks: &["a silent server is a timeout"],
    },
    Defect {
        name: "reads everything",
        kind: Kind::EventBytes(1 << 30),
        breaks: &["an endless event is not read to its end"],
    },
    Defect {
        name: "sends no key",
        kind: Kind::Transport(|transport| transport.without = Some("x-api-key")),
        breaks: &["the key is sent to the server"],
    },
    Defect {
        name: "has the key in errors",
        kind: Kind::Habit(Habit::KeyInErrors),
        breaks: &["the key is not in errors", "the key is not in events"],
    },
    Defect {
        name: "has the key in Debug",
        kind: Kind::KeyInDebug,
        breaks: &["the key is not in the output of Debug"],
    },
    Defect {
        name: "numbers its requests",
        kind: Kind::Request(|body, _| {
            let number = body["messages"].as_array().unwrap().len();
            let first = blocks(body, "text").next().unwrap();
            first["text"] = format!("{number}: {}", first["text"].as_str().unwrap()).into();
        }),
        breaks: &["each prompt starts with the one before"],
    },
    Defect {
        name: "numbers its objects",
        kind: Kind::Request(|body, object| body["system"] = format!("Object {object}").into()),
        breaks: &["another model object sends the same prompt"],
    },
    Defect {
        name: "corrects answers by itself",
        kind: Kind::Response(|text| text.map(|text| text.replace("420", "6"))),
        breaks: &["a typed answer is validated, and an invalid one is corrected"],
    },
    Defect {
        name: "sends no system prompt",
        kind: Kind::Request(|body, _| drop(body.as_object_mut().unwrap().remove("system"))),
        breaks: &["the schema of a typed answer reaches the model"],
    },
    Defect {
        name: "sends no images",
        kind: Kind::Request(|body, _| remove(body, "image")),
        breaks: &["images are sent"],
    },
    Defect {
        name: "removes envelopes",
        kind: Kind::Request(|body, _| replace(body, "<tw-", "<")),
        breaks: &[
            "the name of a user is inside an envelope",
            "tool results are inside envelopes",
            "text of a tool cannot end its envelope",
        ],
    },
    Defect {
        name: "does not count",
        kind: Kind::Response(|text| text.map(|text| text.replace("_tokens\":", "_beans\":"))),
        breaks: &[
            "tokens are counted",
            "cached tokens are part of the input",
            "the tokens of all requests are added up",
        ],
    },
    Defect {
        name: "continues when it was cancelled",
        kind: Kind::Habit(Habit::Detached),
        breaks: &["a cancelled turn closes its connection"],
    },
    Defect {
        name: "makes no calls",
        kind: Kind::Response(|text| text.map(|text| text.replace("\"tool_use\"", "\"text\""))),
        breaks: &[
            "the agent gives a typed answer after tool calls",
            "a suspended turn is continued by another runner",
            "a failed turn is resumed, and no call runs twice",
            "a cancelled turn leaves a conversation that can continue",
            "the agent does all of this in one conversation",
        ],
    },
];

impl Kind {
    fn model(&self, setup: &ModelSetup, object: usize) -> Result<Built, Error> {
        let (mut model, mut transport) = (setup.builder(), Tampering::new(object));
        let (mut habit, mut shown) = (Habit::None, None);
        match self {
            Kind::Request(change) => transport.request = Some(*change),
            Kind::Response(change) => transport.response = Some(*change),
            Kind::Transport(change) => change(&mut transport),
            Kind::Attempts(attempts) => {
                model = model.retry(retry(*attempts));
            }
            Kind::EventBytes(bytes) => {
                model = model.max_event_bytes(*bytes).max_response_bytes(*bytes);
            }
            Kind::Habit(bad) => habit = *bad,
            Kind::KeyInDebug => shown = Some(setup.api_key.clone()),
        }
        let model = model.transport(transport).build()?;
        let mut model = Behaving::new(model, habit, &setup.api_key);
        model.shown = shown;
        Ok(Built::new(model))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_defect_breaks_its_requirements() {
    let mut missed = Vec::new();
    for defect in DEFECTS {
        let objects = AtomicUsize::new(0);
        let make = |setup: &ModelSetup| {
            let object = objects.fetch_add(1, Ordering::SeqCst);
            defect.kind.model(setup, object)
        };
        for name in defect.breaks {
            let mut all = checks::ALL.iter();
            let check = all.find(|check| check.requirement == *name).unwrap();
            if run(Protocol::Anthropic, check, &make).await.is_ok() {
                missed.push(format!("a model that {} passes: {name}", defect.name));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_requirement_is_broken_by_a_defect() {
    let is_broken = |name: &&str| DEFECTS.iter().any(|defect| defect.breaks.contains(name));
    let requirements = checks::ALL.iter().map(|check| check.requirement);
    let missing: Vec<&str> = requirements.filter(|name| !is_broken(name)).collect();
    assert!(missing.is_empty(), "no defect breaks: {missing:#?}");
}
