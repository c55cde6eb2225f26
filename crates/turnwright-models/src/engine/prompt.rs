//! Turns the entries of a transcript into items, and has the codec write them.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use turnwright_core::record::{Author, ProviderState, Retrieved, ToolResults};
use turnwright_core::render::{Part, Renderer};
use turnwright_core::transcript::{Entry, ModelResponse, SystemPrompt, Writer, indented};
use turnwright_core::trust::neutralise;
use turnwright_core::{Error, ErrorCode, Media, ToolCall, TurnContext};

use super::item::{Assistant, Call, CallResult, Item, Piece, User, UserPart};
use super::layout::Layout;
use super::media::{self, MediaError};
use super::sanitise::{derived_id, is_valid_id, valid_arguments, valid_name};
use super::server::Server;
use super::settings::MediaPolicy;
use super::wire_message::WireMessage;

/// The prefix of user messages that the framework writes.
const NOTE: &str = "(Note from the application, not from the user.) ";

/// Writes the prompt of one turn.
pub(super) struct PromptWriter<'a> {
    pub(super) server: &'a Server,
    pub(super) renderer: Renderer,
    /// The ids of calls in the prompt. Each is unique.
    pub(super) used: &'a mut HashSet<String>,
    pub(super) turn: &'a TurnContext,
}

