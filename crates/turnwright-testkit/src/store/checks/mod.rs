//! The requirements for a store, each with its check.

mod batches;
mod changes;
mod conversations;
mod fencing_tokens;
mod infos;
mod model;
mod names;
mod order;
mod queries;
mod races;
mod revisions;
mod turns;

use std::pin::Pin;

use super::chat::Chat;
use super::outcome::Outcome;

type Checking = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A requirement and its check.
pub(super) struct Check {
    pub(super) requirement: &'static str,
    pub(super) run: fn(Chat) -> Checking,
}

macro_rules! checks {
    ($($requirement:literal => $module:ident::$check:ident;)+) => {
        /// All requirements.
        pub(super) const ALL: &[Check] = &[$(
            Check { requirement: $requirement, run: |chat| Box::pin($module::$check(chat)) },
        )+];
    };
}

checks! {
    "a conversation that was never written has no records and revision 0" => order::nothing_at_first;
    "records are returned in the order in which they were first written" => order::written_order;
    "records of every kind are returned unchanged" => order::every_kind;
    "a record that is put again replaces the old one and keeps its position" => order::replaced;
    "a record that was deleted and put again goes to the end" => order::put_again;
    "no position is used twice, even after deletions" => order::positions;
    "the changes of a batch are made in their order" => order::within_a_batch;
    "deleting a missing record is not an error" => order::deleting_nothing;
    "each kind has its own ids" => order::kinds_apart;
    "a large batch is written completely" => order::large_batch;
    "a batch with a record that cannot be encoded changes nothing" => order::all_or_nothing;
    "every applied batch creates a new revision, even an empty one" => revisions::each_batch;
    "a load returns the revision and the highest fencing token, whatever it finds" => revisions::of_loads;
    "a batch that expects another revision changes nothing" => revisions::conflicts;
    "a conversation without records keeps its revision and fencing token" => revisions::emptied;
    "a lower fencing token is rejected and changes nothing" => fencing_tokens::lower;
    "an equal fencing token, a higher one and none are accepted" => fencing_tokens::others;
    "fencing is checked before conflicts, and a rejected batch sets no fencing token" => fencing_tokens::rejected;
    "an empty batch sets a fencing token, however high" => fencing_tokens::by_empty_batch;
    "each conversation has its own fencing token" => fencing_tokens::conversations_apart;
    "the conditions of a query hold together" => queries::combined;
    "an empty list of ids finds nothing, and a repeated id is found once" => queries::odd_lists;
    "pages of any size visit every record once" => queries::paged;
    "a page continues after a record that was deleted" => queries::paged_while_changing;
    "conversations are independent" => conversations::apart;
    "conversations with records are listed in byte order" => conversations::listed;
    "the conditions of a listing hold together" => conversations::combined;
    "conversations are found by owner and labels" => infos::conditions;
    "pages of conversations of an owner visit each once" => infos::pages;
    "a listed conversation has its info" => infos::contents;
    "a conversation keeps up with its info" => infos::updates;
    "turns are found by id, state, prefix, lease and open gates" => turns::conditions;
    "turns are listed by start time, in pages" => turns::pages;
    "a found turn has its record, its lease and its open gates" => turns::contents;
    "a found turn reflects changes to its records" => turns::updates;
    "changes are the records that were put and deleted since" => changes::since;
    "changes since an unknown revision are unknown" => changes::unknown;
    "deletions are remembered, or changes are unknown" => changes::many_deletions;
    "a batch that is applied again changes nothing and returns its revision" => batches::applied_again;
    "a rejected batch can be applied later" => batches::rejected_first;
    "a batch id is not reused for another batch" => batches::reused;
    "of equal concurrent batches one is applied" => batches::at_once;
    "a lost reply is recovered by applying the batch again" => batches::lost_answers;
    "results equal those of the reference store" => model::random_operations;
    "ids can be any text and are never confused" => names::ids;
    "conversation ids can be any text and are never confused" => names::conversations;
    "a prefix is literal text, not a pattern" => names::prefixes;
    "a NUL in an id is stored or rejected, and truncates nothing" => names::nul;
    "of writers that expect the same revision, exactly one wins" => races::one_winner;
    "no update is lost" => races::no_lost_update;
    "no write is lost, and each has its own revision" => races::no_lost_write;
    "a reader sees all of a batch or nothing" => races::atomic_batches;
}
