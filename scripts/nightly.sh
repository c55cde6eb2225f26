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
#   sqlx       whether the feature `sqlite` resolves beside the newest sqlx
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

fresh() {
  step 'a fresh clone'
  scripts/fresh.sh
}

[ $# -gt 0 ] || set -- packages features cases sqlx fresh
for part in "$@"; do
  case $part in
    packages | features | cases | sqlx | fresh) "$part" ;;
    *) echo "nightly.sh: unknown part '$part' (packages, features, cases, sqlx, fresh)" >&2 && exit 2 ;;
  esac
done
step 'done'
