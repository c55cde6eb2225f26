mod changes;
mod forks;

use crate::effects::OnCollision;
use serde_json::{Value, json};

use crate::*;

/// A tool whose description contains its origin.
fn tool(name: &str, from: &str, on_collision: OnCollision) -> Tool {
    Tool::dynamic(name, json!({ "type": "object" }))
        .description(from)
        .on_collision(on_collision)
        .handler(|_: Value, _: ToolContext| async { "" })
        .build()
        .unwrap()
}

fn plain(name: &str) -> Tool {
    tool(name, "first", OnCollision::Error)
}

fn shown(tools: &[Tool]) -> Vec<(String, String)> {
    tools
        .iter()
        .map(|tool| (tool.name().to_owned(), tool.description().to_owned()))
        .collect()
}

fn names(tools: &[Tool]) -> Vec<String> {
    tools.iter().map(|tool| tool.name().to_owned()).collect()
}

const POLICIES: [OnCollision; 3] = [OnCollision::Error, OnCollision::Replace, OnCollision::Keep];

fn expect_clash(result: Result<impl std::fmt::Debug, Error>) {
    let error = result.unwrap_err();
    assert_eq!(error.code().as_str(), "E_TOOL_ALREADY_REGISTERED");
    assert!(error.is_fatal());
    assert!(error.to_string().contains("`b`"), "{error}");
}

fn hidden(registry: &ToolRegistry) -> Vec<Tool> {
    let mut all = registry.all();
    all.retain(|tool| registry.is_hidden(tool.name()));
    all
}

#[test]
fn collisions_are_resolved_with_order_and_visibility() {
    let start = || {
        let registry = ToolRegistry::new([plain("a"), plain("b"), plain("c")]).unwrap();
        registry.hide("b");
        registry
    };
    let hidden = |registry: &ToolRegistry| names(&hidden(registry));
    for own in POLICIES {
        let incoming = || tool("b", "second", own);

        // `new` and `register` reject a collision whatever the tool's `on_collision` is.
        expect_clash(ToolRegistry::new([plain("a"), plain("b"), incoming()]));
        let registry = start();
        expect_clash(registry.register(incoming()));
        assert_eq!(registry.get("b").unwrap().description(), "first", "{own:?}");

        // Overwriting replaces whatever the tool's `on_collision` is, in the same position and with the same visibility.
        let registry = start();
        assert_eq!(
            registry
                .register_overwriting(incoming())
                .unwrap()
                .description(),
            "first"
        );
        assert_eq!(names(&registry.all()), ["a", "b", "c"]);
        assert_eq!(registry.get("b").unwrap().description(), "second");
        assert_eq!(hidden(&registry), ["b"]);

        for policy in POLICIES {
            let left = start();
            let right = ToolRegistry::new([plain("d"), incoming()]).unwrap();
            right.hide("d");
            let merged = ToolRegistry::merge([&left, &right], policy);
            let decided = if own == OnCollision::Error {
                policy
            } else {
                own
            };
            match decided {
                OnCollision::Error => expect_clash(merged),
                OnCollision::Replace | OnCollision::Keep => {
                    let merged = merged.unwrap();
                    assert_eq!(
                        names(&merged.all()),
                        ["a", "b", "c", "d"],
                        "{own:?} {policy:?}"
                    );
                    let winner = if decided == OnCollision::Replace {
                        "second"
                    } else {
                        "first"
                    };
                    assert_eq!(
                        merged.get("b").unwrap().description(),
                        winner,
                        "{own:?} {policy:?}"
                    );
                    assert_eq!(hidden(&merged), ["b", "d"], "hidden survives a merge");
                }
            }
            // The merged registries are not changed.
            assert_eq!(shown(&left.all()), shown(&start().all()));
            assert_eq!(names(&right.all()), ["d", "b"]);
            assert_eq!(hidden(&left), ["b"]);
        }
    }
}

#[test]
fn a_merge_without_a_policy_fails_on_collision_and_an_empty_merge_is_empty() {
    assert_eq!(OnCollision::default(), OnCollision::Error);
    assert!(
        ToolRegistry::merge([], OnCollision::default())
            .unwrap()
            .all()
            .is_empty()
    );
    let registry = ToolRegistry::new([plain("b")]).unwrap();
    expect_clash(ToolRegistry::merge(
        [&registry, &registry],
        OnCollision::default(),
    ));
}

#[test]
fn visibility_belongs_to_the_name() {
    let registry = ToolRegistry::new([plain("a"), plain("b"), plain("c")]).unwrap();
    assert!(registry.hide("b") && !registry.hide("missing"));
    assert_eq!(names(&registry.visible()), ["a", "c"]);
    assert!(
        registry.has("b") && registry.get("b").is_some() && registry.is_hidden("b"),
        "callable all the same"
    );
    assert_eq!(registry.all().len(), 3);

    assert!(registry.unregister("b").is_some() && registry.unregister("b").is_none());
    registry.register(plain("b")).unwrap();
    assert!(!registry.is_hidden("b"), "gone with the tool");
    assert_eq!(names(&registry.all()), ["a", "c", "b"]);

    assert!(registry.hide("a") && registry.hide("c"));
    assert_eq!(names(&hidden(&registry)), ["a", "c"]);
    assert!(registry.reveal("a") && !registry.reveal("a"));
    assert!(!registry.is_hidden("missing"));
}

