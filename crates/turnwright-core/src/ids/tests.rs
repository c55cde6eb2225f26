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
