//! Application state that handlers and middleware access by type.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A shared handle to application state: a database, an HTTP client, a configuration.
///
/// A parameter of this type in a `#[tool]` function is not an argument for the model. It is taken from the state given to the
/// runner with [`state`](crate::runner::TurnRunnerBuilder::state). Building a runner without it fails. Closures get their state
/// with [`ToolBuilder::handler_with`](crate::tool::ToolBuilder::handler_with).
///
/// `State<T>` derefs to `T`, and cloning is as cheap as cloning an `Arc`. The pattern `State(db): State<Db>` binds the `Arc<Db>`.
///
/// ```
/// use turnwright_core::State;
///
/// struct Database { name: &'static str }
///
/// let state = State::new(Database { name: "users" });
/// assert_eq!(state.name, "users");
/// let State(shared) = state.clone();
/// assert_eq!(std::sync::Arc::strong_count(&shared), 2);
/// ```
pub struct State<T: ?Sized>(pub Arc<T>);

impl<T> State<T> {
    /// Creates a handle to a value.
    pub fn new(value: T) -> Self {
        State(Arc::new(value))
    }
}

impl<T: ?Sized> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> Clone for State<T> {
    fn clone(&self) -> Self {
        State(Arc::clone(&self.0))
    }
}

impl<T: ?Sized> From<Arc<T>> for State<T> {
    fn from(value: Arc<T>) -> Self {
        State(value)
    }
}

impl<T: ?Sized> fmt::Debug for State<T> {
    /// Shows only the type: the value may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State<{}>", type_name::<T>())
    }
}

/// A type of state that a tool needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateType {
    id: TypeId,
    /// The id of `Arc<T>`, see [`TypeMap::get`].
    shared_id: TypeId,
    pub(crate) name: &'static str,
}

impl StateType {
    pub(crate) fn of<T: 'static>() -> Self {
        StateType {
            id: TypeId::of::<T>(),
            shared_id: TypeId::of::<Arc<T>>(),
            name: type_name::<T>(),
        }
    }
}

/// One value per type.
#[derive(Clone, Default)]
pub(crate) struct TypeMap(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl TypeMap {
    pub(crate) fn put<T: Send + Sync + 'static>(&mut self, value: T) {
        self.put_shared(Arc::new(value));
    }

    pub(crate) fn put_shared<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.0.insert(TypeId::of::<T>(), value);
    }

    /// Returns the value of this type. Also finds a value that was added as `Arc<T>`.
    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        if let Some(value) = self.0.get(&TypeId::of::<T>()) {
            return Arc::clone(value).downcast().ok();
        }
        let shared = self.0.get(&TypeId::of::<Arc<T>>())?;
        shared.downcast_ref().cloned()
    }

    pub(crate) fn has(&self, wanted: StateType) -> bool {
        let ids = [wanted.id, wanted.shared_id];
        ids.iter().any(|id| self.0.contains_key(id))
    }
}
