//! Conversations, and listing them.

use turnwright_core::store::{
    Batch, ConversationFilter, ConversationId, FoundConversation, Revision, Store as _,
    StoreExt as _,
};

use crate::store::chat::Chat;
use crate::store::outcome::{Broken, Outcome, ensure, same};

pub(super) async fn apart(a: Chat) -> Outcome {
    let b = a.other("b");
    a.note("x", "of a").await?;
    b.note("x", "of b").await?;
    same("revision of b", b.note("y", "of b").await?, Revision(2))?;
    a.delete("y").await?;
    a.has_texts("texts of a", ["of a"]).await?;
    a.store.delete_conversation(&a.id).await?;
    a.has_ids("ids of a", []).await?;
    b.has_texts("texts of b", ["of b", "of b"]).await
}

pub(super) fn ids_of(found: Vec<FoundConversation>) -> Vec<ConversationId> {
    found.into_iter().map(|found| found.id).collect()
}

const NAMES: [&str; 12] = [
    "user/2", "user/10", "User/1", "user/1", "user", "users", "a", "Z", "é", "e", "zz", "user/1/a",
];

async fn filled(chat: &Chat) -> Result<Vec<ConversationId>, Broken> {
    for name in NAMES {
        chat.other(name).note("x", "x").await?;
    }
    let mut all = NAMES.map(ConversationId::new).to_vec();
    all.sort();
    Ok(all)
}

pub(super) async fn listed(chat: Chat) -> Outcome {
    let all = filled(&chat).await?;
    let emptied = chat.other("user/5");
    emptied.note("x", "x").await?;
    emptied.delete("x").await?;
    // Written, but without records.
    chat.other("user/6").apply(Batch::new()).await?;
    chat.other("user/7").delete("x").await?;
    let found = chat.store.conversations(&ConversationFilter::all()).await?;
    same("conversations", ids_of(found), all)
}

pub(super) async fn combined(chat: Chat) -> Outcome {
    let all = filled(&chat).await?;
    let prefixes = ["", "user", "user/", "u", "nobody"].map(Some);
    let afters = ["user", "user/1", "user/3", "", "~"].map(Some);
    for prefix in prefixes.into_iter().chain([None]) {
        for after in afters.into_iter().chain([None]) {
            for limit in [None, Some(0), Some(1), Some(2), Some(100)] {
                let mut filter = ConversationFilter::all();
                filter.prefix = prefix.map(str::to_owned);
                filter.after = after.map(ConversationId::new);
                filter.limit = limit;
                let fits = |id: &&ConversationId| {
                    id.as_str().starts_with(prefix.unwrap_or_default())
                        && after.is_none_or(|after| id.as_str() > after)
                };
                let promised = all.iter().filter(fits).take(limit.unwrap_or(usize::MAX));
                let promised: Vec<_> = promised.cloned().collect();
                let found = ids_of(chat.store.conversations(&filter).await?);
                same(&format!("{filter:?}"), found, promised)?;
            }
        }
    }
    let mut found: Vec<ConversationId> = Vec::new();
    loop {
        let mut filter = ConversationFilter::all().limit(5);
        filter.after = found.last().cloned();
        let page = ids_of(chat.store.conversations(&filter).await?);
        if page.is_empty() {
            return same("all pages of conversations", found, all);
        }
        found.extend(page);
        ensure(found.len() <= all.len(), || {
            "pages of conversations do not end: `after` and `limit` do not work together".to_owned()
        })?;
    }
}