#[test]
fn snapshots_and_forks_are_independent_and_clones_are_not() {
    let registry = ToolRegistry::new([plain("a")]).unwrap();
    let (snapshot, clone, fork) = (registry.all(), registry.clone(), registry.fork());
    registry.register(plain("b")).unwrap();
    registry.hide("a");
    assert_eq!(snapshot.len(), 1);
    assert!(clone.has("b") && clone.is_hidden("a"));
    assert!(!fork.has("b") && !fork.is_hidden("a"));
}

fn ephemeral(name: &str) -> Tool {
    Tool::dynamic(name, json!({ "type": "object" }))
        .description("For once.")
        .ephemeral(true)
        .handler(|_: Value, _: ToolContext| async { "" })
        .build()
        .unwrap()
}

#[test]
fn ephemeral_tools_are_removed_on_ack_and_not_on_nack() {
    let make = || ToolRegistry::new([ephemeral("e"), plain("a"), ephemeral("f")]).unwrap();
    let registry = make();
    registry.hide("e");
    assert_eq!(names(&registry.prune_ephemeral()), ["e", "f"]);
    assert_eq!(names(&registry.all()), ["a"]);
    assert!(!registry.is_hidden("e"));

    let (registry, ctx) = (make(), DispatchContext::standalone());
    registry.bind_context(&ctx);
    assert_eq!(registry.all().len(), 3);
    ctx.ack().unwrap();
    assert_eq!(registry.all().len(), 1, "pruned when `ack` returns");

    let (registry, ctx) = (make(), DispatchContext::standalone());
    registry.bind_context(&ctx);
    ctx.nack(Error::new(ErrorCode::TOOL_DOWNSTREAM_ERROR, "no"))
        .unwrap();
    assert_eq!(registry.all().len(), 3);

    let (registry, ctx) = (make(), DispatchContext::standalone());
    registry.bind_context(&ctx).remove();
    ctx.ack().unwrap();
    assert_eq!(registry.all().len(), 3, "unbound");
}

#[test]
fn a_dispatch_holds_its_registry_weakly() {
    let ctx = DispatchContext::standalone();
    let registry = ToolRegistry::new([ephemeral("e")]).unwrap();
    let weak = std::sync::Arc::downgrade(&registry.0);
    registry.bind_context(&ctx);
    drop(registry);
    assert!(weak.upgrade().is_none());
    ctx.ack().unwrap();
}

#[test]
fn the_registry_can_be_changed_while_iterating() {
    let registry = ToolRegistry::new([plain("a")]).unwrap();
    // The registry can be changed while iterating over a snapshot.
    for tool in registry.all() {
        registry.unregister(tool.name());
        registry.register(plain("b")).unwrap();
    }
    assert_eq!(names(&registry.all()), ["b"]);
}

#[test]
fn revealed_tools_are_appended_so_that_the_visible_ones_keep_their_order() {
    let all = ["a", "b", "c", "d", "e", "f"];
    // Every order in which three of the hidden ones are revealed, with a tool that is registered in between.
    for first in all {
        for second in all {
            for third in all {
                let registry = ToolRegistry::new(all.map(plain)).unwrap();
                for name in ["a", "b", "d", "e", "f"] {
                    registry.hide(name);
                }
                let mut before = names(&registry.visible());
                for (step, name) in [first, second, "new", third].into_iter().enumerate() {
                    match name {
                        "new" => registry.register(plain("new")).unwrap(),
                        name => {
                            let hidden = registry.is_hidden(name);
                            assert_eq!(registry.reveal(name), hidden);
                        }
                    }
                    let after = names(&registry.visible());
                    assert!(after.starts_with(&before), "{step}: {before:?} {after:?}");
                    assert!(after.iter().any(|there| there == name));
                    before = after;
                }
                assert_eq!(registry.all().len(), 7);
            }
        }
    }
    assert!(!ToolRegistry::default().reveal("a"));
}

#[test]
fn a_merge_in_place_adds_all_tools_or_none() {
    let ctx = DispatchContext::builder()
        .tools(ToolRegistry::new([plain("a"), plain("b")]).unwrap())
        .build();
    let second = |name| tool(name, "second", OnCollision::Error);
    let other = ToolRegistry::new([second("c"), second("b")]).unwrap();
    expect_clash(ctx.tools().merge_from(&other, OnCollision::Error));
    assert_eq!(names(&ctx.tools().all()), ["a", "b"]);

    ctx.tools()
        .merge_from(&other, OnCollision::Replace)
        .unwrap();
    assert_eq!(names(&ctx.tools().all()), ["a", "b", "c"]);
    assert_eq!(ctx.tools().get("b").unwrap().description(), "second");
}
