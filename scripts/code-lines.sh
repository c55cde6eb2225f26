#!/usr/bin/env bash
# Counts the code of each package: lines of `src` that are neither blank nor comments, without tests (`tests.rs`, `tests/`, and
# modules marked `#[cfg(test)]`). With a commit it counts that one: `scripts/code-lines.sh 67490dcd`.
set -euo pipefail
cd "$(dirname "$0")/.."

tree=.
if [[ $# -gt 0 ]]; then
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  git archive "$1" crates | tar -x -C "$tree"
fi

cd "$tree"
find crates -name '*.rs' -path '*/src/*' | grep -vE '/src/(.*/)?(tests?(/|\.rs$))|_tests\.rs$' | sort | xargs awk '
  FNR == 1 { comment = 0; marked = 0; module_end = "" }
  module_end != "" { if ($0 == module_end) module_end = ""; next }
  comment { if (/\*\//) comment = 0; next }
  /^[ \t]*\/\*/ { comment = !/\*\//; next }
  marked && /^[ \t]*(pub(\([a-z]+\))? )?mod [a-z_0-9]+ \{$/ { count[package]--; sum--; module_end = $0; sub(/[^ ].*/, "}", module_end); marked = 0; next }
  /^[ \t]*$/ || /^[ \t]*\/\// { next }
  { split(FILENAME, path, "/"); package = path[2]; count[package]++; sum++; marked = /^[ \t]*#\[cfg\(test\)\]$/ }
  END { for (name in count) printf "%7d %s\n", count[name], name | "sort -rn"; close("sort -rn"); printf "%7d in all\n", sum }
'
