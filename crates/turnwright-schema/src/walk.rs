//! The walk over a document: rejects what cannot be enforced, and builds the plan for coercion.
//!
//! A keyword that can never apply (`then` without `if`) is rejected in every document. A keyword for another type
//! (`minimum` on a string) is rejected only in schemas made by the builder or from a type.
//!
//! Validators ignore keywords that they do not know. We must reject them.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use jsonschema::ValidationOptions;
use referencing::{Draft, Resolver};
use serde_json::{Map, Value};

use super::graph;
use super::keywords::{self, Keyword, Look, Shape};
use super::options::SchemaOptions;
use super::pattern;
use super::plan::{Node, NodeId, Plan, Property, Types};
use super::pointer::join;
use super::problem::SchemaProblem;
use super::reference::{Places, Reference, address, prepare_references};

/// The result of a walk.
pub(crate) struct Walked {
    pub(crate) plan: Plan,
    /// Some subschema needs a validator of its own.
    pub(crate) needs_map: bool,
    /// Subschemas with a `default`.
    pub(crate) defaults: Vec<NodeId>,
}

/// Walks the complete `document`. Returns the plan, or all problems.
pub(crate) fn walk(
    document: &Value,
    draft: Draft,
    options: &SchemaOptions,
    judge: &ValidationOptions<'static>,
) -> Result<Walked, Vec<SchemaProblem>> {
    let registry = prepare_references(document, draft).map_err(|problem| vec![problem])?;
    let mut walk = Walk {
        document,
        draft,
        options,
        judge,
        nodes: Vec::new(),
        edges: Vec::new(),
        seen: HashMap::new(),
        references: Vec::new(),
        problems: Vec::new(),
        places: Places::new(document),
    };
    let resolver = registry
        .as_ref()
        .map(|(registry, base)| Rc::new(registry.resolver(base.clone())));
    walk.schema(document, String::new(), resolver.as_ref());
    walk.follow_references();
    walk.finish()
}

struct Walk<'d, 'o> {
    document: &'d Value,
    draft: Draft,
    options: &'o SchemaOptions,
    judge: &'o ValidationOptions<'static>,
    nodes: Vec<Node>,
    /// For each node, all subschemas that apply to the same location of the value, whether or not they change it.
    edges: Vec<Vec<NodeId>>,
    /// Nodes by the memory address of their value in the document.
    seen: HashMap<usize, NodeId>,
    references: Vec<Reference<'d>>,
    problems: Vec<SchemaProblem>,
    places: Places<'d>,
}

