//! Messages.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::fields::{Fields, put};
use super::node::Part;
use super::reopen::Reopen;
use super::words::write_stamp;
use super::{bytes, media};
use crate::error::Error;
use crate::record::{Author, Message};

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
    let (author, text) = (read_author(fields)?, fields.text("text")?);
    let mut builder = Message::stamped(author, text.to_owned(), fields.stamp()?);
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

fn read_author(fields: &Fields<'_>) -> Result<Author, Error> {
    let author = fields.get("author");
    if author.is_some_and(|it| it.as_object().is_some()) {
        let agent = fields.object("author")?;
        return Ok(Author::Agent {
            name: agent.text("agent")?.to_owned(),
            tier: agent.word("trustTier")?,
        });
    }
    let author = match author.and_then(Part::as_text) {
        Some("user") => Some(Author::User),
        Some("assistant") => Some(Author::Assistant),
        Some("framework") => Some(Author::Framework),
        _ => None,
    };
    author.ok_or_else(|| {
        let why = "is none of \"user\", \"assistant\", \"framework\" and an agent with `agent` and `trustTier`";
        fields.wrong("author", why)
    })
}
