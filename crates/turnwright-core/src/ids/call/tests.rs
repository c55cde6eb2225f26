use super::*;
use std::collections::HashSet;

#[test]
fn ids_of_one_turn_are_unique_and_short() {
    let ids = CallIds::new("turn");
    let all: HashSet<Id> = (0..100_000).map(|_| ids.next()).collect();
    assert_eq!(all.len(), 100_000);
    assert!(all.iter().all(|id| id.as_str().len() == 10));
}

#[test]
fn different_turns_have_different_ids_and_the_same_turn_repeats_them() {
    assert_ne!(CallIds::new("a").next(), CallIds::new("b").next());
    assert_eq!(CallIds::new("a").next(), CallIds::new("a").next());
}
