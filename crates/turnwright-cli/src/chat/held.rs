//! The conversation that a chat holds.

use std::cell::Cell;
use std::path::PathBuf;

use turnwright::RecordKind;
use turnwright::store::{Query, Store as _};

use crate::exit::misuse;
use crate::kept::{About, Desk, Keeping, Part, Place, check_name};
use crate::turns::{self, Seen};

/// A conversation that is kept. No other chat has it meanwhile.
pub(super) struct Held {
    pub(super) keeping: Keeping,
    pub(super) part: Part,
    pub(super) desk: Desk,
    about: About,
    /// Whether it is noted whom the conversation is held with. Until its last turn is left behind, what is noted is what that
    /// turn had.
    noted: Cell<bool>,
}

/// How a conversation is gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Going {
    /// Where it was, with the server that knows it.
    On,
    /// Where it was, with whichever server.
    OnElsewhere,
    /// From its beginning.
    Anew,
}

impl Held {
    /// Takes a conversation up, or begins it.
    pub(super) async fn take(
        place: Place,
        name: &str,
        going: Going,
        about: About,
    ) -> anyhow::Result<Self> {
        check_name(name)?;
        let keeping = Keeping::open(place).await?;
        let Some(desk) = Desk::take(&keeping, &Part::named(name).name)? else {
            return Err(misuse(format!(
                "the conversation `{name}` is in use by another program: name another one with `--conversation NAME`, \
                 or keep nothing with `--forget`"
            )));
        };
        let mut held = Held {
            part: Part::current(&keeping, name).await?,
            keeping,
            desk,
            about,
            noted: Cell::new(false),
        };
        if going == Going::On {
            held.check_server().await?;
        }
        // Last: what cannot be begun leaves everything as it is.
        if going == Going::Anew {
            held.part = held.part.anew(&held.keeping).await?;
        }
        if held.unanswered().await?.is_none() {
            held.note().await?;
        }
        Ok(held)
    }

    /// Refuses to go on with a conversation that another server knows: what was said to one is not sent to another unasked.
    async fn check_server(&self) -> anyhow::Result<()> {
        let with = match About::of(&self.keeping, &self.part.scope()).await? {
            Some(before) if before.server == self.about.server => return Ok(()),
            Some(before) => format!("was held with {}", before.server),
            None if self.messages().await? == 0 => return Ok(()),
            None => "was held by another program, with whom is not known".to_owned(),
        };
        let server = &self.about.server;
        Err(misuse(format!(
            "this conversation {with}: all of it would be sent to {server}. If you want that, say `--switch-server`; \
             else name another one with `--conversation NAME`, or begin anew with `--new`"
        )))
    }

    /// How many messages there are, damaged ones included.
    pub(super) async fn messages(&self) -> anyhow::Result<usize> {
        let query = Query::all().kind(RecordKind::Message);
        let loaded = self.keeping.store.load(&self.part.scope(), &query).await;
        let loaded = loaded.map_err(|error| self.keeping.told(error))?;
        Ok(loaded.count())
    }

    /// Begins anew. The part in which was said what was said before, if something was.
    pub(super) async fn begin_anew(&mut self) -> anyhow::Result<Option<Part>> {
        let anew = self.part.anew(&self.keeping).await?;
        let before = std::mem::replace(&mut self.part, anew);
        self.note().await?;
        Ok((before != self.part).then_some(before))
    }

    /// The last turn, if it has no answer and can go on.
    pub(super) async fn unanswered(&self) -> anyhow::Result<Option<Seen>> {
        let last = turns::last_of(&self.keeping, &self.part.scope()).await?;
        // No other chat has the conversation: what seems to run may have been cut off a moment ago.
        Ok(last.filter(|last| last.state.can_go_on() || last.state.is_live()))
    }

    /// What is noted: as the chat was that held its last turn.
    pub(super) async fn last_about(&self) -> anyhow::Result<Option<About>> {
        About::of(&self.keeping, &self.part.scope()).await
    }

    /// The tools that the last turn had, where this chat has named none. None if no chat has held it.
    pub(super) async fn missing_tools(&self) -> anyhow::Result<Option<Vec<PathBuf>>> {
        let had = self.last_about().await?.map(|about| about.tools);
        Ok(match self.about.tools.is_empty() {
            true => had,
            false => had.map(|_| Vec::new()),
        })
    }

    /// Notes whom the conversation is held with.
    async fn note(&self) -> anyhow::Result<()> {
        self.noted.set(true);
        self.about.note(&self.keeping, &self.part.scope()).await
    }

    /// The same before each turn. Whether somebody has deleted the conversation meanwhile.
    pub(super) async fn renew(&self) -> anyhow::Result<bool> {
        if !self.noted.get() {
            self.note().await?;
            return Ok(false);
        }
        let gone = self.last_about().await?.is_none();
        if gone {
            self.note().await?;
        }
        Ok(gone)
    }
}
