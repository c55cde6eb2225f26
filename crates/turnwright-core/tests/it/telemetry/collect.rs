//! A subscriber that records everything.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use turnwright_core::telemetry::METRICS_TARGET;

pub(super) type Fields = BTreeMap<&'static str, Recorded>;

/// A value with its original type: a bridge treats each type differently.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Recorded {
    Text(String),
    Number(i64),
    Count(u64),
    Float(f64),
    Flag(bool),
    Debug(String),
}

#[derive(Clone, Debug)]
pub(super) struct SeenSpan {
    pub(super) name: &'static str,
    pub(super) parent: Option<usize>,
    pub(super) fields: Fields,
    pub(super) closed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct SeenEvent {
    pub(super) level: Level,
    pub(super) span: Option<usize>,
    pub(super) fields: Fields,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) spans: Vec<SeenSpan>,
    pub(super) events: Vec<SeenEvent>,
    pub(super) metrics: Vec<SeenEvent>,
}

/// As long as a process has just one subscriber, `tracing` asks only that of the thread that reaches a span first whether anyone
/// wants it. In these tests this is often a thread without one.
static ANOTHER: LazyLock<Dispatch> =
    LazyLock::new(|| Dispatch::new(tracing_subscriber::registry()));

/// Records the traces of this thread until it is dropped.
pub(super) struct Collector {
    seen: Arc<Mutex<Seen>>,
    _guard: DefaultGuard,
}

impl Collector {
    pub(super) fn start() -> Self {
        LazyLock::force(&ANOTHER);
        let seen = Arc::<Mutex<Seen>>::default();
        let layer = Collect(Arc::clone(&seen));
        let subscriber = tracing_subscriber::registry().with(layer);
        Collector {
            seen,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }
}

impl Seen {
    /// The spans with this name, in the order in which they started.
    pub(super) fn named(&self, name: &str) -> Vec<usize> {
        let of_name = |(_, span): &(usize, &SeenSpan)| span.name == name;
        let spans = self.spans.iter().enumerate();
        spans.filter(of_name).map(|(at, _)| at).collect()
    }

    pub(super) fn the(&self, name: &str) -> &SeenSpan {
        let [only] = self.named(name)[..] else {
            panic!("there is not one {name}: {:#?}", self.spans);
        };
        &self.spans[only]
    }

    /// The names from the outermost span to this one.
    pub(super) fn path(&self, at: usize) -> String {
        let span = &self.spans[at];
        match span.parent {
            Some(parent) => format!("{}/{}", self.path(parent), span.name),
            None => span.name.to_owned(),
        }
    }

    pub(super) fn paths(&self) -> Vec<String> {
        (0..self.spans.len()).map(|at| self.path(at)).collect()
    }

    pub(super) fn is_below(&self, at: usize, above: usize) -> bool {
        let parent = self.spans[at].parent;
        parent.is_some_and(|parent| parent == above || self.is_below(parent, above))
    }

    pub(super) fn all_closed(&self) -> bool {
        self.spans.iter().all(|span| span.closed)
    }

    /// Returns whether a text occurs anywhere.
    pub(super) fn holds(&self, text: &str) -> bool {
        format!("{self:?}").contains(text)
    }
}

impl SeenSpan {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        text(&self.fields, name)
    }

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        match self.fields.get(name)? {
            Recorded::Number(number) => Some(*number),
            other => panic!("{name} is {other:?}"),
        }
    }
}

impl SeenEvent {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        text(&self.fields, name)
    }

    pub(super) fn message(&self) -> &str {
        match &self.fields["message"] {
            Recorded::Debug(text) | Recorded::Text(text) => text,
            other => panic!("the message is {other:?}"),
        }
    }
}

fn text<'f>(fields: &'f Fields, name: &str) -> Option<&'f str> {
    match fields.get(name)? {
        Recorded::Text(text) => Some(text),
        other => panic!("{name} is {other:?}"),
    }
}

/// The index of a span. Ids can be reused after a span is closed.
struct At(usize);

struct Collect(Arc<Mutex<Seen>>);

impl Collect {
    fn at<S: Subscriber + for<'s> LookupSpan<'s>>(id: &Id, ctx: &Context<'_, S>) -> usize {
        let span = ctx.span(id).unwrap();
        span.extensions().get::<At>().unwrap().0
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Collect {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let span = ctx.span(id).unwrap();
        let parent = span
            .parent()
            .map(|parent| parent.extensions().get::<At>().unwrap().0);
        let mut fields = Reading::default();
        attributes.record(&mut fields);
        let mut seen = self.0.lock().unwrap();
        span.extensions_mut().insert(At(seen.spans.len()));
        seen.spans.push(SeenSpan {
            name: attributes.metadata().name(),
            parent,
            fields: fields.0,
            closed: false,
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        let at = Collect::at(id, &ctx);
        let mut fields = Reading::default();
        values.record(&mut fields);
        self.0.lock().unwrap().spans[at].fields.extend(fields.0);
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        let span = ctx.event_span(event);
        let span = span.map(|span| Collect::at(&span.id(), &ctx));
        let mut fields = Reading::default();
        event.record(&mut fields);
        let mut seen = self.0.lock().unwrap();
        let list = match event.metadata().target() {
            METRICS_TARGET => &mut seen.metrics,
            _ => &mut seen.events,
        };
        list.push(SeenEvent {
            level: *event.metadata().level(),
            span,
            fields: fields.0,
        });
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        let at = Collect::at(&id, &ctx);
        self.0.lock().unwrap().spans[at].closed = true;
    }
}

#[derive(Default)]
struct Reading(Fields);

impl Visit for Reading {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), Recorded::Text(value.into()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name(), Recorded::Number(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name(), Recorded::Count(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name(), Recorded::Float(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name(), Recorded::Flag(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0
            .insert(field.name(), Recorded::Debug(format!("{value:?}")));
    }
}
