//! Collects what is logged, at all levels.

use std::fmt::{Debug, Write as _};
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Metadata, Subscriber};

#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<String>>);

impl Log {
    /// Collects until the guard is dropped, on this thread.
    pub(super) fn collect(&self) -> (DefaultGuard, Dispatch) {
        let guard = tracing::subscriber::set_default(self.clone());
        // With a single subscriber, `tracing` asks only that of the thread which comes first to a place in the code.
        (guard, Dispatch::new(self.clone()))
    }

    pub(super) fn text(&self) -> String {
        self.0.lock().clone()
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Fields(self));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Fields(self));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Fields(self));
        self.0.lock().push('\n');
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Fields<'l>(&'l Log);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // The value may log while it is shown.
        let text = format!("{field}={value:?} ");
        write!(self.0.0.lock(), "{text}").unwrap();
    }
}
