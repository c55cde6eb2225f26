//! Reads a foreign document: its subschemas as a graph, with the verdict on each keyword.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use referencing::Resolver;
use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::verdict::{Judge, Verdict, is_schema};
use crate::keywords::{self, Keyword, Look, Shape};
use crate::pointer::join;
use crate::problem::SchemaProblem;
use crate::problem::UnenforcedKind;
use crate::reference::{Places, Reference, address};

/// A subschema, as an index into [`Survey::nodes`].
pub(super) type NodeId = usize;

/// The document as a graph.
pub(super) struct Survey<'d> {
    pub(super) nodes: Vec<Node<'d>>,
    /// Nodes by the memory address of their value in the document.
    pub(super) seen: HashMap<usize, NodeId>,
    /// Some subschema has an `$id`, so that references in it do not start at the root.
    pub(super) has_scopes: bool,
}

/// One subschema.
pub(super) struct Node<'d> {
    pub(super) schema: &'d Value,
    pub(super) pointer: String,
    /// The keywords that are not published as they are.
    pub(super) verdicts: BTreeMap<&'d str, Verdict>,
    /// The patterns of `patternProperties` that cannot be enforced, each with the reason.
    pub(super) bad_names: BTreeMap<&'d str, String>,
    /// The subschemas that apply to the value or to parts of it, each with its keyword.
    pub(super) children: Vec<(&'d str, NodeId)>,
    pub(super) target: Option<NodeId>,
    /// The first location here or below that is not enforced. If there is one, the published schema may accept more.
    pub(super) cause: Option<String>,
    /// Some keyword here that evaluates properties or items is not enforced.
    pub(super) evaluates_less: bool,
}

impl<'d> Node<'d> {
    pub(super) fn map(&self) -> Option<&'d Map<String, Value>> {
        self.schema.as_object()
    }

    /// Returns `true` if the keyword is present and not dropped.
    pub(super) fn has(&self, keyword: &str) -> bool {
        self.map().is_some_and(|map| map.contains_key(keyword))
            && !self.verdicts.get(keyword).is_some_and(Verdict::drops)
    }

    /// Drops a keyword that could otherwise reject what the original accepts.
    pub(super) fn drop_dependent(&mut self, keyword: &str, reason: String) {
        let own = self.map().and_then(|map| map.get_key_value(keyword));
        if let Some((keyword, _)) = own {
            let verdict = Verdict::Drop {
                kind: UnenforcedKind::Dependent,
                reason,
                asserts: true,
            };
            let place = join(&self.pointer, keyword);
            self.cause.get_or_insert(place);
            self.verdicts.insert(keyword, verdict);
            // What is inside `not` evaluates nothing.
            self.evaluates_less |= keyword != "not";
        }
    }
}

/// Returns `true` if a keyword that the document's draft does not have evaluates properties or items in another one.
fn evaluates(keyword: &str) -> bool {
    keywords::is_known(keyword) || matches!(keyword, "$dynamicRef" | "$recursiveRef")
}

/// Reads the complete document.
pub(super) fn survey<'d>(
    document: &'d Value,
    scope: Option<Resolver<'d>>,
    judge: &Judge<'_>,
) -> Result<Survey<'d>, Vec<SchemaProblem>> {
    let mut reader = Reader {
        judge,
        survey: Survey {
            nodes: Vec::new(),
            seen: HashMap::new(),
            has_scopes: false,
        },
        references: Vec::new(),
        problems: Vec::new(),
        places: Places::new(document),
    };
    reader.schema(document, String::new(), scope.map(Rc::new).as_ref());
    reader.follow_references();
    if reader.problems.is_empty() {
        Ok(reader.survey)
    } else {
        Err(reader.problems)
    }
}

struct Reader<'d, 'j> {
    judge: &'j Judge<'j>,
    survey: Survey<'d>,
    references: Vec<Reference<'d>>,
    problems: Vec<SchemaProblem>,
    places: Places<'d>,
}

