//! The promises, each with its check.

mod fences;
mod names;
mod order;
mod queries;
mod races;
mod revisions;
mod scopes;

use std::pin::Pin;
use std::sync::Arc;

use turnwright_core::store::Store;

use super::outcome::Outcome;

type Checking = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A promise and how it is checked.
pub(super) struct Check {
    pub(super) promise: &'static str,
    pub(super) run: fn(Arc<dyn Store>) -> Checking,
}

macro_rules! checks {
    ($($promise:literal => $module:ident::$check:ident;)+) => {
        /// Every promise.
        pub(super) const ALL: &[Check] = &[$(
            Check { promise: $promise, run: |store| Box::pin($module::$check(store)) },
        )+];
    };
}

checks! {
    "a scope that was never written has no records and revision 0" => order::nothing_at_first;
    "records come back in the order in which they were first written" => order::written_order;
    "records of every kind come back as they were" => order::every_kind;
    "a record that is put again replaces the old one and keeps its place" => order::replaced;
    "a record that was deleted and put again goes to the end" => order::put_again;
    "no position is given twice, also after deletions" => order::positions;
    "the changes of a batch are made in their order" => order::within_a_batch;
    "deleting what is not there is no error" => order::deleting_nothing;
    "each kind has ids of its own" => order::kinds_apart;
    "a large batch is written whole" => order::large_batch;
    "a batch of which one record cannot be kept changes nothing" => order::all_or_nothing;
    "every applied batch makes a new revision, an empty one too" => revisions::each_batch;
    "a load tells the revision, whatever it finds" => revisions::told_by_loads;
    "a batch that expects another revision changes nothing" => revisions::conflicts;
    "a scope that was emptied keeps its revision and its fence" => revisions::emptied;
    "a lower fence is refused and changes nothing" => fences::lower;
    "an equal fence, a higher one and none pass" => fences::others;
    "fenced goes before conflict, and a refused batch sets no fence" => fences::refused;
    "an empty batch sets a fence, however high" => fences::by_empty_batch;
    "each scope has a fence of its own" => fences::scopes_apart;
    "the conditions of a query hold together" => queries::combined;
    "an empty list of ids finds nothing, and a repeated id is found once" => queries::odd_lists;
    "pages of any size visit every record once" => queries::paged;
    "a page goes on after a record that is gone" => queries::paged_while_changing;
    "scopes know nothing of each other" => scopes::apart;
    "scopes are listed by their names' bytes, and only those that hold records" => scopes::listed;
    "the conditions of a listing hold together" => scopes::combined;
    "a record is found by its kind and id in whatever scopes hold it" => scopes::holding;
    "ids are any text, and no two are mixed up" => names::ids;
    "scopes are any text, and no two are mixed up" => names::scopes;
    "a prefix is text and no pattern" => names::prefixes;
    "a NUL in a name is kept or refused, and cuts nothing off" => names::nul;
    "of writers who expect the same revision exactly one wins" => races::one_winner;
    "no update is lost" => races::no_lost_update;
    "no write is lost, and each has a revision of its own" => races::no_lost_write;
    "whoever reads sees a batch whole" => races::whole_batches;
}
