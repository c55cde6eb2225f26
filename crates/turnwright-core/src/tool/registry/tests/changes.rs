//! Waiting for changes of a registry.

use futures_util::FutureExt as _;

use super::plain;
use crate::*;

#[test]
fn every_change_completes_those_who_wait_for_one() {
    let registry = ToolRegistry::new([plain("a")]).unwrap();
    let changes: [fn(&ToolRegistry); 5] = [
        |registry| registry.register(plain("b")).unwrap(),
        |registry| drop(registry.register_overwriting(plain("b"))),
        |registry| drop(registry.unregister("b")),
        |registry| assert!(registry.hide("a")),
        |registry| assert!(registry.reveal("a")),
    ];
    for change in changes {
        // Changes before the first poll count.
        let (early, late) = (registry.changed(), registry.changed());
        change(&registry);
        assert_eq!(early.now_or_never(), Some(()));
        assert_eq!(late.now_or_never(), Some(()));
        assert_eq!(registry.changed().now_or_never(), None);
    }
    let waiting = registry.changed();
    assert!(registry.has("a") && registry.visible().len() == 1);
    assert!(registry.fork().unregister("a").is_some());
    assert_eq!(waiting.now_or_never(), None, "a fork is another registry");
}

#[test]
fn waiting_for_a_change_does_not_keep_the_registry_alive() {
    let registry = ToolRegistry::new([plain("a")]).unwrap();
    let changed = registry.changed();
    drop(registry);
    assert_eq!(changed.now_or_never(), None);
}
