use super::*;
use std::collections::HashSet;

#[test]
fn a_hundred_thousand_ids_of_one_turn_are_all_different_and_short() {
    let ids = CallIds::new("turn");
    let all: HashSet<Id> = (0..100_000).map(|_| ids.next()).collect();
    assert_eq!(all.len(), 100_000);
    assert!(all.iter().all(|id| id.as_str().len() == 10));
}

#[test]
fn turns_do_not_share_ids_and_the_same_turn_gives_the_same() {
    assert_ne!(CallIds::new("a").next(), CallIds::new("b").next());
    assert_eq!(CallIds::new("a").next(), CallIds::new("a").next());
}
