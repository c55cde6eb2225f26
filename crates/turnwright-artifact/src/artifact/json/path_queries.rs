//! The queries `json_get`, `json_filter` and `json_slice`.

use super::SpooledJsonArtifact;
use super::page::Listing;
use super::path::JsonPath;
use super::records::Records;
use crate::error::Error;
use crate::schema::{clip, counted};

impl SpooledJsonArtifact {
    /// Returns the nodes that a path matches, one per line, starting with node `skip`.
    ///
    /// # Errors
    /// - `E_ARTIFACT_MALFORMED` if the content is not JSON.
    /// - `E_ARTIFACT_TOO_LARGE` if the content is too large to parse.
    /// - `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
    /// - `E_ARTIFACT_QUERY` if evaluating the path takes too many steps.
    pub async fn json_get(&self, path: &JsonPath, skip: u64) -> Result<String, Error> {
        self.nodes(path.clone(), skip, Listing::next_skip).await
    }

    /// Returns the elements or members at a path that satisfy a condition, starting with match
    /// `skip`.
    ///
    /// # Errors
    /// See [`SpooledJsonArtifact::json_get`]. Also returns `E_ARTIFACT_QUERY` if the condition is invalid.
    pub async fn json_filter(
        &self,
        path: &JsonPath,
        condition: &str,
        skip: u64,
    ) -> Result<String, Error> {
        self.nodes(path.filtered(condition)?, skip, Listing::next_skip)
            .await
    }

    /// Returns a range of elements of the array at a path. Negative numbers count from the end.
    ///
    /// # Errors
    /// See [`SpooledJsonArtifact::json_get`]. Also returns `E_ARTIFACT_QUERY` if the step is 0.
    pub async fn json_slice(
        &self,
        path: &JsonPath,
        start: Option<i64>,
        end: Option<i64>,
        step: Option<i64>,
    ) -> Result<String, Error> {
        if step == Some(0) {
            let message = "`step` must not be 0. Use 1 to go forward or -1 to go backward.";
            return Err(Error::bad_artifact_query(message));
        }
        let one_array = path.is_singular();
        let sliced = path.sliced(start, end, step)?;
        let path = clip(&sliced.to_string(), 100);
        self.nodes(sliced, 0, move |listing| {
            let skip = listing.next_skip()?;
            if !one_array {
                return Some(format!("artifact_json_get path={path} {skip}"));
            }
            let last = listing.last.strip_suffix(']')?;
            let index: i64 = last.rsplit_once('[')?.1.parse().ok()?;
            let start = index.checked_add(step.unwrap_or(1))?;
            (start >= 0).then(|| format!("start={start}"))
        })
        .await
    }

    async fn nodes(
        &self,
        path: JsonPath,
        skip: u64,
        next: impl FnOnce(&Listing) -> Option<String> + Send + 'static,
    ) -> Result<String, Error> {
        self.ask(move |content, limits| {
            let mut listing = Listing::new(limits, skip);
            match content.all_records(&path) {
                Some(records) => offer_all(&mut listing, records)?,
                None => content.select(&path, &mut |place, node| {
                    listing.offer(|| place.path(), node);
                })?,
            }
            let summary = listing.summary("node", "", next(&listing));
            listing.notes(summary, content, &path);
            Ok(listing.page.finish())
        })
        .await
    }
}

/// Adds all records as a single node: the array of records, shortened if necessary.
fn offer_all(listing: &mut Listing, records: &mut Records<'_>) -> Result<(), Error> {
    let mut text = String::from("[");
    records.each(&mut |index, record| {
        if text.len() <= listing.longest {
            text.push_str(if index == 0 { "" } else { "," });
            text.push_str(&record.to_string());
        }
    })?;
    text.push(']');
    if listing.count() {
        let length = counted(records.count()?, "element");
        listing.show_node("$".to_owned(), "$: ", &text, "array", Some(length));
    }
    Ok(())
}
