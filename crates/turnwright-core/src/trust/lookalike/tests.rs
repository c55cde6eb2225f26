use super::*;

/// Characters are decomposed before the lookup, so an entry that decomposes to something else would have no effect.
#[test]
fn every_entry_is_found_after_decomposition() {
    assert!(DASHES.is_sorted());
    for c in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
        let alone = looks_beyond_ascii(c);
        if c.is_ascii() || matches!(alone, Looks::Other | Looks::Nothing) {
            continue;
        }
        let mut parts = Vec::new();
        for_each_part(c, |part| parts.push(looks(part)));
        parts.retain(|part| *part != Looks::Nothing);
        assert_eq!(parts, [alone], "U+{:04X}", u32::from(c));
    }
}
