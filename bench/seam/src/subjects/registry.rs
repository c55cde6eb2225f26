//! Looking up tools, and listing them for the model.

use std::{error::Error, hint::black_box};

use turnwright_bench_measure::Subject;
use turnwright_core::{Tool, ToolRegistry};

use super::building;
use crate::section;

pub(crate) const GET_OF_FEW: &str = "`get` from 10 tools";
pub(crate) const GET_OF_MANY: &str = "`get` from 1,000 tools";
pub(crate) const VISIBLE: &str = "`visible()` of 1,000 tools";
pub(crate) const CLONE_DOCUMENTS: &str = "for scale: cloning the 1,000 schema documents";

const FEW: usize = 10;
const MANY: usize = 1_000;

pub(crate) fn subjects<'a>() -> Result<Vec<Subject<'a>>, Box<dyn Error>> {
    let few = registry(FEW)?;
    let many = registry(MANY)?;
    let listed = many.clone();
    let documents = vec![building::document(); MANY];
    Ok(vec![
        lookup(GET_OF_FEW, few, FEW),
        lookup(GET_OF_MANY, many, MANY),
        Subject::once(section::REGISTRY, VISIBLE, move || listed.visible()),
        Subject::once(section::REGISTRY, CLONE_DOCUMENTS, move || {
            documents.clone()
        }),
    ])
}

/// Looks up every name in turn, so that none stays in the cache.
fn lookup<'a>(label: &'static str, registry: ToolRegistry, tools: usize) -> Subject<'a> {
    let names: Vec<String> = (0..tools).map(name).collect();
    let mut next = 0;
    Subject::once(section::REGISTRY, label, move || {
        next = (next + 1) % names.len();
        registry.get(black_box(&names[next]))
    })
}

fn registry(tools: usize) -> Result<ToolRegistry, Box<dyn Error>> {
    let tools: Vec<Tool> = (0..tools)
        .map(|number| building::dynamic(&name(number), building::document()))
        .collect::<Result<_, _>>()?;
    let registry = ToolRegistry::new(tools)?;
    Ok(registry)
}

fn name(number: usize) -> String {
    format!("tool_number_{number}")
}