impl PromptWriter<'_> {
    /// Returns a renderer that includes the media that the server accepts.
    pub(super) fn renderer_for(server: &Arc<Server>, plain: Renderer) -> Renderer {
        let (shown, omitted) = (Arc::clone(server), Arc::clone(server));
        let drops = server.settings.media_policy == MediaPolicy::Drop;
        let carries = server.codec.info().user_names;
        plain
            .accepted_media(move |media| shown.shows(media))
            .omitted_media(move |media| drops && !omitted.shows(media))
            .naming_users(move |name| !carries(name))
    }

    /// Rejects media that the server does not accept, if the policy is to fail.
    fn check_media<'m>(&self, media: impl IntoIterator<Item = &'m Media>) -> Result<(), Error> {
        if self.server.settings.media_policy != MediaPolicy::Error {
            return Ok(());
        }
        let shown = |media: &&Media| self.server.shows(media);
        match media.into_iter().find(|media| !shown(media)) {
            None => Ok(()),
            Some(media) => {
                let message = format!(
                    "the {} {} of type {} is not accepted by this server: remove it, enable it with `accepted_media`, or choose another policy with `unsupported_media`",
                    media.kind(),
                    media::named(media),
                    media.mime_type()
                );
                Err(Error::new(ErrorCode::UNSUPPORTED_MEDIA, message))
            }
        }
    }

    fn write(&self, item: Item<'_>) -> Vec<WireMessage> {
        let mut messages = Vec::with_capacity(1);
        self.server.codec.write(item, &mut messages);
        messages
    }

    async fn user(&self, parts: Vec<Part>, name: Option<&str>) -> Result<Vec<WireMessage>, Error> {
        let parts = self.read_media(parts).await?;
        if parts.is_empty() {
            Ok(Vec::new())
        } else {
            Ok(self.write(Item::User(User { parts, name })))
        }
    }

    /// Reads the media of a message. Media that cannot be sent is replaced with a description.
    async fn read_media(&self, parts: Vec<Part>) -> Result<Vec<UserPart>, Error> {
        let settings = &self.server.settings;
        let mut readable = Vec::with_capacity(parts.len());
        for part in parts {
            let media = match part {
                Part::Media(media) => media,
                Part::Text(text) => {
                    readable.push(UserPart::Text(text));
                    continue;
                }
                _ => continue,
            };
            let custom = settings.media_part.as_ref();
            let described = match Box::pin(media::part(&media, settings.max_media, custom)).await {
                Ok(part) => {
                    readable.push(part);
                    continue;
                }
                Err(MediaError::TooLarge(error)) if settings.media_policy == MediaPolicy::Error => {
                    return Err(error);
                }
                Err(MediaError::TooLarge(error)) => {
                    let why = error.message();
                    let warning = format!("media was replaced with a description: {why}");
                    self.turn.warn(warning);
                    self.renderer.media_not_shown(&media, "it is too large")
                }
                Err(MediaError::Unreadable(error)) => {
                    self.turn.warn(format!(
                        "the bytes of the {} {} cannot be read and were replaced with a description: {error}",
                        media.kind(),
                        media::named(&media)
                    ));
                    self.renderer
                        .media_not_shown(&media, "its bytes are no longer available")
                }
            };
            // The preceding text introduces the media.
            readable.pop();
            readable.extend(described.into_iter().filter_map(|part| match part {
                Part::Text(text) => Some(UserPart::Text(text)),
                _ => None,
            }));
        }
        Ok(readable)
    }

    async fn response(&mut self, response: &ModelResponse) -> Result<Vec<WireMessage>, Error> {
        let calls = response.calls.iter().map(|call| self.call(call));
        let calls: Vec<Call> = calls.collect();
        let assistant = self.assistant(response, calls.clone());
        if assistant.pieces.is_empty() {
            return Ok(Vec::new());
        }
        let mut written = self.write(Item::Assistant(assistant));
        if let Some(first) = written.first_mut() {
            first.ids = calls.iter().map(|call| call.id.clone()).collect();
        }
        let mut follows = Vec::new();
        let mut results = Vec::with_capacity(calls.len());
        for (record, call) in response.calls.iter().zip(calls) {
            results.push(
                self.result(record, call, response.why_cut(), &mut follows)
                    .await?,
            );
        }
        if !results.is_empty() {
            written.extend(self.write(Item::Results(results)));
        }
        written.extend(self.user(follows, None).await?);
        if let (Some(why), true) = (response.why_cut(), response.calls.is_empty()) {
            let text = format!("{NOTE}Your last answer was cut off ({why}).");
            written.extend(self.user(vec![Part::Text(text)], None).await?);
        }
        Ok(written)
    }

    /// Returns the parts of a response, with what this server attached to them.
    fn assistant(&self, response: &ModelResponse, calls: Vec<Call>) -> Assistant {
        let messages = response.messages.iter();
        let parts = messages.flat_map(|message| self.renderer.message(message));
        let text = joined(parts.collect());
        let of_thoughts = response.thoughts.iter().map(|item| item.provider_state());
        let of_messages = response.messages.iter().map(|item| item.provider_state());
        let mut states = of_thoughts.chain(of_messages).flatten();
        let state = states.find_map(|state| self.state_of(Some(state)));
        let has_state = |call: &Arc<ToolCall>| self.state_of(call.provider_state()).is_some();
        let is_own = state.is_some() || response.calls.iter().any(has_state);
        let state = state.unwrap_or_default();
        let thoughts = response.thoughts.iter().filter(|_| is_own);
        let reasoning: String = thoughts.map(|thought| thought.text()).collect();
        let pieces = match Layout::of(&state) {
            Some(layout) => layout.arrange(&text, &reasoning, calls),
            None => {
                let fields = Map::new;
                let reasoning = neutralise(&reasoning).into_owned();
                let (thought, answer) = (!reasoning.is_empty(), !text.is_empty());
                let thought = thought.then(|| Piece::Reasoning {
                    text: reasoning,
                    fields: fields(),
                });
                let text = answer.then(|| Piece::Text {
                    text,
                    fields: fields(),
                });
                let calls = calls.into_iter().map(Piece::Call);
                thought.into_iter().chain(text).chain(calls).collect()
            }
        };
        Assistant {
            pieces,
            state,
            is_own,
        }
    }

    /// Returns what this server attached to a record; `None` for records of other servers.
    fn state_of(&self, state: Option<&ProviderState>) -> Option<Map<String, Value>> {
        let protocol = self.server.codec.info().name;
        let bytes = state?.for_server(protocol, &self.server.address)?;
        serde_json::from_slice(bytes).ok()
    }

    /// Returns the result of a call. If the protocol has no media in results, it follows in a user message.
    async fn result(
        &self,
        record: &ToolCall,
        call: Call,
        why_cut: Option<&str>,
        follows: &mut Vec<Part>,
    ) -> Result<CallResult, Error> {
        let result = |parts, is_error| CallResult {
            id: call.id.clone(),
            has_own_id: call.has_own_id,
            name: call.name.clone(),
            parts,
            is_error,
        };
        if let Some(why) = why_cut {
            let text = format!(
                "Your response was cut off ({why}), so this tool was not run. If you still need it, call it again in a shorter response."
            );
            return Ok(result(vec![UserPart::Text(text)], true));
        }
        if let ToolResults::Media(media) = record.results() {
            self.check_media(media)?;
        }
        let parts = self.renderer.tool_call(record).await;
        let has_media = parts.iter().any(|part| !matches!(part, Part::Text(_)));
        if !has_media {
            let text = UserPart::Text(joined(parts));
            return Ok(result(vec![text], record.is_error()));
        }
        if self.server.codec.info().media_in_results {
            let parts = self.read_media(parts).await?;
            return Ok(result(parts, record.is_error()));
        }
        // The id that the model uses.
        let name = Value::from(call.id.as_str());
        let tool = neutralise(record.tool()).into_owned();
        follows.push(Part::Text(format!(
            "{NOTE}Result of the call {name} to `{tool}`:"
        )));
        follows.extend(parts);
        let text = format!("The result of the call {name} is in the next user message.");
        Ok(result(vec![UserPart::Text(text)], record.is_error()))
    }

    /// Returns a call in a form that every server accepts.
    fn call(&mut self, call: &ToolCall) -> Call {
        let fields = self.state_of(call.provider_state());
        // Calls that no server made have no state either.
        let is_ours = call.provider_state().is_none() || fields.is_some();
        let given = call
            .provider_id()
            .filter(|id| is_ours && is_valid_id(id))
            .map(str::to_owned);
        let made = (0..).map(|count| derived_id(call.id(), count));
        let mut candidates = given.clone().into_iter().chain(made);
        // The iterator is infinite.
        let id = candidates.find(|id| self.used.insert(id.clone()));
        let id = id.unwrap_or_default();
        Call {
            has_own_id: given.is_some_and(|given| given == id),
            id,
            name: valid_name(call.tool()),
            arguments: valid_arguments(call),
            fields: fields.unwrap_or_default(),
        }
    }
}

