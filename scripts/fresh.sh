#!/usr/bin/env bash
# Runs the README's two commands on a fresh clone with an empty cargo home, like a new machine with Rust. Prints how long each took.
#
#   scripts/fresh.sh [FOLDER]    works in FOLDER (default: a temporary folder that is removed at the end)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"

rm -rf "$folder/clone" "$folder/cargo"
git clone --quiet "$root" "$folder/clone"
cd "$folder/clone"
# Isolated from this user: no downloaded packages, no configuration, no built target.
export CARGO_HOME="$folder/cargo"
unset CARGO_TARGET_DIR RUSTFLAGS
# The vectors and recordings next to the checkout are not part of it.

timed() {
  local command=$1 start=$SECONDS
  printf '\n$ %s\n' "$command"
  bash -c "$command" < /dev/null
  printf '\n== %s: %d s\n' "$command" $((SECONDS - start)) | tee -a "$folder/times"
}

: > "$folder/times"
timed "$(grep -m1 '^cargo run' README.md | sed 's/ *#.*//')"
timed "$(grep -m1 '^cargo test' README.md | sed 's/ *#.*//')"
printf '\nOn a fresh clone with an empty cargo home (%s cores):\n' "$(nproc)"
cat "$folder/times"
