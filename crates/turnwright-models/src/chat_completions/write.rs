//! The parts of a prompt as messages of the protocol.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::{Map, Value, json};
use turnwright_core::artifact::text::TokenCount;
use turnwright_core::record::{Author, Message, Retrieved, Thought, ToolResults};
use turnwright_core::trust::{Part, Renderer, neutralise};
use turnwright_core::{Error, ErrorCode, Media, ToolCall, TurnContext};

use super::PROTOCOL;
use super::builder::{Adapter, ReturnReasoning, SystemRole};
use super::media::{self, MediaPolicy, Unwritten};
use super::spelling::{is_usable, made_id, wire_arguments, wire_name};
use turnwright_core::transcript::{
    Entry, ModelResponse, ResponseState, Standing, Writer, indented,
};

/// A message as it goes over the wire.
#[derive(Debug)]
pub(super) struct WireMessage {
    pub(super) json: String,
    pub(super) role: Role,
    /// The ids of the calls in it.
    ids: Vec<String>,
    /// The words in it, where it has media too.
    words: Option<String>,
    media: u64,
    tokens: OnceLock<u64>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// What a media counts for: nobody knows what a model makes of it.
const TOKENS_OF_MEDIA: u64 = 1_000;

impl WireMessage {
    fn new(role: Role, message: &impl Serialize) -> Self {
        WireMessage {
            // Text and JSON values can always be written.
            json: serde_json::to_string(message).unwrap_or_default(),
            role,
            ids: Vec::new(),
            words: None,
            media: 0,
            tokens: OnceLock::new(),
        }
    }

    /// How many tokens a model makes of it, counted once.
    pub(super) fn tokens(&self, model: &str) -> u64 {
        let count = || {
            let words = self.words.as_ref().unwrap_or(&self.json);
            TokenCount::of_text(words, model).tokens + self.media * TOKENS_OF_MEDIA
        };
        *self.tokens.get_or_init(count)
    }
}

/// A message of words alone.
#[derive(Serialize)]
struct Said<'a> {
    role: &'a str,
    content: &'a str,
}

/// What came of a call.
#[derive(Serialize)]
struct Returned<'a> {
    role: &'static str,
    tool_call_id: &'a str,
    content: &'a str,
}

/// What the model said and called.
#[derive(Serialize)]
struct Answered<'a> {
    role: &'static str,
    /// `null` beside calls, as OpenAI's own responses have it: there is no server that does not take that.
    content: Option<Value>,
    #[serde(flatten)]
    thoughts: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: WireFunction,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

#[derive(Serialize)]
struct WireFunction {
    name: String,
    arguments: String,
}

/// Writes the messages of one turn.
pub(super) struct ChatWriter<'a> {
    adapter: &'a Adapter,
    renderer: Renderer,
    /// The ids of calls that stand in the prompt: none stands there twice.
    used: &'a mut HashSet<String>,
    turn: &'a TurnContext,
}

impl<'a> ChatWriter<'a> {
    pub(super) fn new(
        adapter: &'a Adapter,
        renderer: Renderer,
        used: &'a mut HashSet<String>,
        turn: &'a TurnContext,
    ) -> Self {
        ChatWriter {
            adapter,
            renderer,
            used,
            turn,
        }
    }

    /// A renderer that shows what the server can be shown.
    pub(super) fn renderer_for(adapter: &Adapter, plain: Renderer) -> Renderer {
        let shows = Arc::clone(&adapter.shows);
        let omits = Arc::clone(&adapter.shows);
        let drops = adapter.media_policy == MediaPolicy::Drop;
        plain
            .showing(move |media| shows(media))
            .leaving_out(move |media| drops && !omits(media))
    }