impl Server {
    /// Returns `true` if the server accepts this media.
    fn shows(&self, media: &Media) -> bool {
        match &self.settings.shows {
            Some(shows) => shows(media),
            None => (self.codec.info().accepts)(media),
        }
    }
}

impl Writer for PromptWriter<'_> {
    type Wire = WireMessage;

    fn system_prompt(&mut self, system: &SystemPrompt) -> Result<Vec<WireMessage>, Error> {
        let text = system.text();
        if text.is_empty() {
            Ok(Vec::new())
        } else {
            Ok(self.write(Item::System(&text)))
        }
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
                let carries = self.server.codec.info().user_names;
                let name = message.name().filter(|name| carries(name));
                self.user(parts, name).await
            }
            Entry::Retrievable(found) => {
                if let Retrieved::Media(media) = found.content() {
                    self.check_media([media])?;
                }
                self.user(self.renderer.retrievable(found).await, None)
                    .await
            }
            Entry::Instruction(instruction) => {
                let text = indented(instruction.text());
                let text = format!("{NOTE}From now on, this instruction also applies:\n- {text}");
                self.user(vec![Part::Text(text)], None).await
            }
            Entry::Memory(memory) => {
                let text = indented(memory.text());
                let text = format!("{NOTE}This memory was added or updated:\n- {text}");
                self.user(vec![Part::Text(text)], None).await
            }
            Entry::Response(response) => self.response(response).await,
            // Other kinds of entries have no form in a prompt.
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
