//! Cancellation.

use turnwright_core::{EventKind, TurnStatus};

use crate::conformance::exchange::Exchange;
use crate::conformance::{Broken, Outcome, ensure};
use turnwright_testkit::server::fault::{Fault, FaultPosition};

pub(super) async fn connection(exchange: &Exchange<'_>) -> Outcome {
    exchange.answer(Fault::Silence.answer(exchange.protocol, FaultPosition::InText));
    let runner = exchange.runner()?.build()?;
    let mut turn = runner.start("Hi");
    loop {
        match turn.next().await.map(|event| event.kind) {
            Some(EventKind::MessageDelta(_)) => break,
            Some(_) => {}
            None => return Err(Broken("the text was not shown as it arrived".to_owned())),
        }
    }
    turn.cancel()?;
    let outcome = turn.outcome().await;
    let aborted = matches!(outcome.status, TurnStatus::Aborted { .. });
    ensure(aborted, || format!("the turn ended as {}", outcome.status))?;
    exchange.connections_close().await?;
    exchange.requests_are(1)
}
