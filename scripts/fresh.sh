#!/usr/bin/env bash
# The README's two commands, on a fresh clone with an empty cargo home: what a new machine with Rust does. Says how long each took.
#
#   scripts/fresh.sh [FOLDER]    works in FOLDER, else in a temporary one, which is removed at the end
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"

rm -rf "$folder/clone" "$folder/cargo"
git clone --quiet "$root" "$folder/clone"
cd "$folder/clone"
# Nothing of this user's: no downloaded packages, no configuration, no built target.
export CARGO_HOME="$folder/cargo"
unset CARGO_TARGET_DIR RUSTFLAGS
# The vectors and recordings beside the checkout are not part of it.

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
