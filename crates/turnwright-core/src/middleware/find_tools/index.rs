//! Ranks tools by the words of a query.

use std::collections::HashMap;

use ahash::RandomState;
use serde_json::Value;

use super::words::{synonyms, words};
use crate::tool::Tool;

/// How much a word counts, by where it is.
const IN_NAME: f32 = 3.0;
const IN_FIRST_SENTENCE: f32 = 1.5;
const IN_DESCRIPTION: f32 = 0.5;
const IN_PARAMETER_NAME: f32 = 0.7;
const IN_PARAMETER_DESCRIPTION: f32 = 0.3;
/// How deep parameters are read.
const MAX_DEPTH: usize = 4;
/// The usual parameters of BM25: how fast repetitions of a word lose weight, and how much long definitions are discounted.
const K1: f32 = 1.2;
const B: f32 = 0.5;
/// How much a word counts that only begins like the one in the query, such as `repo` and `repository`.
const PREFIX: f32 = 0.4;
/// How much a word counts that means the same as the one in the query.
const SYNONYM: f32 = 0.6;
/// The shortest word that is compared by its beginning.
const MIN_PREFIX: usize = 4;

/// An index over the definitions of tools: names, descriptions, and names and descriptions of parameters. Ranks with BM25.
pub(super) struct Index {
    tools: Vec<Tool>,
    /// For each word, the tools that have it and how much it counts there.
    places: HashMap<String, Vec<(usize, f32)>, RandomState>,
    /// The sum of the weights of a tool's words.
    lengths: Vec<f32>,
    average: f32,
}

impl Index {
    pub(super) fn new(tools: Vec<Tool>) -> Self {
        let mut places: HashMap<String, Vec<(usize, f32)>, RandomState> = HashMap::default();
        let mut lengths = Vec::with_capacity(tools.len());
        for (at, tool) in tools.iter().enumerate() {
            let weights = weights(tool);
            lengths.push(weights.values().sum());
            for (word, weight) in weights {
                places.entry(word).or_default().push((at, weight));
            }
        }
        let average = lengths.iter().sum::<f32>() / lengths.len().max(1) as f32;
        Index {
            tools,
            places,
            lengths,
            average: average.max(1.0),
        }
    }

    /// Returns whether it is the index of exactly these tools.
    pub(super) fn is_of(&self, tools: &[Tool]) -> bool {
        let mut pairs = self.tools.iter().zip(tools);
        self.tools.len() == tools.len() && pairs.all(|(one, other)| one.is_same(other))
    }

    /// Returns the best tools for a query, best first. Equal ones are in the order of the index.
    pub(super) fn search(&self, query: &str, most: usize) -> Vec<&Tool> {
        let mut asked = words(query);
        asked.sort_unstable();
        asked.dedup();
        let mut scores = vec![0.0_f32; self.tools.len()];
        for word in &asked {
            // Of several words that begin alike, the best one counts.
            let mut best: HashMap<usize, f32, RandomState> = HashMap::default();
            let others = synonyms(word);
            for (found, places) in &self.places {
                let share = if others.contains(found) {
                    Some(SYNONYM)
                } else {
                    likeness(word, found)
                };
                let Some(share) = share else {
                    continue;
                };
                let rarity = self.rarity(places.len());
                for (at, weight) in places {
                    let length = self.lengths.get(*at).copied().unwrap_or(self.average);
                    let discount = K1 * (1.0 - B + B * length / self.average);
                    let score = share * rarity * weight * (K1 + 1.0) / (weight + discount);
                    let best = best.entry(*at).or_default();
                    *best = best.max(score);
                }
            }
            for (at, score) in best {
                if let Some(sum) = scores.get_mut(at) {
                    *sum += score;
                }
            }
        }
        let mut ranked: Vec<(f32, &Tool)> = scores.into_iter().zip(&self.tools).collect();
        ranked.retain(|(score, _)| *score > 0.0);
        // Stable: equal scores keep their order.
        ranked.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        ranked
            .into_iter()
            .take(most)
            .map(|(_, tool)| tool)
            .collect()
    }

    /// The rarer a word, the more it says.
    fn rarity(&self, found: usize) -> f32 {
        let (all, found) = (self.tools.len() as f32, found as f32);
        (1.0 + (all - found + 0.5) / (found + 0.5)).ln()
    }
}

/// Returns how much a word counts for the one in the query. `None` if they have nothing in common.
fn likeness(asked: &str, found: &str) -> Option<f32> {
    if asked == found {
        return Some(1.0);
    }
    let shorter = asked.len().min(found.len());
    let alike = asked.starts_with(found) || found.starts_with(asked);
    (alike && shorter >= MIN_PREFIX).then_some(PREFIX)
}

fn weights(tool: &Tool) -> HashMap<String, f32, RandomState> {
    let mut weights = HashMap::default();
    add(&mut weights, tool.name(), IN_NAME);
    let (first, rest) = first_sentence(tool.description());
    add(&mut weights, first, IN_FIRST_SENTENCE);
    add(&mut weights, rest, IN_DESCRIPTION);
    add_parameters(&mut weights, tool.schema().document(), MAX_DEPTH);
    weights
}

fn add(weights: &mut HashMap<String, f32, RandomState>, text: &str, weight: f32) {
    for word in words(text) {
        *weights.entry(word).or_default() += weight;
    }
}

fn add_parameters(weights: &mut HashMap<String, f32, RandomState>, schema: &Value, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        add(weights, name, IN_PARAMETER_NAME);
        if let Some(text) = schema.get("description").and_then(Value::as_str) {
            add(weights, text, IN_PARAMETER_DESCRIPTION);
        }
        add_parameters(weights, schema, depth);
        if let Some(items) = schema.get("items") {
            add_parameters(weights, items, depth);
        }
    }
}

/// Splits after the first sentence or line that has words.
fn first_sentence(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let ends = [". ", ".\n", "\n"].iter().filter_map(|end| text.find(end));
    match ends.min() {
        Some(end) => text.split_at(end),
        None => (text, ""),
    }
}
