//! The messages of a conversation.

/// A part of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::wire) enum Entry {
    /// A message of the user.
    User(String),
    /// A response of the model.
    Model {
        text: String,
        calls: Vec<RecordedCall>,
    },
    /// The results of calls.
    Results(Vec<RecordedResult>),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::wire) struct RecordedCall {
    /// The id, if the protocol has one.
    pub(in crate::wire) id: Option<String>,
    pub(in crate::wire) name: String,
    /// The arguments as JSON text.
    pub(in crate::wire) arguments: String,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::wire) struct RecordedResult {
    /// The id of the call, if the result has it.
    pub(in crate::wire) id: Option<String>,
    /// The name of the tool, if the result has it.
    pub(in crate::wire) name: Option<String>,
    pub(in crate::wire) text: String,
}

/// Adds messages to a conversation.
pub(super) trait Conversation {
    fn user(&mut self, text: String);
    /// Begins a response.
    fn response(&mut self);
    /// Adds text to the response, and begins one if there is none.
    fn says(&mut self, text: &str);
    /// Adds a call to the response, and begins one if there is none.
    fn calls(&mut self, call: RecordedCall);
    /// Adds the result of a call to those before it.
    fn result(&mut self, result: RecordedResult);
}

impl Conversation for Vec<Entry> {
    fn user(&mut self, text: String) {
        self.push(Entry::User(text));
    }

    fn response(&mut self) {
        self.push(Entry::Model {
            text: String::new(),
            calls: Vec::new(),
        });
    }

    fn says(&mut self, more: &str) {
        match self.last_mut() {
            Some(Entry::Model { text, .. }) => text.push_str(more),
            _ => self.push(Entry::Model {
                text: more.to_owned(),
                calls: Vec::new(),
            }),
        }
    }

    fn calls(&mut self, call: RecordedCall) {
        match self.last_mut() {
            Some(Entry::Model { calls, .. }) => calls.push(call),
            _ => self.push(Entry::Model {
                text: String::new(),
                calls: vec![call],
            }),
        }
    }

    fn result(&mut self, result: RecordedResult) {
        match self.last_mut() {
            Some(Entry::Results(results)) => results.push(result),
            _ => self.push(Entry::Results(vec![result])),
        }
    }
}