impl<'d> Reader<'d, '_> {
    /// Reads one subschema and everything nested inside it. References are followed later.
    fn schema(
        &mut self,
        schema: &'d Value,
        pointer: String,
        scope: Option<&Rc<Resolver<'d>>>,
    ) -> NodeId {
        if let Some(node) = self.survey.seen.get(&address(schema)) {
            return *node;
        }
        let id = self.survey.nodes.len();
        self.survey.seen.insert(address(schema), id);
        let node = || Node {
            schema,
            pointer: String::new(),
            verdicts: BTreeMap::new(),
            bad_names: BTreeMap::new(),
            children: Vec::new(),
            target: None,
            cause: None,
            evaluates_less: false,
        };
        self.survey.nodes.push(node());
        let mut node = node();
        node.pointer = pointer;
        match schema {
            Value::Object(map) => {
                let own_scope = self.scope_of(schema, map, &node.pointer, scope);
                self.keywords(id, &mut node, map, own_scope.as_ref().or(scope));
            }
            Value::Bool(_) => {}
            // Published as a schema that accepts everything.
            _ => node.cause = Some(node.pointer.clone()),
        }
        if let Some(slot) = self.survey.nodes.get_mut(id) {
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
        self.survey.has_scopes = true;
        let draft = self.judge.dialect.published();
        let resource = draft.create_resource_ref(schema);
        // An identifier that is not valid is dropped, or rejected with the published document.
        scope?.in_subresource(resource).ok().map(Rc::new)
    }

    fn keywords(
        &mut self,
        id: NodeId,
        node: &mut Node<'d>,
        map: &'d Map<String, Value>,
        scope: Option<&Rc<Resolver<'d>>>,
    ) {
        for (name, value) in map {
            let place = join(&node.pointer, name);
            let verdict = self
                .judge
                .verdict(map, name, value, node.pointer.is_empty());
            let keyword = self.judge.keyword(name);
            if let Some(verdict) = verdict {
                if verdict.asserts() {
                    node.cause.get_or_insert_with(|| place.clone());
                    node.evaluates_less |= match keyword {
                        Some(known) => known.shape != Shape::Data || name == "$ref",
                        None => evaluates(name),
                    };
                }
                let drops = verdict.drops();
                node.verdicts.insert(name, verdict);
                if drops {
                    continue;
                }
            }
            if let Some(keyword) = keyword {
                self.subschemas(node, name, value, keyword, &place, scope);
            }
        }
        self.judge_neighbours(node, map);
        // Draft 4 does not count `1.0` as an integer. The later drafts do.
        let names_integers = |types: &Value| types.to_string().contains("\"integer\"");
        if self.judge.dialect == Dialect::Draft4 && map.get("type").is_some_and(names_integers) {
            let place = join(&node.pointer, "type");
            node.cause.get_or_insert(place);
        }
        if let Some(Value::String(text)) = map.get("$ref") {
            let reference = Reference::new(id, &node.pointer, text, scope);
            self.references.push(reference);
        }
    }

    fn subschemas(
        &mut self,
        node: &mut Node<'d>,
        name: &'d str,
        value: &'d Value,
        keyword: &Keyword,
        place: &str,
        scope: Option<&Rc<Resolver<'d>>>,
    ) {
        for (key, place, schema) in keywords::subschemas(keyword.shape, value, place) {
            if name == "patternProperties"
                && let Some(key) = key
                && let Some(fault) = self.judge.pattern_fault(key)
            {
                node.cause.get_or_insert(place);
                node.evaluates_less = true;
                node.bad_names.insert(key, fault);
                continue;
            }
            let child = self.schema(schema, place, scope);
            if keyword.look != Look::Nowhere {
                node.children.push((name, child));
            }
        }
    }

    /// Drops keywords whose meaning depends on a neighbour that is not enforced.
    fn judge_neighbours(&mut self, node: &mut Node<'d>, map: &'d Map<String, Value>) {
        let is_dropped = |node: &Node<'d>, keyword: &str| {
            let verdict = node.verdicts.get(keyword);
            verdict.is_some_and(|verdict| verdict.drops() && verdict.asserts())
        };
        let closed = |keyword: &str| {
            map.get(keyword)
                .is_some_and(|rule| rule != &Value::Bool(true))
        };
        let names_less = !node.bad_names.is_empty()
            || is_dropped(node, "properties")
            || is_dropped(node, "patternProperties");
        if names_less && closed("additionalProperties") && node.has("additionalProperties") {
            let reason = "depends on the names of properties, not all of which could be read";
            node.drop_dependent("additionalProperties", reason.to_owned());
        }
        if is_dropped(node, "prefixItems") && closed("items") && node.has("items") {
            let reason = "depends on `prefixItems`, which is not enforced";
            node.drop_dependent("items", reason.to_owned());
        }
    }

    /// Resolves every reference to its node. A target that is not in a schema position becomes a schema by being
    /// referred to.
    fn follow_references(&mut self) {
        while let Some(reference) = self.references.pop() {
            let is_dropped =
                |node: &Node<'d>| node.verdicts.get("$ref").is_some_and(Verdict::drops);
            let from = reference.from;
            if self.survey.nodes.get(from).is_some_and(is_dropped) {
                continue;
            }
            let target = match reference.resolve(&self.survey.seen, &mut self.places, is_schema) {
                Ok(target) => target,
                Err(problem) => {
                    self.problems.push(problem);
                    continue;
                }
            };
            let target = self.schema(target.value, target.pointer, Some(&target.scope));
            if let Some(node) = self.survey.nodes.get_mut(from) {
                node.target = Some(target);
            }
        }
    }
}
