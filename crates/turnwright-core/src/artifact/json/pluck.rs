//! Fields of elements: `json_pluck`.

use serde_json::{Map, Value};

use super::SpooledJsonArtifact;
use super::answer::{JsonNode, JsonNodes, JsonType, Listing, compact};
use super::content::described;
use super::find::{go_on_with_skip, notes};
use super::path::{Flow, JsonPath};
use crate::error::Error;

impl SpooledJsonArtifact {
    /// Chosen fields of each element of the array that a path leads to, from the `skip`th element on: an object each, with
    /// the fields that the element has. Objects that the path leads to count as elements themselves.
    ///
    /// A field is the name of a member, or else a path from the element on: `user.name`, `tags[0]`. Where such a path has
    /// branches (`tags[*]`), the field is the array of what is there.
    ///
    /// # Errors
    /// As for [`SpooledJsonArtifact::json_get`].
    pub async fn json_pluck(
        &self,
        path: &JsonPath,
        fields: Vec<String>,
        skip: u64,
    ) -> Result<JsonNodes, Error> {
        let fields = Field::all(fields);
        let path = path.clone();
        self.ask(move |content, limits| {
            let mut listing = Listing::new(limits, skip);
            let mut bare: Option<String> = None;
            let mut any = false;
            let mut pluck = |path: &dyn Fn() -> String, element: &Value| {
                if !listing.count() {
                    return Flow::Continue(());
                }
                let row = Row::pluck(&fields, element, listing.longest());
                if row.is_bare() {
                    bare.get_or_insert_with(|| described(element));
                } else {
                    any = true;
                }
                row.show(path(), &mut listing);
                Flow::Continue(())
            };
            // All records are the elements of `$`; elsewhere an array stands for its elements.
            let records = content.all_records(&path).is_some();
            let elements = if records {
                path.children()?
            } else {
                path.clone()
            };
            content.select(&elements, &mut |place, node| match node {
                Value::Array(items) if !records => {
                    let array = std::cell::OnceCell::new();
                    for (index, item) in items.iter().enumerate() {
                        let path = || {
                            let array = array.get_or_init(|| place.path());
                            format!("{array}[{index}]")
                        };
                        pluck(&path, item)?;
                    }
                    Flow::Continue(())
                }
                element => pluck(&|| place.path(), element),
            })?;
            let bare = bare.filter(|_| !any);
            notes(&mut listing, content, &path, go_on_with_skip);
            if let Some(element) = bare {
                listing.note(&format!(
                    "no element here has any of these fields: the first is {element}"
                ));
            }
            Ok(listing.into_nodes())
        })
        .await
    }
}

/// A field to pluck: a name, and what it may also be, a path from the element on.
struct Field {
    name: String,
    path: Option<JsonPath>,
}

impl Field {
    fn all(names: Vec<String>) -> Vec<Self> {
        let mut fields: Vec<Field> = Vec::new();
        for name in names {
            if fields.iter().all(|field| field.name != name) {
                fields.push(Field::new(name));
            }
        }
        fields
    }

    fn new(name: String) -> Self {
        let bare = name.trim();
        let path = match bare.strip_prefix(['@', '$']) {
            Some(rest) => format!("${rest}"),
            None if bare.starts_with(['.', '[']) => format!("${bare}"),
            None => format!("$.{bare}"),
        };
        Field {
            path: JsonPath::parse(&path).ok(),
            name,
        }
    }
}

/// The fields of one element, as a value and as text, as long as both fit into an answer.
struct Row {
    members: Map<String, Value>,
    text: String,
    most: usize,
    fits: bool,
}

impl Row {
    fn pluck(fields: &[Field], element: &Value, most: usize) -> Row {
        let mut row = Row {
            members: Map::new(),
            text: String::from("{"),
            // The last brace needs room too.
            most: most.saturating_sub(1),
            fits: true,
        };
        for field in fields {
            if let Some(member) = element.get(&field.name) {
                row.name(&field.name);
                if row.write(member) {
                    row.members.insert(field.name.clone(), member.clone());
                }
            } else if let Some(path) = &field.path {
                row.follow(&field.name, path, element);
            }
            if !row.fits {
                break;
            }
        }
        row.text.push('}');
        row
    }

    /// What costs too much to be followed is left out.
    fn follow(&mut self, name: &str, path: &JsonPath, element: &Value) {
        let one = path.is_singular();
        let mut found = Vec::new();
        let _ = path.select(element, &mut |_, node| {
            if found.is_empty() {
                self.name(name);
                self.text.push_str(if one { "" } else { "[" });
            } else {
                self.text.push(',');
            }
            if !self.write(node) {
                return Flow::Break(());
            }
            found.push(node.clone());
            Flow::Continue(())
        });
        if found.is_empty() {
            return;
        }
        let value = if one {
            found.pop().unwrap_or_default()
        } else {
            self.text.push(']');
            Value::Array(found)
        };
        self.members.insert(name.to_owned(), value);
    }

    fn name(&mut self, name: &str) {
        self.text
            .push_str(if self.members.is_empty() { "" } else { "," });
        self.write(&Value::from(name));
        self.text.push(':');
    }

    fn write(&mut self, value: &Value) -> bool {
        let written = compact(value, self.most.saturating_sub(self.text.len()));
        self.fits &= written.is_ok();
        self.text.push_str(&written.unwrap_or_else(|part| part));
        self.fits
    }

    fn is_bare(&self) -> bool {
        self.fits && self.members.is_empty()
    }

    fn show(self, path: String, listing: &mut Listing<JsonNode>) {
        if self.fits && self.text.len() <= listing.longest() {
            let row = JsonNode::whole(path, Value::Object(self.members));
            listing.show(row, &self.text);
        } else {
            let length = Some(self.members.len() as u64 + 1);
            let content = listing.beginning(JsonType::Object, length, &self.text);
            listing.show_beginning(path, "", content);
        }
    }
}
