//! What is yours, for handlers and middleware to reach: a database, a client.

use std::any::type_name;
use std::sync::Arc;

use crate::error::{Error, ErrorCode};
use crate::tool::context::TurnContext;

impl TurnContext {
    /// What an executor or middleware keeps for this turn alone, by its type: made when it is first asked for, gone with the
    /// turn. Unlike the stash it is nobody else's to see.
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
        if let Some(value) = self.inner().per_turn.lock().get() {
            return value;
        }
        // Made outside of the lock: that is foreign code.
        let made = T::default();
        let mut values = self.inner().per_turn.lock();
        if let Some(value) = values.get() {
            drop(values);
            return value;
        }
        let made = Arc::new(made);
        values.put_shared(Arc::clone(&made));
        made
    }

    /// What the runner was given of this type by [`state`](crate::runner::TurnRunnerBuilder::state).
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
    /// `E_MISSING_STATE` if it was given none. The model is told that the tool is misconfigured.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, Error> {
        self.setup().state.get().ok_or_else(|| {
            let name = type_name::<T>();
            let message = format!(
                "there is no state of type `{name}`: call `.state(value)` with one where the runner is built"
            );
            Error::new(ErrorCode::MISSING_STATE, message)
        })
    }
}
