//! Names that bite: patterns, quotes, case, white space, length.

use std::sync::Arc;

use turnwright_core::record::{Record, RecordKind};
use turnwright_core::store::{ConversationFilter, ConversationId, Query, Store, StoreExt as _};

use crate::store::outcome::{Outcome, ensure, ids as found_ids, same};
use crate::store::sample::{ledger, note};

/// Each looks like another to somebody: a pattern, a collation, a trim, a quote, a number.
const ODD: &[&str] = &[
    "a",
    "A",
    "á",
    "a\u{301}",
    "ａ",
    "a%",
    "a_",
    "%",
    "_",
    "ab",
    "a*",
    "?",
    "[a]",
    "'",
    "''",
    "\"",
    "`",
    "\\",
    "\\\\",
    "a\\%",
    "--",
    "; DROP TABLE x",
    "$1",
    "?1",
    ":a",
    "{}",
    "1",
    "01",
    "1.0",
    "0x1",
    "NULL",
    "null",
    "true",
    "ß",
    "ss",
    "SS",
    "İ",
    "i",
    "ı",
    "漢字",
    "🎉",
    "a/b",
    "a//b",
    "../a",
    "a b",
    "a  b",
];

/// What only a conversation or an idempotency key may be named.
const ODDER: &[&str] = &[
    " ",
    "a ",
    " a",
    "a\n",
    "\n",
    "\t",
    "\u{200b}",
    "a\u{200b}",
    "\u{feff}",
    "\u{1}",
    "\u{7f}",
];

fn long(end: &str) -> String {
    // As long as an id may be.
    "x".repeat(255) + end
}

pub(super) async fn ids(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let memories = ODD.iter().map(|id| (*id).to_owned());
    let memories: Vec<String> = memories.chain([long("a"), long("b")]).collect();
    let entries = ODD.iter().chain(ODDER).map(|id| (*id).to_owned());
    let longer = "turn ".repeat(200);
    let entries: Vec<String> = entries
        .chain([longer.clone() + "a", longer + "b"])
        .collect();
    for id in &memories {
        store
            .put(&conversation_id, note(id, &format!("of {id}"))?)
            .await?;
    }
    for id in &entries {
        store.put(&conversation_id, ledger(id, "begun")?).await?;
    }
    let of = |kind| Query::all().kind(kind);
    let found = found_ids(&*store, &conversation_id, &of(RecordKind::Memory)).await?;
    same("ids of memories", &found, &memories)?;
    let found = found_ids(&*store, &conversation_id, &of(RecordKind::Ledger)).await?;
    same("ids of the ledger", &found, &entries)?;
    for id in &memories {
        let found = store.get(&conversation_id, RecordKind::Memory, id).await?;
        let text = found.and_then(Record::into_memory);
        let text = text.map(|it| it.text().to_owned());
        same(
            &format!("the text of {id:?}"),
            text,
            Some(format!("of {id}")),
        )?;
    }
    // One after the other goes, and no other with it.
    for (n, id) in (1..).zip(&entries) {
        store
            .delete(&conversation_id, RecordKind::Ledger, id)
            .await?;
        let left = found_ids(&*store, &conversation_id, &of(RecordKind::Ledger)).await?;
        let promised = entries.iter().skip(n).cloned().collect();
        same(
            &format!("what is left after {id:?} was deleted"),
            left,
            promised,
        )?;
    }
    Ok(())
}

fn scope_names() -> Vec<String> {
    let short = ODD.iter().chain(ODDER).chain([&""]);
    let short = short.map(|name| (*name).to_owned());
    short.chain([long("a"), long("b")]).collect()
}

pub(super) async fn conversations(store: Arc<dyn Store>) -> Outcome {
    let names = scope_names();
    for name in &names {
        let text = format!("of {name}");
        store
            .put(&ConversationId::new(name.as_str()), note("x", &text)?)
            .await?;
    }
    for name in &names {
        let found = store.memories(&ConversationId::new(name.as_str())).await?;
        let found: Vec<String> = found.iter().map(|it| it.text().to_owned()).collect();
        same(
            &format!("texts of the conversation {name:?}"),
            found,
            vec![format!("of {name}")],
        )?;
    }
    let mut promised: Vec<ConversationId> = names
        .iter()
        .map(|name| ConversationId::new(name.as_str()))
        .collect();
    promised.sort();
    let found = store.conversations(&ConversationFilter::all()).await?;
    same("conversations", found, promised)
}

pub(super) async fn prefixes(store: Arc<dyn Store>) -> Outcome {
    let names = scope_names();
    for name in &names {
        store
            .put(&ConversationId::new(name.as_str()), note("x", "x")?)
            .await?;
    }
    for prefix in &names {
        let begins = names.iter().filter(|name| name.starts_with(prefix));
        let mut promised: Vec<ConversationId> = begins
            .map(|name| ConversationId::new(name.as_str()))
            .collect();
        promised.sort();
        let filter = ConversationFilter::all().prefix(prefix.as_str());
        let found = store.conversations(&filter).await?;
        same(
            &format!("conversations that begin with {prefix:?}"),
            found,
            promised,
        )?;
    }
    Ok(())
}

pub(super) async fn nul(store: Arc<dyn Store>) -> Outcome {
    let plain = ConversationId::new("a");
    store.put(&plain, note("x", "plain")?).await?;
    store.put(&plain, ledger("k", "begun")?).await?;
    let with = ConversationId::new("a\0b");
    if store.put(&with, note("x", "with")?).await.is_ok() {
        let found = store.memories(&with).await?;
        let found = found.first().map(|it| it.text().to_owned());
        same(
            "the text in a conversation with a NUL",
            found,
            Some("with".to_owned()),
        )?;
    }
    if store.put(&plain, ledger("k\0", "done")?).await.is_ok() {
        let found = store.get(&plain, RecordKind::Ledger, "k\0").await?;
        ensure(found.is_some(), || {
            "an id with a NUL was taken and is not there".to_owned()
        })?;
    }
    let found = store.memories(&plain).await?;
    let found: Vec<_> = found.iter().map(|it| it.text().to_owned()).collect();
    same(
        "the texts of the conversation \"a\"",
        found,
        vec!["plain".to_owned()],
    )?;
    let unfinished = store.unfinished(&plain).await?;
    let only = unfinished.first().map(|entry| entry.id().to_owned());
    ensure(
        unfinished.len() == 1 && only.as_deref() == Some("k"),
        || "the id \"k\\0\" was taken for \"k\"".to_owned(),
    )
}
