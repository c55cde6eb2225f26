//! Writes the entries of a prompt as messages of the protocol.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use turnwright_core::record::{Author, Retrieved, Thought, ToolResults};
use turnwright_core::render::{Part, Renderer};
use turnwright_core::trust::neutralise;
use turnwright_core::{Error, ErrorCode, Media, ToolCall, TurnContext};

use super::PROTOCOL;
use super::adapter::Adapter;
use super::media::{self, MediaError};
use super::sanitise::{derived_id, is_valid_id, valid_arguments, valid_name};
use super::settings::{MediaPolicy, ReturnReasoning, SystemRole};
use super::wire_message::{
    AssistantMessage, Role, ToolMessage, WireCall, WireFunction, WireMessage,
};
use turnwright_core::transcript::{
    Entry, ModelResponse, ResponseState, SystemPrompt, Writer, indented,
};

/// Writes the messages of one turn.
pub(super) struct ChatWriter<'a> {
    pub(super) adapter: &'a Adapter,
    pub(super) renderer: Renderer,
    /// The ids of calls in the prompt. Each is unique.
    pub(super) used: &'a mut HashSet<String>,
    pub(super) turn: &'a TurnContext,
}

impl ChatWriter<'_> {
    /// Returns a renderer that includes the media that the server accepts.
    pub(super) fn renderer_for(adapter: &Adapter, plain: Renderer) -> Renderer {
        let shows = Arc::clone(&adapter.settings.shows);
        let omits = Arc::clone(&adapter.settings.shows);
        let drops = adapter.settings.media_policy == MediaPolicy::Drop;
        plain
            .accepted_media(move |media| shows(media))
            .omitted_media(move |media| drops && !omits(media))
    }

    /// Rejects media that the server does not accept, if the policy is to fail.
    fn check_media<'m>(&self, media: impl IntoIterator<Item = &'m Media>) -> Result<(), Error> {
        if self.adapter.settings.media_policy != MediaPolicy::Error {
            return Ok(());
        }
        let shown = |media: &&Media| (self.adapter.settings.shows)(media);
        match media.into_iter().find(|media| !shown(media)) {
            None => Ok(()),
            Some(media) => {
                let message = format!(
                    "the {} {} of type {} is not accepted by this server: remove it, enable it with `shows`, or choose another policy with `unsupported_media`",
                    media.kind(),
                    media::named(media),
                    media.mime_type()
                );
                Err(Error::new(ErrorCode::UNSUPPORTED_MEDIA, message))
            }
        }
    }

    async fn user(&self, parts: Vec<Part>) -> Result<Vec<WireMessage>, Error> {
        if parts.is_empty() {
            return Ok(Vec::new());
        }
        let settings = &self.adapter.settings;
        let (mut readable, mut media_count) = (Vec::with_capacity(parts.len()), 0);
        for part in parts {
            let media = match &part {
                Part::Media(media) => media,
                Part::Text(_) => {
                    readable.push((part, None));
                    continue;
                }
                _ => continue,
            };
            let custom = settings.media_part.as_ref();
            let described = match Box::pin(media::part(media, settings.max_media, custom)).await {
                Ok(value) => {
                    media_count += 1;
                    readable.push((part, Some(value)));
                    continue;
                }
                Err(MediaError::Invalid(error)) => return Err(error),
                Err(MediaError::TooLarge(error)) if settings.media_policy == MediaPolicy::Error => {
                    return Err(error);
                }
                Err(MediaError::TooLarge(error)) => {
                    let why = error.message();
                    let warning = format!("media was replaced with a description: {why}");
                    self.turn.warn(warning);
                    self.renderer.media_not_shown(media, "it is too large")
                }
                Err(MediaError::Unreadable(error)) => {
                    self.turn.warn(format!(
                        "the bytes of the {} {} cannot be read and were replaced with a description: {error}",
                        media.kind(),
                        media::named(media)
                    ));
                    self.renderer
                        .media_not_shown(media, "its bytes are no longer available")
                }
            };
            // The preceding text introduces the media.
            readable.pop();
            readable.extend(described.into_iter().map(|part| (part, None)));
        }
        // Text alone is a string; with media, the content is a list of parts.
        if media_count == 0 {
            let parts = readable.into_iter().map(|(part, _)| part).collect();
            return Ok(vec![WireMessage::text(Role::User, "user", &joined(parts))]);
        }
        let (mut content, mut text) = (Vec::new(), String::new());
        for part in readable {
            match part {
                (Part::Text(more), _) => {
                    text.push_str(&more);
                    content.push(json!({ "type": "text", "text": more }));
                }
                (_, value) => content.extend(value),
            }
        }
        let content = json!({ "role": "user", "content": content });
        let mut message = WireMessage::new(Role::User, &content);
        message.text = Some(text);
        message.media = media_count;
        Ok(vec![message])
    }

    async fn response(&mut self, response: &ModelResponse) -> Result<Vec<WireMessage>, Error> {
        let state = response.state();
        let messages = response.messages.iter();
        let parts = messages.flat_map(|message| self.renderer.message(message));
        let text = joined(parts.collect());
        let mut content = (!text.is_empty()).then(|| Value::from(text));
        let mut reasoning = Map::new();
        if state.is_some_and(|state| state.is_from(&self.adapter.from)) {
            self.add_reasoning(&response.thoughts, &mut content, &mut reasoning);
        }
        let calls = response.calls_with_states();
        let ids = calls.map(|(call, state)| self.unique_id(call, state));
        let ids: Vec<String> = ids.collect();
        if content.is_none() && ids.is_empty() {
            // Only reasoning: no server accepts a message without content.
            return Ok(Vec::new());
        }
        let calls = response.calls_with_states().zip(&ids);
        let message = AssistantMessage {
            role: "assistant",
            content,
            reasoning,
            tool_calls: calls
                .map(|((call, state), id)| self.call(call, id, state))
                .collect(),
        };
        let mut written = vec![WireMessage::new(Role::Assistant, &message)];
        drop(message);
        let cut = state.and_then(ResponseState::truncation);
        let mut follows = Vec::new();
        for (call, id) in response.calls.iter().zip(&ids) {
            let text = match cut {
                Some(why) => format!(
                    "Your response was cut off ({why}), so this tool was not run. If you still need it, call it again in a shorter response."
                ),
                None => self.result(call, id, &mut follows).await?,
            };
            let message = ToolMessage {
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
            let text = format!("{NOTE}Your last answer was cut off ({why}).");
            written.push(WireMessage::text(Role::User, "user", &text));
        }
        Ok(written)
    }

    /// Returns the result of a call as text. In this protocol a tool message contains only text; media follows in a
    /// user message.
    async fn result(
        &self,
        call: &ToolCall,
        id: &str,
        follows: &mut Vec<Part>,
    ) -> Result<String, Error> {
        if let ToolResults::Media(media) = call.results() {
            self.check_media(media)?;
        }
        let parts = self.renderer.tool_call(call).await;
        if parts.iter().all(|part| matches!(part, Part::Text(_))) {
            return Ok(joined(parts));
        }
        // The id that the model uses.
        let name = Value::from(id);
        let tool = neutralise(call.tool()).into_owned();
        follows.push(Part::Text(format!(
            "{NOTE}Result of the call {name} to `{tool}`:"
        )));
        follows.extend(parts);
        Ok(format!(
            "The result of the call {name} is in the next user message."
        ))
    }

    /// Writes a call in a form that every server accepts.
    fn call<'i>(
        &self,
        call: &ToolCall,
        id: &'i str,
        state: Option<&ResponseState>,
    ) -> WireCall<'i> {
        let theirs = state.filter(|state| state.is_from(&self.adapter.from));
        let fields = theirs.into_iter().flat_map(ResponseState::fields);
        let extra = fields.filter(|(name, _)| !PROTOCOL_FIELDS.contains(&name.as_str()));
        WireCall {
            id,
            r#type: "function",
            function: WireFunction {
                name: valid_name(call.tool()),
                arguments: valid_arguments(call),
            },
            extra: extra
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        }
    }

    /// Adds the reasoning that the server expects to be sent back.
    fn add_reasoning(
        &self,
        thoughts: &[Arc<Thought>],
        content: &mut Option<Value>,
        fields: &mut Map<String, Value>,
    ) {
        if self.adapter.settings.reasoning == ReturnReasoning::None {
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
            let send_back = match (self.adapter.settings.reasoning, field) {
                (ReturnReasoning::Wanted, Some("reasoning_content")) => details.is_none(),
                (ReturnReasoning::Wanted, _) => false,
                _ => true,
            };
            let text = neutralise(thought.text()).into_owned();
            match field {
                Some(_) if !send_back || text.is_empty() => {}
                Some("thinking") => {
                    let thinking = json!({ "type": "thinking", "thinking": [{ "type": "text", "text": text }] });
                    let mut parts = vec![thinking];
                    if let Some(text) = content.take() {
                        parts.push(json!({ "type": "text", "text": text }));
                    }
                    *content = Some(Value::from(parts));
                }
                Some(field) if !PROTOCOL_FIELDS.contains(&field) => {
                    fields.insert(field.to_owned(), Value::from(text));
                }
                Some(_) | None => {}
            }
        }
    }

    /// Returns the provider's id if it is valid and unique; otherwise one that every server accepts.
    fn unique_id(&mut self, call: &ToolCall, state: Option<&ResponseState>) -> String {
        let ours = state.is_none_or(|state| state.is_from(&self.adapter.from));
        let given = call.provider_id().filter(|id| ours && is_valid_id(id));
        let made = (0..).map(|count| derived_id(call.id(), count));
        let mut candidates = given.map(str::to_owned).into_iter().chain(made);
        // The iterator is infinite.
        let id = candidates.find(|id| self.used.insert(id.clone()));
        id.unwrap_or_default()
    }
}