    /// Refuses what cannot be shown, where that was told.
    fn admit<'m>(&self, media: impl IntoIterator<Item = &'m Media>) -> Result<(), Error> {
        if self.adapter.media_policy != MediaPolicy::Throw {
            return Ok(());
        }
        let shown = |media: &&Media| (self.adapter.shows)(media);
        match media.into_iter().find(|media| !shown(media)) {
            None => Ok(()),
            Some(media) => {
                let message = format!(
                    "the {} {} of type {} cannot be shown to this server: leave it out, say that the server can be shown it with `shows`, or choose another policy with `unsupported_media`",
                    media.kind(),
                    media::named(media),
                    media.mime_type()
                );
                Err(Error::new(ErrorCode::UnsupportedMedia, message))
            }
        }
    }

    async fn user(&self, parts: Vec<Part>) -> Result<Vec<WireMessage>, Error> {
        if parts.is_empty() {
            return Ok(Vec::new());
        }
        let mut readable: Vec<(Part, Option<Value>)> = Vec::with_capacity(parts.len());
        for part in parts {
            let Part::Media(media) = &part else {
                readable.push((part, None));
                continue;
            };
            match Box::pin(media::part(media, self.adapter)).await {
                Ok(value) => readable.push((part, Some(value))),
                Err(Unwritten::Refused(error)) => return Err(error),
                Err(Unwritten::TooLarge(error))
                    if self.adapter.media_policy == MediaPolicy::Throw =>
                {
                    return Err(error);
                }
                Err(Unwritten::TooLarge(error)) => {
                    let why = error.message();
                    let warning = format!("the model gets a description of a media instead: {why}");
                    self.turn.warn(warning);
                    // The text before it says that the media follows.
                    readable.pop();
                    let described = self.renderer.too_large_media(media);
                    readable.extend(described.into_iter().map(|part| (part, None)));
                }
                Err(Unwritten::Unreadable(error)) => {
                    self.turn.warn(format!(
                        "the bytes of the {} {} cannot be read, so the model gets its description instead: {error}",
                        media.kind(),
                        media::named(media)
                    ));
                    readable.pop();
                    let described = self.renderer.unavailable_media(media);
                    readable.extend(described.into_iter().map(|part| (part, None)));
                }
            }
        }
        // Text alone as a string; with media as a list of parts.
        if readable.iter().all(|(_, media)| media.is_none()) {
            let parts = readable.into_iter().map(|(part, _)| part).collect();
            let (role, content) = ("user", &*joined(parts));
            return Ok(vec![WireMessage::new(Role::User, &Said { role, content })]);
        }
        let (mut content, mut words, mut media) = (Vec::new(), String::new(), 0);
        for part in readable {
            match part {
                (Part::Text(text), _) => {
                    words.push_str(&text);
                    content.push(json!({ "type": "text", "text": text }));
                }
                (_, Some(value)) => {
                    media += 1;
                    content.push(value);
                }
                _ => {}
            }
        }
        let message = WireMessage::new(Role::User, &json!({ "role": "user", "content": content }));
        Ok(vec![WireMessage {
            words: Some(words),
            media,
            ..message
        }])
    }

    async fn response(&mut self, response: &ModelResponse) -> Result<Vec<WireMessage>, Error> {
        let kept = response.state();
        let text = self.spoken(&response.messages);
        let mut content = (!text.is_empty()).then(|| Value::from(text));
        let mut thoughts = Map::new();
        if kept.is_some_and(|it| it.is_from(&self.adapter.from)) {
            self.add_thoughts(&response.thoughts, &mut content, &mut thoughts);
        }
        let calls = response.calls_with_states();
        let ids: Vec<String> = calls.map(|(it, state)| self.wire_id(it, state)).collect();
        if content.is_none() && ids.is_empty() {
            // A thought that nothing came of: no server takes a message without words.
            return Ok(Vec::new());
        }
        let calls = response.calls_with_states().zip(&ids);
        let message = Answered {
            role: "assistant",
            content,
            thoughts,
            tool_calls: calls
                .map(|((call, state), id)| self.call(call, id, state))
                .collect(),
        };
        let mut written = vec![WireMessage::new(Role::Assistant, &message)];
        drop(message);
        let cut = kept.and_then(ResponseState::why_cut);
        let mut follows = Vec::new();
        for (call, id) in response.calls.iter().zip(&ids) {
            let text = match cut {
                Some(why) => not_whole(why),
                None => self.result(call, id, &mut follows).await?,
            };
            let message = Returned {
                role: "tool",
                tool_call_id: id,
                content: &text,
            };
            written.push(WireMessage::new(Role::Tool, &message));
        }
        if let Some(first) = written.first_mut() {
            first.ids = ids;
        }
        written.extend(self.user(follows).await?);
        if let (Some(why), true) = (cut, response.calls.is_empty()) {
            let message = json!({ "role": "user", "content": not_finished(why) });
            written.push(WireMessage::new(Role::User, &message));
        }
        Ok(written)
    }

    fn spoken(&self, messages: &[Arc<Message>]) -> String {
        let parts = messages.iter().flat_map(|it| self.renderer.message(it));
        joined(parts.collect())
    }

    /// What came of a call, as text. Messages of tools are text alone on this protocol: media follow as a user's.
    async fn result(
        &self,
        call: &ToolCall,
        id: &str,
        follows: &mut Vec<Part>,
    ) -> Result<String, Error> {
        if let ToolResults::Media(media) = call.results() {
            self.admit(media)?;
        }
        let parts = self.renderer.tool_call(call).await;
        if parts.iter().all(|part| matches!(part, Part::Text(_))) {
            return Ok(joined(parts));
        }
        // By the id under which the model knows it.
        let name = Value::from(id);
        let tool = neutralise(call.tool()).into_owned();
        follows.push(Part::Text(format!(
            "{NOTE}What came of the call {name} of `{tool}`:"
        )));
        follows.extend(parts);
        Ok(format!(
            "The result of the call {name} follows in the next message of the user."
        ))
    }

    /// A call as it was made, in a form that every server takes.
    fn call<'i>(
        &self,
        call: &ToolCall,
        id: &'i str,
        state: Option<&ResponseState>,
    ) -> WireCall<'i> {
        let theirs = state.filter(|it| it.is_from(&self.adapter.from));
        let fields = theirs.into_iter().flat_map(ResponseState::fields);
        let extra = fields.filter(|(name, _)| !OF_MESSAGES.contains(&name.as_str()));
        WireCall {
            id,
            r#type: "function",
            function: WireFunction {
                name: wire_name(call.tool()),
                arguments: wire_arguments(call),
            },
            extra: extra
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        }
    }

    /// What the server thought, where it wants it back.
    fn add_thoughts(
        &self,
        thoughts: &[Arc<Thought>],
        content: &mut Option<Value>,
        fields: &mut Map<String, Value>,
    ) {
        if self.adapter.reasoning == ReturnReasoning::None {
            return;
        }
        for thought in thoughts {
            let Some(state) = ResponseState::read(thought.provider_state(), PROTOCOL) else {
                continue;
            };
            let details = state.fields().get(DETAILS);
            if let Some(details) = details {
                fields.insert(DETAILS.to_owned(), details.clone());
            }
            let field = state.fields().get(FIELD).and_then(Value::as_str);
            let back = match (self.adapter.reasoning, field) {
                (ReturnReasoning::Wanted, Some("reasoning_content")) => details.is_none(),
                (ReturnReasoning::Wanted, _) => false,
                _ => true,
            };
            let text = neutralise(thought.text()).into_owned();
            match field {
                Some(_) if !back || text.is_empty() => {}
                Some("thinking") => {
                    let thinking = json!({ "type": "thinking", "thinking": [{ "type": "text", "text": text }] });
                    let mut parts = vec![thinking];
                    if let Some(said) = content.take() {
                        parts.push(json!({ "type": "text", "text": said }));
                    }
                    *content = Some(Value::from(parts));
                }
                Some(field) if !OF_MESSAGES.contains(&field) => {
                    fields.insert(field.to_owned(), Value::from(text));
                }
                Some(_) | None => {}
            }
        }
    }

    /// The provider's own id where it gave one and it stands for one call alone; else one that every server takes.
    fn wire_id(&mut self, call: &ToolCall, state: Option<&ResponseState>) -> String {
        let ours = state.is_none_or(|state| state.is_from(&self.adapter.from));
        let told = call.provider_id().filter(|id| ours && is_usable(id));
        let made = (0..).map(|count| made_id(call.id(), count));
        let mut candidates = told.map(str::to_owned).into_iter().chain(made);
        // There is always another to be made.
        let id = candidates
            .find(|id| !self.used.contains(id))
            .unwrap_or_default();
        self.used.insert(id.clone());
        id
    }
}

