#!/usr/bin/env bash
# Resolves a package that depends on Turnwright with the feature `sqlite` and on the newest sqlx. A build can contain only one
# version of `libsqlite3-sys`, so the range of rusqlite in Cargo.toml must include a version that sqlx accepts. Needs the package
# registry. Compiles nothing.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cd "$folder"
cargo init --quiet --vcs none --name beside-sqlx
cargo add --quiet --path "$root/crates/turnwright" --features sqlite
for features in default default,postgres,runtime-tokio default,sqlite,runtime-tokio; do
  cargo add --quiet sqlx --features "$features"
  cargo generate-lockfile --quiet
  printf '%s: ' "$features"
  sed -n '/^name = "\(sqlx\|rusqlite\|libsqlite3-sys\)"$/{N;s/name = "\(.*\)"\nversion = "\(.*\)"/\1 \2/p}' Cargo.lock | paste -sd ' '
done
