use std::collections::HashSet;

use super::*;

#[test]
fn ids_are_of_version_7_and_grow_across_threads() {
    let made = || -> Vec<String> { (0..2_000).map(|_| new_id()).collect() };
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(made)).collect();
    let lists = threads.into_iter().map(|item| item.join().unwrap());
    let mut all = HashSet::new();
    for list in lists {
        assert!(list.is_sorted());
        for id in list {
            let read = Uuid::parse_str(&id).unwrap();
            let sort = (read.get_version_num(), read.get_variant());
            assert_eq!(sort, (7, uuid::Variant::RFC4122));
            assert!(all.insert(id));
        }
    }
    assert_eq!(all.len(), 8_000);
}

#[test]
fn ids_grow_even_if_the_clock_goes_back() {
    let mut ids = Ids {
        millis: 0,
        last: 0,
        random: [0; STOCK],
        used: STOCK,
    };
    let times = [5, 5, 4, 6, 6, 1];
    let made: Vec<u128> = times
        .iter()
        .map(|at| ids.next(*at).unwrap().as_u128())
        .collect();
    assert!(made.is_sorted_by(|one, next| one < next));
    let millis: Vec<u128> = made.iter().map(|id| id >> 80).collect();
    assert_eq!(millis, [5, 5, 5, 6, 6, 6]);
}
