//! Where conversations outlive their process: an embedded database for [Turnwright](https://github.com/turnwright/turnwright).
//!
//! Three things must last: the records, in [`sqlite::SqliteStore`]; the results of tools, in a folder beside it; and the secret,
//! if prompts are to stay as they were, byte for byte, for a provider's cache.
//!
//! ```
//! use turnwright_core::trust::ConversationSecret;
//! use turnwright_core::{BoxError, Conversation, DispatchContext, TurnRunner};
//! use turnwright_store::sqlite::SqliteStore;
//!
//! /// In the place of a model: it knows what it is shown.
//! async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
//!     ctx.answer(format!("That was message {}.", ctx.messages().len())).await?;
//!     Ok(())
//! }
//!
//! async fn say(folder: &std::path::Path, secret: [u8; 32], text: &str) -> Result<String, BoxError> {
//!     // Large results are stored beside it, in `chat.db.results`.
//!     let store = SqliteStore::open(folder.join("chat.db")).await?;
//!     let runner = TurnRunner::builder(model)
//!         .store(store.clone())
//!         .secret(ConversationSecret::from_bytes(secret))
//!         .remembering()
//!         .build()?;
//!     let answer = Conversation::new(&runner, "chat-1").say(text).await.into_answer()?;
//!     store.close().await?;
//!     Ok(answer)
//! }
//!
//! # let folder = std::env::temp_dir().join(format!("turnwright-doc-lib-{}", std::process::id()));
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! # std::fs::create_dir_all(&folder)?;
//! # let secret = [7; 32];
//! assert_eq!(say(&folder, secret, "Hello").await?, "That was message 1.");
//! // Another runner, and it might be another process: it goes on where the first was.
//! assert_eq!(say(&folder, secret, "Hello again").await?, "That was message 3.");
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), BoxError>(()) }).unwrap();
//! ```

pub mod sqlite;
