//! The query `json_pluck`: selected fields of each element.

use indexmap::IndexMap;
use serde_json::Value;

use super::SpooledJsonArtifact;
use super::content::described;
use super::page::Listing;
use super::path::{Flow, JsonPath};
use crate::error::Error;
use crate::schema::counted;

/// The requested fields. Each is a member name, or a path relative to the element if the name parses as one.
type Fields = IndexMap<String, Option<JsonPath>>;

impl SpooledJsonArtifact {
    /// Returns selected fields of each element of the array at a path, starting with element `skip`. Each element is shown as an
    /// object with those fields that it has. If the path matches objects, the objects are the elements.
    ///
    /// A field is a member name or a path relative to the element, such as `user.name` or `tags[0]`. If a path can match several
    /// values (`tags[*]`), the field is an array of the matches.
    ///
    /// # Errors
    /// See [`SpooledJsonArtifact::json_get`].
    pub async fn json_pluck(
        &self,
        path: &JsonPath,
        fields: Vec<String>,
        skip: u64,
    ) -> Result<String, Error> {
        let fields: Fields = fields
            .into_iter()
            .map(|name| {
                let path = path_of(&name);
                (name, path)
            })
            .collect();
        let path = path.clone();
        self.ask(move |content, limits| {
            let mut listing = Listing::new(limits, skip);
            let mut without_fields: Option<String> = None;
            let mut any = false;
            let mut pluck = |path: &dyn Fn() -> String, element: &Value| {
                if listing.count() {
                    let (row, members) = row(&fields, element, listing.longest - 1);
                    if members == 0 {
                        without_fields.get_or_insert_with(|| described(element));
                    }
                    any |= members > 0;
                    let length = Some(counted(members, "key"));
                    listing.show_node(path(), "", &row, "object", length);
                }
            };
            // For `$` of JSON Lines, the records are the elements. Otherwise the elements of each matched array are.
            let records = content.all_records(&path).is_some();
            let elements = if records {
                path.children()?
            } else {
                path.clone()
            };
            content.select(&elements, &mut |place, node| match node {
                Value::Array(items) if !records => {
                    for (index, item) in items.iter().enumerate() {
                        pluck(&|| format!("{}[{index}]", place.path()), item);
                    }
                }
                element => pluck(&|| place.path(), element),
            })?;
            let summary = listing.summary("node", "", listing.next_skip());
            listing.notes(summary, content, &path);
            if let Some(element) = without_fields.filter(|_| !any) {
                listing.page.note(&format!(
                    "no element has any of these fields; the first element is {element}"
                ));
            }
            Ok(listing.page.finish())
        })
        .await
    }
}

fn path_of(field: &str) -> Option<JsonPath> {
    let field = field.trim();
    let path = match field.strip_prefix(['@', '$']) {
        Some(rest) => format!("${rest}"),
        None if field.starts_with(['.', '[']) => format!("${field}"),
        None => format!("$.{field}"),
    };
    JsonPath::parse(&path).ok()
}

/// Formats the fields of an element as compact JSON and returns them with their number. Stops soon after `most` bytes. A path
/// that is too expensive for this element is omitted.
fn row(fields: &Fields, element: &Value, most: usize) -> (String, u64) {
    let mut row = String::from("{");
    let mut members = 0;
    for (name, path) in fields {
        let (mut values, mut found, mut one) = (String::new(), 0, true);
        let mut add = |value: &Value| {
            values.push_str(if found == 0 { "" } else { "," });
            values.push_str(&value.to_string());
            found += 1;
            if row.len() + values.len() > most {
                Flow::Break(())
            } else {
                Flow::Continue(())
            }
        };
        if let Some(member) = element.get(name) {
            let _ = add(member);
        } else if let Some(path) = path {
            let _ = path.select(element, &mut |_, node| add(node));
            one = path.is_singular();
        }
        if found == 0 {
            continue;
        }
        let comma = if members == 0 { "" } else { "," };
        let (open, close) = if one { ("", "") } else { ("[", "]") };
        let name = Value::from(name.as_str());
        row.push_str(&format!("{comma}{name}:{open}{values}{close}"));
        members += 1;
        if row.len() > most {
            break;
        }
    }
    row.push('}');
    (row, members)
}
