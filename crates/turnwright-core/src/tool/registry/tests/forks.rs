//! Forks share their tools until one of them changes.

use crate::effects::OnCollision;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::*;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

fn tool(name: usize, from: u32, ephemeral: bool) -> Tool {
    Tool::dynamic(NAMES[name], json!({ "type": "object" }))
        .description(from.to_string())
        .ephemeral(ephemeral)
        .handler(|_: Value, _: ToolContext| async { "" })
        .build()
        .unwrap()
}

/// A model of a registry as a list: name, origin, ephemeral, hidden.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model(Vec<(String, String, bool, bool)>);

impl Model {
    fn at(&mut self, name: &str) -> Option<&mut (String, String, bool, bool)> {
        self.0.iter_mut().find(|tool| tool.0 == name)
    }

    fn of(registry: &ToolRegistry) -> Self {
        let seen = |tool: &Tool| {
            let (name, from) = (tool.name().to_owned(), tool.description().to_owned());
            let hidden = registry.is_hidden(&name);
            (name, from, tool.is_ephemeral(), hidden)
        };
        Model(registry.all().iter().map(seen).collect())
    }

    fn put(&mut self, tool: &Tool) {
        let from = tool.description().to_owned();
        match self.at(tool.name()) {
            Some(there) => (there.1, there.2) = (from, tool.is_ephemeral()),
            None => self
                .0
                .push((tool.name().to_owned(), from, tool.is_ephemeral(), false)),
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Register(usize, u32, bool),
    Overwrite(usize, u32, bool),
    Unregister(usize),
    Hide(usize),
    Reveal(usize),
    Prune,
    Fork,
    MergeInto(usize),
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let name = 0..NAMES.len();
    let step = prop_oneof![
        4 => (name.clone(), 0..9u32, any::<bool>()).prop_map(|(n, f, e)| Step::Register(n, f, e)),
        2 => (name.clone(), 0..9u32, any::<bool>()).prop_map(|(n, f, e)| Step::Overwrite(n, f, e)),
        2 => name.clone().prop_map(Step::Unregister),
        2 => name.clone().prop_map(Step::Hide),
        1 => name.prop_map(Step::Reveal),
        1 => Just(Step::Prune),
        3 => Just(Step::Fork),
        1 => (0..8usize).prop_map(Step::MergeInto),
    ];
    proptest::collection::vec((0..8usize, step), 1..60)
}

/// Applies one step to both and compares the results.
fn take(step: &Step, registry: &ToolRegistry, model: &mut Model) {
    match step {
        Step::Register(name, from, ephemeral) => {
            let tool = tool(*name, *from, *ephemeral);
            let clash = model.at(NAMES[*name]).is_some();
            assert_eq!(registry.register(tool.clone()).is_err(), clash);
            if !clash {
                model.put(&tool);
            }
        }
        Step::Overwrite(name, from, ephemeral) => {
            let tool = tool(*name, *from, *ephemeral);
            let before = model.at(NAMES[*name]).map(|there| there.1.clone());
            let gone = registry.register_overwriting(tool.clone());
            assert_eq!(gone.map(|gone| gone.description().to_owned()), before);
            model.put(&tool);
        }
        Step::Unregister(name) => {
            let there = model.at(NAMES[*name]).is_some();
            assert_eq!(registry.unregister(NAMES[*name]).is_some(), there);
            model.0.retain(|tool| tool.0 != NAMES[*name]);
        }
        Step::Hide(name) => {
            let there = model.at(NAMES[*name]).map(|there| there.3 = true).is_some();
            assert_eq!(registry.hide(NAMES[*name]), there);
        }
        Step::Reveal(name) => {
            let at = model
                .0
                .iter()
                .position(|tool| tool.0 == NAMES[*name] && tool.3);
            assert_eq!(registry.reveal(NAMES[*name]), at.is_some());
            if let Some(at) = at {
                let mut tool = model.0.remove(at);
                tool.3 = false;
                model.0.push(tool);
            }
        }
        Step::Prune => {
            let ephemeral = model.0.iter().filter(|tool| tool.2).count();
            assert_eq!(registry.prune_ephemeral().len(), ephemeral);
            model.0.retain(|tool| !tool.2);
        }
        Step::Fork | Step::MergeInto(_) => {}
    }
}

proptest! {
    #[test]
    fn changes_are_visible_to_clones_and_not_to_forks(steps in steps()) {
        let mut all = vec![(ToolRegistry::default(), Model::default())];
        for (which, step) in steps {
            let which = which % all.len();
            match step {
                Step::Fork => {
                    let fork = (all[which].0.fork(), all[which].1.clone());
                    all.push(fork);
                }
                Step::MergeInto(other) => {
                    let other = other % all.len();
                    let both = [&all[which].0, &all[other].0];
                    let merged = ToolRegistry::merge(both, OnCollision::Replace).unwrap();
                    let mut model = all[which].1.clone();
                    for (name, from, ephemeral, hidden) in all[other].1.0.clone() {
                        let at = NAMES.iter().position(|known| *known == name).unwrap();
                        model.put(&tool(at, from.parse().unwrap(), ephemeral));
                        model.at(&name).unwrap().3 |= hidden;
                    }
                    all.push((merged, model));
                }
                step => {
                    let (registry, model) = &mut all[which];
                    take(&step, &registry.clone(), model);
                }
            }
            for (registry, model) in &all {
                prop_assert_eq!(&Model::of(registry), model);
                let hidden: Vec<_> = model.0.iter().filter(|tool| tool.3).map(|tool| &tool.0).collect();
                let shown = super::hidden(registry);
                prop_assert_eq!(shown.iter().map(Tool::name).collect::<Vec<_>>(), hidden);
                prop_assert_eq!(registry.all().len(), registry.visible().len() + shown.len());
                prop_assert_eq!(registry.all().len(), model.0.len());
            }
        }
    }
}

#[test]
fn a_registry_does_not_keep_tools_alive_that_its_fork_removed() {
    let held = std::sync::Arc::new(());
    let weak = std::sync::Arc::downgrade(&held);
    let holds = Tool::dynamic("holds", json!({ "type": "object" }))
        .description("Holds something.")
        .handler(move |_: Value, _: ToolContext| {
            let _held = std::sync::Arc::clone(&held);
            async { "" }
        });
    let registry = ToolRegistry::new([holds.build().unwrap()]).unwrap();
    let fork = registry.fork();
    drop(registry);
    assert!(weak.upgrade().is_some());
    drop(fork);
    assert!(weak.upgrade().is_none());
}
