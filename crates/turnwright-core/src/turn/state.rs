//! State that handlers and middleware access by type.

use std::any::type_name;
use std::sync::Arc;

use crate::error::{Error, ErrorCode};
use crate::tool::context::TurnContext;

impl TurnContext {
    /// Returns a value that an executor or middleware stores for this turn only, by type. It is created on first access and
    /// dropped with the turn. Unlike the stash, it is private to code that knows the type.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use turnwright_core::DispatchContext;
    ///
    /// #[derive(Default)]
    /// struct Asked(AtomicU32);
    ///
    /// let ctx = DispatchContext::standalone();
    /// ctx.turn().per_turn::<Asked>().0.fetch_add(1, Ordering::Relaxed);
    /// assert_eq!(ctx.turn().per_turn::<Asked>().0.load(Ordering::Relaxed), 1);
    /// ```
    #[must_use]
    pub fn per_turn<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.wiring().per_turn()
    }

    /// Returns the value of this type that was given to the runner with [`state`](crate::runner::TurnRunnerBuilder::state).
    ///
    /// ```
    /// use turnwright_core::DispatchContext;
    ///
    /// struct Database(&'static str);
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    ///     ctx.answer(ctx.state::<Database>()?.0).await?;
    ///     Ok(())
    /// })
    /// .state(Database("postgres"))
    /// .build()?;
    /// assert_eq!(runner.run("Which database?").await.text, "postgres");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns `E_MISSING_STATE` if there is none. The model reads that the tool is misconfigured.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, Error> {
        self.setup().state.get().ok_or_else(|| {
            let name = type_name::<T>();
            let message =
                format!("no state of type `{name}`: call `.state(value)` on the runner builder");
            Error::new(ErrorCode::MISSING_STATE, message)
        })
    }
}
