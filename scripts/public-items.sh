#!/usr/bin/env bash
# Counts the items that users of each library crate can reach, by rustdoc's JSON. Hidden items do not count.
#
#   scripts/public-items.sh                                      # all library crates
#   scripts/public-items.sh turnwright-core                      # some of them
#
# `items` are types, traits with their items, functions, methods, constants and modules, each once, however many paths it has.
# `fields` and `variants` are counted apart.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -eq 0 ]; then
  set -- turnwright-schema turnwright-artifact turnwright-core turnwright-models turnwright-sqlite turnwright-testkit turnwright-cli turnwright
fi

# A folder of its own: build scripts decide differently with `RUSTC_BOOTSTRAP`, and other builds would take what they decided.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/public-items
target=$CARGO_TARGET_DIR
for crate in "$@"; do
  RUSTC_BOOTSTRAP=1 cargo rustdoc --quiet --package "$crate" --lib --all-features -- -Z unstable-options --output-format json
  python3 - "$target/doc/${crate//-/_}.json" <<'PYTHON'
import json, sys
from collections import Counter

document = json.load(open(sys.argv[1]))
index, counts, seen = document["index"], Counter(), set()

def get(id):
    return index.get(str(id)) if id is not None else None

def add(kind, id):
    if id in seen:
        return False
    seen.add(id)
    counts[kind] += 1
    return True

def add_all(kind, ids):
    for id in ids:
        item = get(id)
        if item and item["visibility"] in ("public", "default"):
            add(kind, id)

def methods(impls):
    for impl in filter(None, map(get, impls)):
        impl = impl["inner"]["impl"]
        if impl["trait"] is None:
            public = [id for id in impl["items"] if get(id) and get(id)["visibility"] == "public"]
            add_all("methods and constants", public)

def visit(id):
    item = get(id)
    if not item:
        return
    (kind, inner), = item["inner"].items()
    if kind == "use":
        if get(inner["id"]) is None:
            counts["re-exports of other crates"] += 1
        visit(inner["id"])
    elif kind == "module":
        if id in seen:
            return
        add("modules" if id != document["root"] else "root", id)
        for child in inner["items"]:
            visit(child)
    elif add({"function": "functions", "trait": "traits"}.get(kind, "types and constants"), id):
        if kind == "struct":
            shape = inner["kind"]
            if isinstance(shape, dict):
                fields = shape.get("tuple") or shape.get("plain", {}).get("fields", [])
                add_all("fields", [id for id in fields if get(id) and get(id)["visibility"] == "public"])
            methods(inner["impls"])
        elif kind == "enum":
            add_all("variants", inner["variants"])
            methods(inner["impls"])
        elif kind == "trait":
            add_all("trait items", inner["items"])

visit(document["root"])
apart = ("root", "fields", "variants", "re-exports of other crates")
items = sum(count for kind, count in counts.items() if kind not in apart)
name = index[str(document["root"])]["name"]
rest = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()) if kind != "root")
print(f"{name}: {items} items ({rest})")
PYTHON
done
