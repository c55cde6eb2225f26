#!/usr/bin/env bash
# Runs the checks that build the product again, with other features or in another package. They take too long for `.ci/run`.
# Run this before a release, and after a change of features, of `#[tool]`, of `turnwright new` or of dependencies.
#
#   scripts/nightly.sh                     # everything
#   scripts/nightly.sh packages features   # only these parts
#
# Parts:
#   packages   compile errors of `#[tool]`, a package outside of the workspace, the package that `turnwright new` creates
#   features   each feature of each package alone
#   cases      property tests with all their cases
#   sqlx       whether the feature `sqlite` resolves, and stores a turn, beside the newest sqlx
#   types      whether TypeScript accepts the types of events (needs npm)
#   fresh      the README's two commands on a fresh clone with an empty cargo home
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

packages() {
  step 'packages that tests build'
  cargo test -p turnwright --all-features --test it -- --ignored
  cargo test -p turnwright-cli --all-features --test it -- --ignored new
}

features() {
  for manifest in crates/*/Cargo.toml; do
    package=$(basename "$(dirname "$manifest")")
    names=$(sed -n '/^\[features\]/,/^\[/{s/^\([a-z][a-z0-9_-]*\) *=.*/\1/p}' "$manifest")
    [ -n "$names" ] || continue
    step "$package without features"
    cargo check -p "$package" --no-default-features
    for name in $names; do
      step "$package with $name alone"
      cargo check -p "$package" --no-default-features --features "$name"
    done
  done
}

cases() {
  step 'all cases of property tests'
  export PROPTEST_CASES=1024 TURNWRIGHT_ENVELOPE_CASES=10000 TURNWRIGHT_TURN_CASES=4000 TURNWRIGHT_WIRE_CASES=3000
  cargo test --workspace --all-features --lib --tests
  TURNWRIGHT_CASES=10000 cargo test -p turnwright-schema --all-features --test it differential
}

sqlx() {
  step 'beside sqlx'
  scripts/resolve-beside-sqlx.sh
}

types() {
  step 'types for TypeScript'
  if command -v npx > /dev/null; then
    npx --yes -p typescript@5 tsc --strict --noEmit --target es2020 docs/src/events.ts
  else
    echo 'SKIPPED: npm is not installed, so that the types were not checked'
  fi
}

fresh() {
  step 'a fresh clone'
  scripts/fresh.sh
}

[ $# -gt 0 ] || set -- packages features cases sqlx types fresh
for part in "$@"; do
  case $part in
    packages | features | cases | sqlx | types | fresh) "$part" ;;
    *) echo "nightly.sh: unknown part '$part' (packages, features, cases, sqlx, types, fresh)" >&2 && exit 2 ;;
  esac
done
step 'done'