/// Fields that the protocol defines. A server's own fields never replace them.
const PROTOCOL_FIELDS: &[&str] = &[
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

/// The prefix of user messages that the framework writes.
const NOTE: &str = "(Note from the application, not from the user.) ";

/// The keys of the provider state of a thought.
pub(super) const FIELD: &str = "reasoning_field";
pub(super) const DETAILS: &str = "reasoning_details";

impl Writer for ChatWriter<'_> {
    type Wire = WireMessage;

    fn protocol(&self) -> &str {
        PROTOCOL
    }

    fn system_prompt(&mut self, system: &SystemPrompt) -> Result<Vec<WireMessage>, Error> {
        let text = system.text();
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let role = match self.adapter.settings.role {
            SystemRole::System => "system",
            SystemRole::Developer => "developer",
        };
        Ok(vec![WireMessage::text(Role::System, role, &text)])
    }

    async fn entry(&mut self, entry: &Entry) -> Result<Vec<WireMessage>, Error> {
        match entry {
            Entry::Message(message) => {
                self.check_media(message.media())?;
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
                    self.check_media([media])?;
                }
                self.user(self.renderer.retrievable(found).await).await
            }
            Entry::Instruction(instruction) => {
                let text = indented(instruction.text());
                let text = format!("{NOTE}From now on, this instruction also applies:\n- {text}");
                self.user(vec![Part::Text(text)]).await
            }
            Entry::Memory(memory) => {
                let text = indented(memory.text());
                let text = format!("{NOTE}This memory was added or updated:\n- {text}");
                self.user(vec![Part::Text(text)]).await
            }
            Entry::Response(response) => self.response(response).await,
            // Other kinds of entries have no form in this protocol.
            _ => Ok(Vec::new()),
        }
    }

    fn reuse(&mut self, wire: &[WireMessage]) {
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
