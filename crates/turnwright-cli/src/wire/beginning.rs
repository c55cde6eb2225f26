//! A recorded request as the start of a turn.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use turnwright::artifact::{ArtifactKind, SpooledArtifact};
use turnwright::record::{Record, ToolResults};
use turnwright::{Message, ToolCall};

use super::request::{Entry, RecordedCall, RecordedRequest, RecordedResult};

/// The start of a turn.
#[derive(Default)]
pub(super) struct Beginning {
    /// Earlier messages and calls.
    pub(super) before: Vec<Record>,
    /// The new message of the user; `None` if the model continues.
    pub(super) input: Option<String>,
}

impl Beginning {
    pub(super) fn of(request: &RecordedRequest) -> Self {
        let mut beginning = Beginning::default();
        let mut before = request.entries.as_slice();
        if let Some((Entry::User(text), rest)) = before.split_last() {
            beginning.input = Some(text.clone()).filter(|text| !text.is_empty());
            before = rest;
        }
        for (place, entry) in before.iter().enumerate() {
            match entry {
                Entry::User(text) => beginning.add(Message::user(text.as_str()).build()),
                Entry::Model { text, calls } => {
                    if !text.is_empty() {
                        beginning.add(Message::assistant(text.as_str()).build());
                    }
                    let results = match before.get(place + 1) {
                        Some(Entry::Results(results)) => results.as_slice(),
                        _ => &[],
                    };
                    beginning.add_calls(calls, results, place);
                }
                // Results are stored with their calls.
                Entry::Results(_) => {}
            }
        }
        beginning
    }

    /// Skips messages that are not valid records: they are not compared with the recording.
    fn add(&mut self, message: Result<Arc<Message>, turnwright::Error>) {
        self.before.extend(message.map(Record::Message));
    }

    /// The calls of a response, with their results.
    fn add_calls(&mut self, calls: &[RecordedCall], results: &[RecordedResult], place: usize) {
        let mut results: Vec<Option<&RecordedResult>> = results.iter().map(Some).collect();
        for call in calls {
            let result = result_of(call, &mut results);
            let result = result.map_or("", |result| &result.text).to_owned();
            let artifact = SpooledArtifact::in_memory(result, ArtifactKind::TEXT);
            // In the order of the conversation, with the calls of one response together.
            let when = SystemTime::UNIX_EPOCH + Duration::from_secs(place as u64 * 10);
            let done = when + Duration::from_secs(5);
            let mut record = ToolCall::builder(call.name.as_str(), call.arguments.as_str());
            if let Some(id) = &call.id {
                record = record.provider_id(id.as_str());
            }
            let record = record
                .results(ToolResults::Artifacts(vec![artifact]))
                .inline(true)
                .created_at(when)
                .updated_at(done)
                .completed_at(done)
                .build();
            self.before.extend(record.map(Record::ToolCall));
        }
    }
}

/// Takes the result of a call: by its id, else by the name of the tool, else the next one.
fn result_of<'r>(
    call: &RecordedCall,
    results: &mut [Option<&'r RecordedResult>],
) -> Option<&'r RecordedResult> {
    let has_id = |result: &RecordedResult| result.id.is_some() && result.id == call.id;
    let has_name =
        |result: &RecordedResult| result.id.is_none() && result.name.as_ref() == Some(&call.name);
    let mut take = |fits: &dyn Fn(&RecordedResult) -> bool| {
        let found = results.iter_mut().find(|result| result.is_some_and(fits));
        found.and_then(Option::take)
    };
    take(&has_id)
        .or_else(|| take(&has_name))
        .or_else(|| take(&|result| result.id.is_none() || call.id.is_none()))
}