impl<'d> Walk<'d, '_> {
    fn problem(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.problems.push(SchemaProblem::new(pointer, message));
    }

    /// Walks one subschema and everything nested inside it. References are followed later.
    fn schema(
        &mut self,
        schema: &'d Value,
        pointer: String,
        scope: Option<&Rc<Resolver<'d>>>,
    ) -> NodeId {
        if let Some(node) = self.seen.get(&address(schema)) {
            return *node;
        }
        let id = self.nodes.len();
        self.seen.insert(address(schema), id);
        self.nodes.push(Node::default());
        self.edges.push(Vec::new());
        let mut node = Node::default();
        match schema {
            Value::Bool(takes_all) => node.never = !takes_all,
            Value::Object(map) => {
                let own_scope = self.scope_of(schema, map, &pointer, scope);
                self.keywords(id, &mut node, map, &pointer, own_scope.as_ref().or(scope));
            }
            _ => self.problem(&pointer, "a schema must be an object, `true` or `false`"),
        }
        node.pointer = pointer;
        if let Some(slot) = self.nodes.get_mut(id) {
            *slot = node;
        }
        id
    }

    /// Returns the scope that an `$id` opens.
    fn scope_of(
        &mut self,
        schema: &'d Value,
        map: &'d Map<String, Value>,
        pointer: &str,
        scope: Option<&Rc<Resolver<'d>>>,
    ) -> Option<Rc<Resolver<'d>>> {
        if !map.contains_key("$id") || pointer.is_empty() {
            return None;
        }
        match scope?.in_subresource(self.draft.create_resource_ref(schema)) {
            Ok(scope) => Some(Rc::new(scope)),
            Err(error) => {
                self.problem(
                    join(pointer, "$id"),
                    format!("is not a valid identifier: {error}"),
                );
                None
            }
        }
    }

    fn keywords(
        &mut self,
        id: NodeId,
        node: &mut Node,
        map: &'d Map<String, Value>,
        pointer: &str,
        scope: Option<&Rc<Resolver<'d>>>,
    ) {
        // Draft 7 ignores keywords next to `$ref`.
        let only_ref = self.draft == Draft::Draft7 && map.contains_key("$ref");
        for (name, value) in map {
            let place = join(pointer, name);
            let Some(keyword) = keywords::keyword(self.draft, name) else {
                if !self.options.annotations.contains(name) {
                    self.problem(place, keywords::unknown(self.draft, name));
                }
                continue;
            };
            if only_ref && !keyword.annotation && name != "$ref" {
                self.problem(
                    place,
                    "draft 7 ignores keywords next to `$ref`: move the `$ref` into an `allOf`",
                );
                continue;
            }
            self.lint(name, value, keyword, map, &place);
            self.subschemas(id, node, name, value, keyword, &place, scope);
        }
        self.note_values(node, map, only_ref);
        if let Some(text) = map.get("$ref").and_then(Value::as_str) {
            self.references
                .push(Reference::new(id, pointer, text, scope));
        }
    }

    /// Reports problems with a keyword that the draft knows.
    fn lint(
        &mut self,
        name: &str,
        value: &Value,
        keyword: &Keyword,
        map: &Map<String, Value>,
        place: &str,
    ) {
        if let Some(needed) = keyword.needs
            && !map.contains_key(needed)
        {
            self.problem(
                place,
                format!("has no effect without `{needed}`: add `{needed}` or remove this"),
            );
        }
        match name {
            "additionalItems" if map.get("items").is_some_and(|items| !items.is_array()) => {
                self.problem(place, "has no effect unless `items` is a list: remove it");
            }
            "type" => {
                if let Some(wrong) = keywords::wrong_type(value) {
                    self.problem(place, wrong);
                }
            }
            "format" => self.lint_format(value, place),
            "$schema" if place != "/$schema" && Some(value) != self.document.get("$schema") => {
                self.problem(place, "must not change within a document: remove it");
            }
            "$ref" if !value.is_string() => self.problem(place, "must be a string"),
            _ => {}
        }
    }

    fn lint_format(&mut self, value: &Value, place: &str) {
        let Some(name) = value.as_str() else {
            return self.problem(place, "must be a string");
        };
        if !keywords::is_enforced_format(name) && !self.options.annotation_formats.contains(name) {
            self.problem(
                place,
                format!("the format `{name}` is not enforced: remove it, express it in the description or with `pattern`, or allow it with `SchemaOptions::annotation_format`"),
            );
        }
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "one step of the walk with its full context"
    )]
    fn subschemas(
        &mut self,
        id: NodeId,
        node: &mut Node,
        name: &str,
        value: &'d Value,
        keyword: &Keyword,
        place: &str,
        scope: Option<&Rc<Resolver<'d>>>,
    ) {
        match (keyword.shape, value) {
            (Shape::Schemas, Value::Array(_)) => {}
            (Shape::Schemas, _) => return self.problem(place, "must be a list of schemas"),
            (Shape::Named | Shape::NamedOrLists, Value::Object(named)) => {
                let is_list = |list: &Value| {
                    list.as_array()
                        .is_some_and(|names| !names.iter().all(Value::is_string))
                };
                for (key, _) in named
                    .iter()
                    .filter(|(_, list)| keyword.shape == Shape::NamedOrLists && is_list(list))
                {
                    self.problem(
                        join(place, key),
                        "must be a schema or a list of property names",
                    );
                }
            }
            (Shape::Named | Shape::NamedOrLists, _) => {
                return self.problem(place, "must be an object of schemas");
            }
            _ => {}
        }
        let subschemas = keywords::subschemas(keyword.shape, value, place);
        let found: Vec<_> = subschemas
            .map(|(key, place, schema)| (key, self.schema(schema, place, scope)))
            .collect();
        if keyword.look == Look::Here
            && let Some(edges) = self.edges.get_mut(id)
        {
            edges.extend(found.iter().map(|(_, child)| *child));
        }
        self.plan_keyword(node, name, value, &found, place);
    }

    /// Records the subschemas that coercion follows.
    fn plan_keyword(
        &mut self,
        node: &mut Node,
        name: &str,
        value: &Value,
        found: &[(Option<&'d str>, NodeId)],
        place: &str,
    ) {
        let ids = || found.iter().map(|(_, id)| *id);
        match name {
            "allOf" => node.same_place.extend(ids()),
            "anyOf" | "oneOf" => node.unions.push(ids().collect()),
            "properties" => {
                let property = |(name, node): &(Option<&str>, NodeId)| Property {
                    name: name.unwrap_or_default().to_owned(),
                    node: *node,
                    default: None,
                };
                node.properties = found.iter().map(property).collect();
                node.properties.sort_by(|a, b| a.name.cmp(&b.name));
            }
            "patternProperties" => {
                for (pattern, id) in found {
                    // Compiled by the same crate as the validators, so that patterns mean the same in both.
                    match self.judge.build(&serde_json::json!({ "pattern": pattern })) {
                        Ok(names) => node.patterns.push((names, *id)),
                        Err(_) => {
                            let pattern = pattern.unwrap_or_default();
                            self.problem(join(place, pattern), pattern::fault_of(pattern));
                        }
                    }
                }
            }
            "additionalProperties" => node.additional = ids().next(),
            "prefixItems" => node.prefix = ids().collect(),
            "items" if value.is_array() => node.prefix = ids().collect(),
            "items" | "additionalItems" => node.items = ids().next(),
            _ => {}
        }
    }

    fn note_values(&mut self, node: &mut Node, map: &Map<String, Value>, only_ref: bool) {
        node.default = map.get("default").cloned();
        if only_ref {
            return;
        }
        node.allowed = Types::allowed_by(map);
        node.texts = match (map.get("const"), map.get("enum")) {
            (Some(only), _) => Some(vec![only.clone()]),
            (None, Some(Value::Array(values))) => Some(values.clone()),
            _ => None,
        }
        .filter(|values| values.iter().all(Value::is_string));
        if let Some(Value::Array(names)) = map.get("required") {
            let names = names.iter().filter_map(Value::as_str);
            node.required = names.map(str::to_owned).collect();
            node.required.sort_unstable();
        }
    }

    /// Resolves every reference to its node. A target that is not in a schema position becomes a schema by being
    /// referred to, and is walked like any other.
    fn follow_references(&mut self) {
        while let Some(reference) = self.references.pop() {
            let from = reference.from;
            let target = match reference.resolve(&self.seen, &mut self.places, |_| true) {
                Ok(target) => target,
                Err(problem) => {
                    self.problems.push(problem);
                    continue;
                }
            };
            let target = self.schema(target.value, target.pointer, Some(&target.scope));
            if let Some(node) = self.nodes.get_mut(from) {
                node.same_place.insert(0, target);
            }
            if let Some(edges) = self.edges.get_mut(from) {
                edges.push(target);
            }
        }
    }

    fn finish(mut self) -> Result<Walked, Vec<SchemaProblem>> {
        let height = graph::reject_circles(&self.nodes, &self.edges, &mut self.problems);
        if self.problems.is_empty() {
            graph::reject_combinations(&self.nodes, &self.edges, &mut self.problems);
        }
        if self.options.strict && self.problems.is_empty() {
            graph::reject_idle(self.document, self.draft, &self.nodes, &mut self.problems);
        }
        if !self.problems.is_empty() {
            self.problems.sort_by(|a, b| a.pointer.cmp(&b.pointer));
            return Err(self.problems);
        }
        let has_default = |id: &NodeId| {
            self.nodes
                .get(*id)
                .is_some_and(|node| node.default.is_some())
        };
        let defaults: Vec<NodeId> = (0..self.nodes.len()).filter(has_default).collect();
        for (node, mut edges) in self.nodes.iter_mut().zip(self.edges) {
            let here: HashSet<NodeId> = node.here().collect();
            edges.retain(|id| !here.contains(id));
            node.only_looks = edges;
        }
        let mut plan = Plan {
            nodes: self.nodes,
            height,
            ..Plan::default()
        };
        graph::complete(&mut plan, self.options.fill_defaults, &mut self.problems);
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        let nullable = |id: NodeId| !graph::rejects_null(&plan.nodes, id);
        let needs_parts = |node: &Node| !node.unions.is_empty() || node.below().any(nullable);
        let needs_map = !defaults.is_empty() || plan.nodes.iter().any(needs_parts);
        Ok(Walked {
            plan,
            needs_map,
            defaults,
        })
    }
}
