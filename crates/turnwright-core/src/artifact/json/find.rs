//! Nodes: `json_get`, `json_filter`, `json_slice`.

use serde_json::Value;

use super::SpooledJsonArtifact;
use super::answer::{JsonNode, JsonNodes, JsonType, Listing, compact};
use super::content::Content;
use super::path::{Flow, JsonPath, shorten};
use super::records::Records;
use crate::error::Error;

impl SpooledJsonArtifact {
    /// The nodes that a path leads to, from the `skip`th on.
    ///
    /// # Errors
    /// `E_ARTIFACT_MALFORMED`, `E_ARTIFACT_TOO_LARGE`, `E_ARTIFACT_UNREADABLE`; `E_ARTIFACT_QUERY` if the path takes too
    /// many steps.
    pub async fn json_get(&self, path: &JsonPath, skip: u64) -> Result<JsonNodes, Error> {
        self.nodes(path.clone(), skip, go_on_with_skip).await
    }

    /// The elements or members of what a path leads to for which a condition holds (see [`JsonPath::filtered`]), from the
    /// `skip`th on.
    ///
    /// # Errors
    /// As for [`SpooledJsonArtifact::json_get`]; `E_ARTIFACT_QUERY` too if the condition is none.
    pub async fn json_filter(
        &self,
        path: &JsonPath,
        condition: &str,
        skip: u64,
    ) -> Result<JsonNodes, Error> {
        self.nodes(path.filtered(condition)?, skip, go_on_with_skip)
            .await
    }

    /// The elements of a range of the array that a path leads to. Negative numbers count from the end.
    ///
    /// # Errors
    /// As for [`SpooledJsonArtifact::json_get`]; `E_ARTIFACT_QUERY` too if the step is 0.
    pub async fn json_slice(
        &self,
        path: &JsonPath,
        start: Option<i64>,
        end: Option<i64>,
        step: Option<i64>,
    ) -> Result<JsonNodes, Error> {
        if step == Some(0) {
            let message = "A step of 0 leads nowhere: use 1 to go forward, -1 to go backward.";
            return Err(Error::bad_artifact_query(message));
        }
        let one_array = path.is_singular();
        self.nodes(path.sliced(start, end, step)?, 0, move |listing, path| {
            if one_array {
                go_on_with_start(listing, step.unwrap_or(1))
            } else {
                let skip = listing.next_skip()?;
                let path = shorten(&path.to_string(), 100);
                Some(format!(
                    "go on with artifact_json_get path={path} skip={skip}"
                ))
            }
        })
        .await
    }

    async fn nodes(
        &self,
        path: JsonPath,
        skip: u64,
        go_on: impl FnOnce(&Listing<JsonNode>, &JsonPath) -> Option<String> + Send + 'static,
    ) -> Result<JsonNodes, Error> {
        self.ask(move |content, limits| {
            let mut listing = Listing::new(limits, skip);
            match content.all_records(&path) {
                Some(records) => offer_all(&mut listing, records)?,
                None => content.select(&path, &mut |place, node| {
                    listing.offer(|| place.path(), node);
                    Flow::Continue(())
                })?,
            }
            notes(&mut listing, content, &path, go_on);
            Ok(listing.into_nodes())
        })
        .await
    }
}

/// All records as one node: the array of them, or its beginning.
fn offer_all(listing: &mut Listing<JsonNode>, records: &mut Records<'_>) -> Result<(), Error> {
    let most = listing.longest();
    let mut kept = Vec::new();
    let mut text = String::from("[");
    let mut fits = true;
    let _ = records.each(&mut |index, record| {
        if fits {
            text.push_str(if index == 0 { "" } else { "," });
            let left = most.saturating_sub(text.len());
            match compact(&record, left) {
                Ok(part) => {
                    text.push_str(&part);
                    kept.push(record);
                }
                Err(part) => {
                    text.push_str(&part);
                    kept.clear();
                    fits = false;
                }
            }
        }
        Flow::Continue(())
    })?;
    let all = Value::Array(kept);
    if fits && compact(&all, most.saturating_sub("$: ".len())).is_ok() {
        listing.offer(|| "$".to_owned(), &all);
    } else if listing.count() {
        let content = listing.beginning(JsonType::Array, Some(records.count()?), &text);
        listing.show_beginning("$".to_owned(), "$: ", content);
    }
    Ok(())
}

/// Which nodes these are, how to go on, and what was left out: the most needed first, since notes have little room.
pub(super) fn notes(
    listing: &mut Listing<JsonNode>,
    content: &Content<'_>,
    path: &JsonPath,
    go_on: impl FnOnce(&Listing<JsonNode>, &JsonPath) -> Option<String>,
) {
    let mut first = listing.summary("node");
    if let Some(go_on) = go_on(listing, path) {
        first = first.map(|summary| format!("{summary}: {go_on}"));
    }
    if let Some(first) = first {
        listing.note(&first);
    } else {
        let path_text = shorten(&path.to_string(), 100);
        let why = content
            .astray(path)
            .map_or_else(String::new, |why| format!("; {why}"));
        listing.note(&format!("`{path_text}` leads to nothing{why}"));
    }
    if let Some(path) = listing.first_shortened() {
        let path = shorten(path, 80);
        listing.note(&format!(
            "shortened values are larger than an answer: look inside with artifact_json_keys path={path}, \
             artifact_json_slice, or a deeper path"
        ));
    }
    if let Some(note) = content.note() {
        listing.note(&note);
    }
}

pub(super) fn go_on_with_skip(listing: &Listing<JsonNode>, _: &JsonPath) -> Option<String> {
    let skip = listing.next_skip()?;
    Some(format!("go on with skip={skip}"))
}

fn go_on_with_start(listing: &Listing<JsonNode>, step: i64) -> Option<String> {
    listing.next_skip()?;
    let last = listing.items.last()?.path.strip_suffix(']')?;
    let index: i64 = last.rsplit_once('[')?.1.parse().ok()?;
    let start = index.checked_add(step).filter(|start| *start >= 0)?;
    Some(format!("go on with start={start}"))
}
