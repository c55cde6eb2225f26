//! Stored JSON as it is read: from text or from a value, borrowed where it can be, all of it in one list.

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};

/// What stands below so many levels is passed over: no record is as deep as that, and what a later release adds may be.
const LEVELS: usize = 16;
/// Room for most records.
const NODES: usize = 24;

/// A piece of stored JSON. What is in it comes right behind it.
pub(super) struct Node<'v> {
    /// Under which name it stands in an object; in a list, none.
    name: Cow<'v, str>,
    is: Is<'v>,
    /// How many nodes are in it, however deep.
    within: usize,
}

enum Is<'v> {
    Null,
    Flag(bool),
    Number(Number),
    Text(Cow<'v, str>),
    List,
    Object,
    /// Something below [`LEVELS`].
    Deep,
}

/// A node together with what is in it.
#[derive(Clone, Copy)]
pub(super) struct Part<'v> {
    node: &'v Node<'v>,
    within: &'v [Node<'v>],
}

/// The parts of an object or a list, in order.
#[derive(Clone, Copy, Default)]
pub(super) struct Parts<'v>(&'v [Node<'v>]);

/// What a text says, if it is JSON.
pub(super) fn of_text(text: &str) -> Option<Vec<Node<'_>>> {
    let mut nodes = Vec::with_capacity(NODES);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let whole = Build::new(&mut nodes, Cow::Borrowed(""), LEVELS);
    whole.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(nodes)
}

/// The same of a value.
pub(super) fn of_value(value: &Value) -> Vec<Node<'_>> {
    let mut nodes = Vec::with_capacity(NODES);
    Build::new(&mut nodes, Cow::Borrowed(""), LEVELS).value(value);
    nodes
}

impl<'v> Part<'v> {
    /// The whole, if there is any.
    pub(super) fn whole(nodes: &'v [Node<'v>]) -> Option<Self> {
        Parts(nodes).next()
    }

    pub(super) fn is_null(self) -> bool {
        matches!(self.node.is, Is::Null)
    }

    pub(super) fn as_text(self) -> Option<&'v str> {
        match &self.node.is {
            Is::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_flag(self) -> Option<bool> {
        match self.node.is {
            Is::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    pub(super) fn as_number(self) -> Option<u64> {
        match &self.node.is {
            Is::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    pub(super) fn as_list(self) -> Option<Parts<'v>> {
        match self.node.is {
            Is::List => Some(Parts(self.within)),
            _ => None,
        }
    }

    pub(super) fn as_object(self) -> Option<Parts<'v>> {
        match self.node.is {
            Is::Object => Some(Parts(self.within)),
            _ => None,
        }
    }

    fn to_value(self) -> Value {
        match &self.node.is {
            Is::Null => Value::Null,
            Is::Flag(flag) => Value::Bool(*flag),
            Is::Number(number) => Value::Number(number.clone()),
            Is::Text(text) => Value::from(&**text),
            Is::List => Parts(self.within).map(Part::to_value).collect(),
            Is::Object => Value::Object(Parts(self.within).to_map()),
            // Whatever it was, it was no text, flag or number.
            Is::Deep => Value::Array(Vec::new()),
        }
    }
}

impl<'v> Parts<'v> {
    /// What stands under a name. Of two, the last one counts.
    pub(super) fn named(self, name: &str) -> Option<Part<'v>> {
        self.filter(|part| part.node.name == name).last()
    }

    /// An object as a map, for types that read themselves.
    pub(super) fn to_map(self) -> Map<String, Value> {
        self.map(|part| (part.node.name.clone().into_owned(), part.to_value()))
            .collect()
    }
}

impl<'v> Iterator for Parts<'v> {
    type Item = Part<'v>;

    fn next(&mut self) -> Option<Part<'v>> {
        let (node, rest) = self.0.split_first()?;
        let (within, rest) = rest.split_at_checked(node.within)?;
        self.0 = rest;
        Some(Part { node, within })
    }
}

/// Adds one node, and what is in it down to so many levels.
struct Build<'n, 'v> {
    nodes: &'n mut Vec<Node<'v>>,
    name: Cow<'v, str>,
    levels: usize,
}