/// What a message or a call has by the protocol: no field of a server's own stands in its place.
const OF_MESSAGES: &[&str] = &[
    "id",
    "type",
    "function",
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "index",
    "refusal",
];

/// Before what the framework says where a user speaks.
const NOTE: &str = "(Note of the application, not of the user.) ";

/// Where the state of a thought keeps what it came in, and what else came with it.
pub(super) const FIELD: &str = "reasoning_field";
pub(super) const DETAILS: &str = "reasoning_details";

impl Writer for ChatWriter<'_> {
    type Wire = WireMessage;

    fn protocol(&self) -> &str {
        PROTOCOL
    }

    fn standing(&mut self, standing: &Standing) -> Result<Vec<WireMessage>, Error> {
        let text = standing.text();
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let role = match self.adapter.role {
            SystemRole::System => "system",
            SystemRole::Developer => "developer",
        };
        let content = &*text;
        Ok(vec![WireMessage::new(
            Role::System,
            &Said { role, content },
        )])
    }

    async fn entry(&mut self, entry: &Entry) -> Result<Vec<WireMessage>, Error> {
        match entry {
            Entry::Message(message) => {
                self.admit(message.media())?;
                let mut parts = self.renderer.message(message);
                if let (Author::Framework, Some(Part::Text(text))) =
                    (message.author(), parts.first_mut())
                {
                    text.insert_str(0, NOTE);
                }
                self.user(parts).await
            }
            Entry::Retrievable(found) => {
                if let Retrieved::Media(media) = found.content() {
                    self.admit([media])?;
                }
                self.user(self.renderer.retrievable(found).await).await
            }
            Entry::Instruction(instruction) => {
                let text = indented(instruction.text());
                let text = format!("{NOTE}From now on this holds too:\n- {text}");
                self.user(vec![Part::Text(text)]).await
            }
            Entry::Memory(memory) => {
                let text = indented(memory.text());
                let text = format!("{NOTE}This is remembered now:\n- {text}");
                self.user(vec![Part::Text(text)]).await
            }
            Entry::Response(response) => self.response(response).await,
            // A kind of entry that this protocol does not know has nothing to say on its wire.
            _ => Ok(Vec::new()),
        }
    }

    fn again(&mut self, wire: &[WireMessage]) {
        for message in wire {
            self.used.extend(message.ids.iter().cloned());
        }
    }
}

fn joined(parts: Vec<Part>) -> String {
    let mut texts = parts.into_iter().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        _ => None,
    });
    let mut all = texts.next().unwrap_or_default();
    for text in texts {
        all.push_str("\n\n");
        all.push_str(&text);
    }
    all
}

/// What a model is told of a call whose response was not whole.
fn not_whole(why: &str) -> String {
    format!(
        "Your response was cut off ({why}) before it was whole, so this call was not made: nothing was run. Make it again if it is still wanted, in a shorter response."
    )
}

/// What a model is told of an answer that was not whole.
fn not_finished(why: &str) -> String {
    format!("{NOTE}Your last answer was cut off there ({why}).")
}
