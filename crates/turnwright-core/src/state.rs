//! A map of values by their type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// Values by their type.
#[derive(Clone, Default)]
pub(crate) struct State(pub(crate) HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl State {
    pub(crate) fn put<T: Send + Sync + 'static>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Arc::new(value));
    }

    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = self.0.get(&TypeId::of::<T>())?;
        Arc::clone(value).downcast().ok()
    }
}
