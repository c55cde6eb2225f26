//! Messages.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::fields::{Fields, put};
use super::reopen::Reopen;
use super::words::{read_stamp, write_stamp};
use super::{bytes, media};
use crate::error::Error;
use crate::record::{Author, Message, MessageBuilder};

pub(super) fn write(message: &Message, map: &mut Map<String, Value>) -> Result<(), Error> {
    write_stamp!(message, map);
    let author = match message.author() {
        Author::User => Value::from("user"),
        Author::Assistant => Value::from("assistant"),
        Author::Framework => Value::from("framework"),
        Author::Agent { name, tier } => {
            let mut agent = Map::new();
            put(&mut agent, "agent", name.as_str());
            put(&mut agent, "trustTier", tier.as_str());
            Value::Object(agent)
        }
    };
    put(map, "author", author);
    put(map, "text", message.text());
    if !message.media().is_empty() {
        put(map, "media", media::write_all(message.media())?);
    }
    bytes::write_state(message.provider_state(), map);
    Ok(())
}

pub(super) fn read(fields: &Fields<'_>, reopen: &Reopen) -> Result<Arc<Message>, Error> {
    let mut builder = read_stamp!(by_author(fields, fields.text("text")?)?, fields);
    if fields.get("media").is_some() {
        for media in media::read_all(fields, "media", reopen)? {
            builder = builder.media(media);
        }
    }
    if let Some(state) = bytes::read_state(fields)? {
        builder = builder.provider_state(state);
    }
    builder.build().map_err(|error| fields.refused(error))
}

fn by_author(fields: &Fields<'_>, text: &str) -> Result<MessageBuilder, Error> {
    match fields.get("author") {
        Some(Value::String(author)) if author == "user" => Ok(Message::user(text)),
        Some(Value::String(author)) if author == "assistant" => Ok(Message::assistant(text)),
        Some(Value::String(author)) if author == "framework" => Ok(Message::framework(text)),
        Some(Value::Object(_)) => {
            let agent = fields.object("author")?;
            Ok(Message::agent(agent.text("agent")?, text).tier(agent.word("trustTier")?))
        }
        _ => {
            let why = "is none of \"user\", \"assistant\", \"framework\" and an agent with `agent` and `trustTier`";
            Err(fields.wrong("author", why))
        }
    }
}
