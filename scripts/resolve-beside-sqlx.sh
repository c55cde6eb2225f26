#!/usr/bin/env bash
# Resolves a package that depends on Turnwright with the feature `sqlite` and on the newest sqlx, and runs a stored turn in it. A
# build can contain only one version of `libsqlite3-sys`, so the range of rusqlite in Cargo.toml must include a version that sqlx
# accepts. Needs the package registry.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cd "$folder"
cargo init --quiet --vcs none --name beside-sqlx
cargo add --quiet --path "$root/crates/turnwright" --features sqlite
cargo add --quiet tokio --features macros,rt-multi-thread
for features in default default,postgres,runtime-tokio default,sqlite,runtime-tokio; do
  cargo add --quiet sqlx --features "$features"
  cargo generate-lockfile --quiet
  printf '%s: ' "$features"
  sed -n '/^name = "\(sqlx\|rusqlite\|libsqlite3-sys\)"$/{N;s/name = "\(.*\)"\nversion = "\(.*\)"/\1 \2/p}' Cargo.lock | paste -sd ' '
done

cat > src/main.rs <<'RUST'
use turnwright::store::{ConversationId, StoreExt as _};
use turnwright::sqlite::SqliteStorage as _;
use turnwright::{DispatchContext, Storage, TurnInput};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let storage = Storage::sqlite("turns.db").await?;
    let executor = |ctx: DispatchContext| async move {
        ctx.answer("Hello.").await?;
        Ok(())
    };
    let runner = turnwright::runner(executor).storage(storage.clone()).build()?;
    runner.run(TurnInput::new("Hello!").conversation("chat-1")).await.into_answer()?;
    assert_eq!(storage.store().messages(&ConversationId::new("chat-1")).await?.len(), 2);
    println!("a turn was stored");
    Ok(())
}
RUST
cargo run --quiet
