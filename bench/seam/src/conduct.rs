//! How each subject handles its arguments, checked before the timing.

use std::error::Error;

use crate::{
    arguments::Arguments,
    subjects::{Reply, rig, rmcp::Rmcp, turnwright::Turnwright},
};

/// The callable subjects for one type of arguments.
pub(crate) struct Callable<A> {
    pub(crate) turnwright: Turnwright<A>,
    pub(crate) rig: rig::declared::Rig<A>,
    #[cfg(feature = "rig-newest")]
    pub(crate) rig_newest: rig::newest::Rig<A>,
    pub(crate) rmcp: Rmcp<A>,
}

/// The results for one invalid text.
pub(crate) struct Observation {
    pub(crate) given: &'static str,
    pub(crate) turnwright: &'static str,
    pub(crate) rig: &'static str,
    pub(crate) rmcp: &'static str,
}

impl<A: Arguments> Callable<A> {
    /// Fails unless every subject answers the valid text, and Turnwright also repairs and rejects as documented. What
    /// the other libraries do with the other texts is only recorded.
    pub(crate) async fn observe(&self) -> Result<Vec<Observation>, Box<dyn Error>> {
        let Self {
            turnwright,
            rig,
            rmcp,
            ..
        } = self;
        for text in [A::VALID, A::DEFAULTED, A::COERCED] {
            answered::<A>("Turnwright", text, turnwright.reply(text).await)?;
        }
        answered::<A>("rig", A::VALID, rig.reply(A::VALID).await)?;
        #[cfg(feature = "rig-newest")]
        answered::<A>(
            "newest rig",
            A::VALID,
            self.rig_newest.reply(A::VALID).await,
        )?;
        answered::<A>("rmcp", A::VALID, rmcp.reply(A::VALID).await)?;
        for text in [A::OUT_OF_BOUNDS, A::DUPLICATE_KEY] {
            if let Reply::Answered(_) = turnwright.reply(text).await {
                return Err(format!("Turnwright answered {text}").into());
            }
        }
        Ok(vec![
            self.observation("a number above its maximum", A::OUT_OF_BOUNDS)
                .await,
            self.observation("a repeated key", A::DUPLICATE_KEY).await,
            self.observation("a number sent as a string", A::COERCED)
                .await,
        ])
    }

    async fn observation(&self, given: &'static str, text: &str) -> Observation {
        Observation {
            given,
            turnwright: verdict(&self.turnwright.reply(text).await),
            rig: verdict(&self.rig.reply(text).await),
            rmcp: verdict(&self.rmcp.reply(text).await),
        }
    }
}

fn answered<A: Arguments>(who: &str, text: &str, reply: Reply) -> Result<(), Box<dyn Error>> {
    match reply {
        Reply::Answered(answer) if answer == A::ANSWER => Ok(()),
        other => Err(format!("{who}, given {text}: {other:?}").into()),
    }
}

fn verdict(reply: &Reply) -> &'static str {
    match reply {
        Reply::Answered(_) => "handler ran",
        Reply::Refused(_) => "refused",
    }
}