impl<'n, 'v> Build<'n, 'v> {
    fn new(nodes: &'n mut Vec<Node<'v>>, name: Cow<'v, str>, levels: usize) -> Self {
        Build {
            nodes,
            name,
            levels,
        }
    }

    fn leaf(self, is: Is<'v>) {
        self.nodes.push(Node {
            name: self.name,
            is,
            within: 0,
        });
    }

    /// Adds something to be filled.
    fn begin(self, is: Is<'v>, below: usize) -> Filling<'n, 'v> {
        let at = self.nodes.len();
        let Build { nodes, name, .. } = self;
        nodes.push(Node {
            name,
            is,
            within: 0,
        });
        Filling { nodes, at, below }
    }

    fn value(self, value: &'v Value) {
        let below = self.levels.checked_sub(1);
        match (value, below) {
            (Value::Null, _) => self.leaf(Is::Null),
            (Value::Bool(flag), _) => self.leaf(Is::Flag(*flag)),
            (Value::Number(number), _) => self.leaf(Is::Number(number.clone())),
            (Value::String(text), _) => self.leaf(Is::Text(Cow::Borrowed(text))),
            (Value::Array(_) | Value::Object(_), None) => self.leaf(Is::Deep),
            (Value::Array(items), Some(below)) => {
                let mut list = self.begin(Is::List, below);
                for item in items {
                    list.next(Cow::Borrowed("")).value(item);
                }
                list.end();
            }
            (Value::Object(map), Some(below)) => {
                let mut object = self.begin(Is::Object, below);
                for (name, value) in map {
                    object.next(Cow::Borrowed(name)).value(value);
                }
                object.end();
            }
        }
    }
}

/// A list or an object to which parts are added.
struct Filling<'n, 'v> {
    nodes: &'n mut Vec<Node<'v>>,
    at: usize,
    below: usize,
}

impl<'v> Filling<'_, 'v> {
    fn next(&mut self, name: Cow<'v, str>) -> Build<'_, 'v> {
        Build::new(self.nodes, name, self.below)
    }

    fn end(self) {
        let within = self.nodes.len() - self.at - 1;
        if let Some(node) = self.nodes.get_mut(self.at) {
            node.within = within;
        }
    }
}

impl<'de> DeserializeSeed<'de> for Build<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Build<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.leaf(Is::Null);
        Ok(())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<(), E> {
        self.leaf(Is::Flag(flag));
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.leaf(Is::Number(number.into()));
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.leaf(Is::Number(number.into()));
        Ok(())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<(), E> {
        let number = Number::from_f64(number).ok_or_else(|| E::custom("no number"));
        self.leaf(Is::Number(number?));
        Ok(())
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        self.leaf(Is::Text(Cow::Borrowed(text)));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.leaf(Is::Text(Cow::Owned(text.to_owned())));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some(below) = self.levels.checked_sub(1) else {
            // Passing over does not recurse.
            while items.next_element::<IgnoredAny>()?.is_some() {}
            self.leaf(Is::Deep);
            return Ok(());
        };
        let mut list = self.begin(Is::List, below);
        while items
            .next_element_seed(list.next(Cow::Borrowed("")))?
            .is_some()
        {}
        list.end();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let Some(below) = self.levels.checked_sub(1) else {
            while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            self.leaf(Is::Deep);
            return Ok(());
        };
        let Some(first) = fields.next_key_seed(Name)? else {
            self.leaf(Is::Object);
            return Ok(());
        };
        if first == NUMBER {
            // So a number comes where `serde_json` is told to keep all digits of it.
            let number = fields.next_value::<String>()?.parse();
            self.leaf(Is::Number(number.map_err(A::Error::custom)?));
            return Ok(());
        }
        let mut object = self.begin(Is::Object, below);
        fields.next_value_seed(object.next(first))?;
        while let Some(name) = fields.next_key_seed(Name)? {
            fields.next_value_seed(object.next(name))?;
        }
        object.end();
        Ok(())
    }
}

const NUMBER: &str = "$serde_json::private::Number";

/// The name of a field.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}
