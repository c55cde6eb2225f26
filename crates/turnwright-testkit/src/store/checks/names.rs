//! Difficult names: patterns, quotes, case, white space, length.

use turnwright_core::record::{Memory, Record, RecordKind};
use turnwright_core::store::{
    ConversationFilter, ConversationId, Query, Store as _, StoreExt as _,
};

use super::conversations::ids_of;
use crate::store::chat::Chat;
use crate::store::outcome::{Broken, Outcome, same};
use crate::store::sample::ledger;

/// Each looks like another one under some rule: a pattern, a collation, trimming, quoting, a number.
const ODD: &[&str] = &[
    "a", "A", "á", "a\u{301}", "ａ", "a%", "a_", "%", "_", "ab", "a*", "?", "[a]", "'", "''", "\"",
    "`", "\\", "\\\\", "a\\%", "--", "; DROP x", "$1", "?1", ":a", "{}", "1", "01", "1.0", "0x1",
    "NULL", "null", "true", "ß", "ss", "SS", "İ", "i", "ı", "漢字", "🎉", "a/b", "a//b", "../a",
    "a b", "a  b",
];

/// Names that only conversations and idempotency keys may have.
const ODDER: &[&str] = &[
    " ", "a ", " a", "a\n", "\n", "\t", "\u{200b}", "a\u{ad}", "\u{feff}", "\u{1}", "\u{7f}",
];

/// Returns a name of the maximum length minus one character.
fn long() -> String {
    "x".repeat(255)
}

fn names(short: &[&[&str]], long: &str) -> Vec<String> {
    let long = ["a", "b"].map(|end| format!("{long}{end}"));
    let short = short.concat().into_iter().map(str::to_owned);
    short.chain(long).collect()
}

pub(super) async fn ids(chat: Chat) -> Outcome {
    let memories = names(&[ODD], &long());
    let entries = names(&[ODD, ODDER], &"turn ".repeat(200));
    for id in &memories {
        chat.note(id, &format!("of {id}")).await?;
    }
    for id in &entries {
        chat.put(ledger(id, "started")?).await?;
    }
    let of = |kind| Query::all().kind(kind);
    let found = chat.ids(&of(RecordKind::Memory)).await?;
    same("ids of memories", &found, &memories)?;
    let found = chat.ids(&of(RecordKind::Ledger)).await?;
    same("ids of the ledger", &found, &entries)?;
    for id in &memories {
        let found = chat.get(RecordKind::Memory, id).await?;
        let text = found.and_then(Record::downcast::<Memory>);
        let text = text.map(|memory| memory.text().to_owned());
        same(
            &format!("the text of {id:?}"),
            text,
            Some(format!("of {id}")),
        )?;
    }
    // Deletes one after the other, and no other with it.
    for (n, id) in (1..).zip(&entries) {
        chat.store.delete(&chat.id, RecordKind::Ledger, id).await?;
        let left = chat.ids(&of(RecordKind::Ledger)).await?;
        let promised = entries.get(n..).unwrap_or_default();
        same(
            &format!("what is left after {id:?} was deleted"),
            left,
            promised,
        )?;
    }
    Ok(())
}

/// Writes to a conversation for each difficult name. Returns the names.
async fn filled(chat: &Chat) -> Result<Vec<String>, Broken> {
    let names = names(&[ODD, ODDER, &[""]], &long());
    for name in &names {
        chat.other(name).note("x", &format!("of {name}")).await?;
    }
    Ok(names)
}

/// Asserts that the conversations whose names start with `prefix` are listed in byte order.
async fn listed(
    chat: &Chat,
    filter: ConversationFilter,
    names: &[String],
    prefix: &str,
) -> Outcome {
    let begin = names.iter().filter(|name| name.starts_with(prefix));
    let mut promised: Vec<_> = begin
        .map(|name| ConversationId::new(name.as_str()))
        .collect();
    promised.sort();
    let found = ids_of(chat.store.conversations(&filter).await?);
    same(
        &format!("conversations that start with {prefix:?}"),
        found,
        promised,
    )
}

pub(super) async fn conversations(chat: Chat) -> Outcome {
    let names = filled(&chat).await?;
    for name in &names {
        let what = format!("texts of the conversation {name:?}");
        let found = chat.other(name).texts().await?;
        same(&what, found, [format!("of {name}")])?;
    }
    listed(&chat, ConversationFilter::all(), &names, "").await
}

pub(super) async fn prefixes(chat: Chat) -> Outcome {
    let names = filled(&chat).await?;
    for prefix in &names {
        let filter = ConversationFilter::all().prefix(prefix.as_str());
        listed(&chat, filter, &names, prefix).await?;
    }
    Ok(())
}

pub(super) async fn nul(chat: Chat) -> Outcome {
    let plain = chat.other("a");
    plain.note("x", "plain").await?;
    plain.put(ledger("k", "started")?).await?;
    let with = chat.other("a\0b");
    if with.note("x", "with").await.is_ok() {
        with.has_texts("the texts in a conversation with a NUL", ["with"])
            .await?;
    }
    if plain.put(ledger("k\0", "done")?).await.is_ok() {
        let found = plain.get(RecordKind::Ledger, "k\0").await?;
        same("whether an id with a NUL is found", found.is_some(), true)?;
    }
    plain
        .has_texts("the texts of the conversation \"a\"", ["plain"])
        .await?;
    let unfinished = plain.store.unfinished(&plain.id).await?;
    let unfinished: Vec<&str> = unfinished.iter().map(|entry| entry.id()).collect();
    same(
        "unfinished entries next to the id \"k\\0\"",
        unfinished,
        ["k"],
    )
}
