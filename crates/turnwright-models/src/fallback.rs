//! Several models, of which the next one answers when the first cannot.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use turnwright_core::dispatch::Executor;
use turnwright_core::event::Level;
use turnwright_core::{BoxError, DispatchContext, Error, ErrorCode, Tool};

use crate::engine::Alternatives;

/// An executor that asks several models in order: the next one answers if a model cannot be reached, fails, rejects
/// the request, or cannot take a prompt of this size.
///
/// A model is only replaced before a call of its failed response has run. What was streamed of a failed response is
/// retracted: readers of the turn get a restart event. For the rest of the turn, the model that answered is asked
/// first; the next turn starts with the first model again.
///
/// Each model applies its own retry policy before the next one is asked. Set a short policy on all but the last.
///
/// ```
/// use turnwright_models::retry::RetryPolicy;
/// use turnwright_models::{ChatCompletions, Fallback};
///
/// let local = ChatCompletions::builder("http://127.0.0.1:8080/v1").model("qwen3");
/// let model = Fallback::new([local.retry(RetryPolicy::never()).build()?])
///     .or(ChatCompletions::builder("http://127.0.0.1:8081/v1").model("qwen3").build()?);
/// let runner = turnwright_core::runner(model).build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Fallback {
    models: Vec<Arc<dyn Executor>>,
    /// Identifies this value in the state of a turn.
    id: Arc<()>,
}

/// The model that each fallback asks first in this turn.
#[derive(Default)]
struct Chosen(Mutex<Vec<(Arc<()>, usize)>>);

impl Fallback {
    /// Creates it from models, in the order in which they are asked.
    pub fn new<E: Executor + 'static>(models: impl IntoIterator<Item = E>) -> Self {
        let models = models.into_iter();
        Fallback {
            models: models
                .map(|model| Arc::new(model) as Arc<dyn Executor>)
                .collect(),
            id: Arc::new(()),
        }
    }

    /// Adds a model, which is asked after those before it.
    #[must_use]
    pub fn or(mut self, model: impl Executor + 'static) -> Self {
        self.models.push(Arc::new(model));
        self
    }

    fn first(&self, ctx: &DispatchContext) -> usize {
        let chosen = ctx.turn().per_turn::<Chosen>();
        let chosen = chosen.0.lock();
        let own = chosen.iter().find(|(id, _)| Arc::ptr_eq(id, &self.id));
        own.map_or(0, |(_, index)| *index)
    }

    fn choose(&self, ctx: &DispatchContext, index: usize) {
        let chosen = ctx.turn().per_turn::<Chosen>();
        let mut chosen = chosen.0.lock();
        chosen.retain(|(id, _)| !Arc::ptr_eq(id, &self.id));
        chosen.push((Arc::clone(&self.id), index));
    }
}

/// Returns `true` if another model may answer after this error.
fn is_recoverable(error: &BoxError) -> bool {
    let Some(error) = error.downcast_ref::<Error>() else {
        return false;
    };
    matches!(
        error.code(),
        ErrorCode::MODEL_UNREACHABLE
            | ErrorCode::MODEL_TIMEOUT
            | ErrorCode::MODEL_SERVER_ERROR
            | ErrorCode::MODEL_RESPONSE_INCOMPLETE
            | ErrorCode::WIRE_ERROR
            | ErrorCode::CONTEXT_WINDOW_EXCEEDED
            | ErrorCode::UNSUPPORTED_MEDIA
    )
}

#[async_trait]
impl Executor for Fallback {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        let first = self.first(&ctx);
        let mut models = self.models.iter().enumerate().skip(first).peekable();
        while let Some((index, model)) = models.next() {
            let Some((_, next)) = models.peek() else {
                self.choose(&ctx, index);
                return model.execute(ctx).await;
            };
            let calls = ctx.records().own_tool_calls().len();
            let alternative = Alternatives::add(&ctx);
            let done = model.execute(ctx.clone()).await;
            drop(alternative);
            let error = match done {
                Err(error) if is_recoverable(&error) => error,
                done => {
                    self.choose(&ctx, index);
                    return done;
                }
            };
            // A call may have run, and another model would make it again.
            if ctx.records().own_tool_calls().len() > calls {
                return Err(error);
            }
            let (failed, next) = (described(&**model), described(&***next));
            ctx.log(
                Level::Warn,
                format!("{failed} failed, {next} is asked instead: {error}"),
            );
        }
        let message = "a fallback needs at least one model";
        Err(Error::new(ErrorCode::INVALID_MODEL_CONFIG, message).into())
    }

    fn name(&self) -> &str {
        self.models.first().map_or("fallback", |model| model.name())
    }

    fn model(&self) -> Option<&str> {
        self.models.first()?.model()
    }

    fn server(&self) -> Option<(&str, u16)> {
        self.models.first()?.server()
    }

    fn check_tools(&self, tools: &[Tool]) -> Result<(), Error> {
        self.models
            .iter()
            .try_for_each(|model| model.check_tools(tools))
    }
}

fn described(model: &dyn Executor) -> String {
    match model.model() {
        Some(name) => format!("`{name}` at {}", model.name()),
        None => model.name().to_owned(),
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let models = self.models.iter().map(|model| described(&**model));
        f.debug_list().entries(models).finish()
    }
}
