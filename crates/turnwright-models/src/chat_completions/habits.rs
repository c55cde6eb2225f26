//! What was learnt of a server by what it refused.

use std::sync::atomic::{AtomicBool, Ordering};

/// What a server does not take, though the protocol has it. Learnt once, and then kept to.
#[derive(Debug, Default)]
pub(super) struct Habits {
    no_stream_options: AtomicBool,
    strict_roles: AtomicBool,
}

/// One thing that a server does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Habit {
    /// `stream_options`.
    NoStreamOptions,
    /// A user's message after that of a tool or of a user.
    StrictRoles,
}

impl Habits {
    pub(super) fn new(strict_roles: bool) -> Self {
        Habits {
            no_stream_options: AtomicBool::new(false),
            strict_roles: AtomicBool::new(strict_roles),
        }
    }

    pub(super) fn has(&self, habit: Habit) -> bool {
        self.flag(habit).load(Ordering::Relaxed)
    }

    pub(super) fn learn(&self, habit: Habit) {
        self.flag(habit).store(true, Ordering::Relaxed);
    }

    /// For one request: what is learnt there holds for all only once it has helped. A refusal may quote a user's words.
    pub(super) fn for_one(&self) -> Self {
        let one = Habits::default();
        Habit::ALL
            .into_iter()
            .filter(|habit| self.has(*habit))
            .for_each(|habit| one.learn(habit));
        one
    }

    /// It has helped.
    pub(super) fn learn_all(&self, learnt: &Habits) {
        Habit::ALL
            .into_iter()
            .filter(|habit| learnt.has(*habit))
            .for_each(|habit| self.learn(habit));
    }

    fn flag(&self, habit: Habit) -> &AtomicBool {
        match habit {
            Habit::NoStreamOptions => &self.no_stream_options,
            Habit::StrictRoles => &self.strict_roles,
        }
    }
}

impl Habit {
    const ALL: [Habit; 2] = [Habit::NoStreamOptions, Habit::StrictRoles];

    /// What a refusal says of the server, if it says something of this kind.
    pub(super) fn told_by(status: u16, said: &str) -> Option<Self> {
        if !matches!(status, 400 | 422 | 500) {
            return None;
        }
        let said = said.to_ascii_lowercase();
        let about = |words: &str| said.contains(words);
        if about("stream_options") {
            Some(Habit::NoStreamOptions)
        } else if about("after role") || about("must alternate") || about("message_order") {
            Some(Habit::StrictRoles)
        } else {
            None
        }
    }
}
