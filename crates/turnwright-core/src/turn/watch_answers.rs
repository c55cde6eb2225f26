//! Reads answers that other processes record while a turn waits at its gates.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::{Either, select};

use crate::record::{GateRecord, Record, RecordKind};
use crate::store::{Query, Revision, Store};
use crate::tool::context::TurnContext;

impl TurnContext {
    /// Runs the work and meanwhile checks for answers at the gates where the turn waits. A turn that does not wait does not query
    /// the store.
    pub(crate) async fn watch_answers_while<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let Some(store) = self.record_store() else {
            return work.await;
        };
        let mut watched = pin!(self.watch_answers(&**store));
        poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(done),
            Poll::Pending => watched.as_mut().poll(cx).map(|never| match never {}),
        })
        .await
    }

    async fn watch_answers(&self, store: &dyn Store) -> std::convert::Infallible {
        let activity = self.gates().activity();
        let mut since = Revision::default();
        loop {
            activity.until_waiting(true).await;
            let changed = async { store.wait_for_change(self.conversation_id(), since).await };
            match select(pin!(changed), pin!(activity.until_waiting(false))).await {
                Either::Left((Ok(()), _)) => {}
                // If the store cannot be watched, poll it.
                Either::Left((Err(_), _)) => crate::store::poll_interval().await,
                Either::Right(_) => continue,
            }
            let query = Query::all().kind(RecordKind::Gate);
            let query = query.ids(activity.gates().iter().map(|id| &**id));
            // A failure of the store does not end the turn, because the turn did not write.
            let Ok(loaded) = store.load(self.conversation_id(), &query).await else {
                crate::store::poll_interval().await;
                continue;
            };
            since = loaded.revision;
            for gate in loaded
                .into_records()
                .filter_map(Record::downcast::<GateRecord>)
            {
                self.apply_recorded_answer(gate).await;
            }
        }
    }

    /// Applies a recorded answer to its gate. An answer that the gate does not accept is withdrawn, so that another one can be
    /// given.
    async fn apply_recorded_answer(&self, gate: Arc<GateRecord>) {
        if gate.answer().is_none() {
            return;
        }
        if let Err(error) = self.gates().table().answer_recorded(&gate) {
            let why = error.message();
            self.warn(format!("an invalid recorded answer was withdrawn: {why}"));
            let known = gate.closed_at;
            let open = Arc::new(gate.reopened());
            // A failed write ends the turn.
            drop(self.write_gate(open, known).await);
        }
    }
}
