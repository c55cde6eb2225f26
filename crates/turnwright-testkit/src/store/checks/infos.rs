//! Infos of conversations, and listing by them.

use turnwright_core::record::{ConversationInfo, RecordKind};
use turnwright_core::store::{
    Batch, ConversationFilter, FoundConversation, Store as _, StoreExt as _,
};

use crate::store::chat::Chat;
use crate::store::outcome::{Outcome, ensure, same};
use crate::store::sample::{info_of, of_kind};

fn names(found: &[FoundConversation]) -> Vec<&str> {
    found.iter().map(|found| found.id.as_str()).collect()
}

async fn filled(chat: &Chat) -> Outcome {
    let infos = [
        (
            "b",
            info_of(Some("ada"), &[("state", "open"), ("team", "x")]),
        ),
        ("a", info_of(Some("ada"), &[("state", "closed")])),
        ("c", info_of(Some("Ada"), &[("state", "open")])),
        ("d/1", info_of(None, &[("state", "open"), ("team", "x")])),
        (
            "d/2",
            info_of(Some("ada"), &[("State", "open"), ("team", "%")]),
        ),
        ("d/3", info_of(Some("ada "), &[])),
    ];
    for (conversation, info) in infos {
        chat.other(conversation).put(info?).await?;
    }
    chat.other("none").note("x", "x").await?;
    // Only one id counts.
    let other = of_kind(RecordKind::ConversationInfo, "another id")?;
    chat.other("other").put(other).await?;
    Ok(())
}

pub(super) async fn conditions(chat: Chat) -> Outcome {
    filled(&chat).await?;
    let all = ConversationFilter::all;
    let ada = || all().owner("ada");
    let open = || all().label("state", "open");
    let after = |filter: ConversationFilter, id| filter.after(chat.other(id).id);
    let cases: [(ConversationFilter, &[&str]); 18] = [
        (
            all(),
            &["a", "b", "c", "d/1", "d/2", "d/3", "none", "other"],
        ),
        (ada(), &["a", "b", "d/2"]),
        (all().owner("Ada"), &["c"]),
        (all().owner("bob"), &[]),
        (all().owner(""), &[]),
        (all().owner("%"), &[]),
        (open(), &["b", "c", "d/1"]),
        (open().label("team", "x"), &["b", "d/1"]),
        (
            all().label("team", "x").label("state", "open"),
            &["b", "d/1"],
        ),
        (open().label("state", "closed"), &[]),
        (open().label("state", "open"), &["b", "c", "d/1"]),
        (all().label("team", "%"), &["d/2"]),
        (all().label("team", ""), &[]),
        (open().owner("ada"), &["b"]),
        (ada().prefix("d/"), &["d/2"]),
        (open().prefix("d/"), &["d/1"]),
        (after(ada(), "a").limit(1), &["b"]),
        (after(open(), "b").limit(5), &["c", "d/1"]),
    ];
    for (filter, promised) in cases {
        let found = chat.store.conversations(&filter).await?;
        same(&format!("{filter:?}"), names(&found), promised)?;
    }
    Ok(())
}

pub(super) async fn pages(chat: Chat) -> Outcome {
    filled(&chat).await?;
    let all = ConversationFilter::all;
    let filters = [
        all(),
        all().owner("ada"),
        all().label("state", "open"),
        all().owner("ada").label("state", "open"),
        all().owner("ada").prefix("d"),
    ];
    for filter in filters {
        let promised = chat.store.conversations(&filter).await?;
        for size in 1..=4 {
            let mut filter = filter.clone().limit(size);
            let mut found = Vec::new();
            loop {
                let page = chat.store.conversations(&filter).await?;
                ensure(page.len() <= size, || {
                    format!("a page of {size} has {}", page.len())
                })?;
                let Some(last) = page.last() else { break };
                filter = filter.after(last.id.clone());
                found.extend(page);
                ensure(found.len() <= promised.len(), || {
                    "pages of conversations do not end: `after` and `limit` do not go together"
                        .to_owned()
                })?;
            }
            let what = format!("all pages of {size}");
            same(&what, names(&found), names(&promised))?;
        }
    }
    Ok(())
}

pub(super) async fn contents(chat: Chat) -> Outcome {
    filled(&chat).await?;
    for found in chat.store.conversations(&ConversationFilter::all()).await? {
        let what = format!("the info of {:?}", found.id);
        let stored = chat.store.conversation_info(&found.id).await?;
        let named = matches!(found.id.as_str(), "none" | "other");
        same(&what, stored.is_none(), named)?;
        same(&what, found.info == stored, true)?;
        same("damaged infos", found.damaged.is_some(), false)?;
    }
    Ok(())
}

pub(super) async fn updates(chat: Chat) -> Outcome {
    let ada = ConversationFilter::all().owner("ada");
    let open = ConversationFilter::all().label("state", "open");
    let put = |owner, labels: &[_]| info_of(owner, labels).map(|info| Batch::new().put(info));
    let delete = || Batch::new().delete(RecordKind::ConversationInfo, ConversationInfo::ID);
    let steps = [
        (put(Some("ada"), &[])?, [1, 0]),
        (put(Some("ada"), &[("state", "open")])?, [1, 1]),
        (
            put(Some("bob"), &[("state", "open"), ("team", "x")])?,
            [0, 1],
        ),
        (put(Some("ada"), &[("state", "closed")])?, [1, 0]),
        (put(None, &[("state", "open")])?, [0, 1]),
        (delete(), [0, 0]),
        (put(Some("ada"), &[("state", "open")])?, [1, 1]),
        (delete().put(of_kind(RecordKind::Memory, "m")?), [0, 0]),
        (put(Some("ada"), &[("state", "open")])?, [1, 1]),
    ];
    for (batch, promised) in steps {
        let what = format!("conversations after {:?}", batch.changes);
        chat.apply(batch).await?;
        for (filter, promised) in [&ada, &open].into_iter().zip(promised) {
            let found = chat.store.conversations(filter).await?;
            same(&what, found.len(), promised)?;
        }
    }
    chat.store.delete_conversation(&chat.id).await?;
    for filter in [&ada, &open] {
        let found = chat.store.conversations(filter).await?;
        same("conversations after the deletion", found.len(), 0)?;
    }
    Ok(())
}
