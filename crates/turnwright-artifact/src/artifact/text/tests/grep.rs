//! Matching and how matches are shown.

use proptest::prelude::*;

use super::{answering, hostile, lines_of, text, wait};
use crate::ErrorCode;
use crate::artifact::text::Grep;

fn answer(content: &str, grep: &Grep) -> String {
    wait(text(content).grep(grep)).unwrap().to_page()
}

fn count(content: &[u8], grep: &Grep) -> u64 {
    wait(text(content).grep(grep)).unwrap().total
}

fn refused(grep: &Grep) -> String {
    let error = wait(text("a").grep(grep)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ARTIFACT_QUERY);
    error.model_text().to_owned()
}

const LOG: &str = "boot\nERROR disk\nok 1\nok 2\nok 3\nerror net\nok 4\nERROR cpu\nend\n";

#[test]
fn matching_lines_have_their_numbers() {
    assert_eq!(
        answer(LOG, &Grep::new("ERROR")),
        "1:ERROR disk\n7:ERROR cpu"
    );
    assert_eq!(answer(LOG, &Grep::new("^o.*[24]$")), "3:ok 2\n6:ok 4");
    assert_eq!(
        answer("", &Grep::new("")),
        "[no line matches: try flags=\"i\"]"
    );
    assert_eq!(answer("a\n\nb", &Grep::new("")), "0:a\n1:\n2:b");
    assert_eq!(answer("a\n\nb\n", &Grep::new("^$")), "1:");
    assert_eq!(answer("a\n\nb\n", &Grep::new("$")), "0:a\n1:\n2:b");
}

#[test]
fn context_is_shown_around_matches_and_gaps_are_marked() {
    assert_eq!(
        answer(LOG, &Grep::new("ERROR").context(1)),
        "0-boot\n1:ERROR disk\n2-ok 1\n--\n6-ok 4\n7:ERROR cpu\n8-end"
    );
    assert_eq!(
        answer(LOG, &Grep::new("ERROR|net").context(2)),
        "0-boot\n1:ERROR disk\n2-ok 1\n3-ok 2\n4-ok 3\n5:error net\n6-ok 4\n7:ERROR cpu\n8-end"
    );
    assert_eq!(
        answer(LOG, &Grep::new("ERROR|net").context(1).max(1)),
        "0-boot\n1:ERROR disk\n2-ok 1\n[1 of 3 matching lines shown: continue with start=5]"
    );
    assert_eq!(
        answer(LOG, &Grep::new("ERROR|net").context(1).max(1).start(5)),
        "4-ok 3\n5:error net\n6-ok 4\n[1 of 2 matching lines from line 5 shown: continue with start=7]"
    );
}

#[test]
fn a_match_is_shown_even_if_its_context_would_fill_the_answer() {
    let mut content: String = (0..300).map(|n| format!("some line {n}\n")).collect();
    content += "HIT\nafter\n";
    let artifact = answering(text(content), 1024);
    let matches = wait(artifact.grep(&Grep::new("HIT").context(100))).unwrap();
    let answer = matches.to_page();
    assert!(answer.contains("299-some line 299\n300:HIT\n"), "{answer}");
    assert!(answer.contains("[not all context fits"), "{answer}");
    assert!(answer.len() <= 1024);
}

#[test]
fn flags_have_their_documented_effect() {
    let grep = |flags: &str| Grep::new("error").flags(flags).unwrap();
    assert_eq!(count(LOG.as_bytes(), &grep("")), 1);
    assert_eq!(count(LOG.as_bytes(), &grep("i")), 3);
    assert_eq!(count(LOG.as_bytes(), &grep("msu")), 1);
    assert_eq!(count(LOG.as_bytes(), &grep("imsu")), 3);
    let unicode = Grep::new("\u{c9}COLE").flags("i").unwrap();
    assert_eq!(count("\u{e9}cole".as_bytes(), &unicode), 1);
    // `s` and `m` have no effect: a match cannot span lines.
    for flags in ["", "s", "m", "sm"] {
        let dot = Grep::new("boot.ERROR|^boot$").flags(flags).unwrap();
        assert_eq!(count(LOG.as_bytes(), &dot), 1);
    }
    let error = Grep::new("a").flags("ig").unwrap_err();
    assert_eq!(error.code(), ErrorCode::ARTIFACT_QUERY);
    assert!(error.model_text().contains("'g'") && error.model_text().contains("i (ignore case)"));
}

#[test]
fn literal_text_has_no_special_characters() {
    let text = "a.b*c\\d\n(x)[y]{2}\na<b>\n# $^|?+-&~ \u{e9}\naxbbc\n";
    for line in text.lines() {
        let grep = Grep::new(line).literal(true);
        assert_eq!(count(text.as_bytes(), &grep), 1, "{line}");
        let any_case = Grep::new(line.to_uppercase())
            .literal(true)
            .flags("i")
            .unwrap();
        assert_eq!(count(text.as_bytes(), &any_case), 1, "{line}");
    }
}

#[test]
fn invalid_patterns_are_rejected_with_advice() {
    let text = refused(&Grep::new("a(b"));
    assert!(
        text.contains("unclosed group") && text.contains("literal=true"),
        "{text}"
    );
    assert!(text.contains("\n    a(b\n"), "{text}");
    let text = refused(&Grep::new("a)(b"));
    assert!(text.contains("unopened group"), "{text}");
    let text = refused(&Grep::new("(?=x)"));
    assert!(text.contains("look-ahead"), "{text}");
    let text = refused(&Grep::new(r"(a)\1"));
    assert!(text.contains("backreferences"), "{text}");
    for pattern in ["a\nb", r"a\nb", r"[\n]", r"\x0A"] {
        let text = refused(&Grep::new(pattern));
        assert!(text.contains("cannot span lines"), "{pattern}: {text}");
    }
    let text = refused(&Grep::new("a\nb").literal(true));
    assert!(text.contains("cannot span lines"), "{text}");
    for pattern in [
        "x{1000}{1000}{1000}",
        r"\w{5000}",
        "(((a{100}){100}){100}){100}",
    ] {
        let text = refused(&Grep::new(pattern));
        assert!(text.contains("too large"), "{pattern}: {text}");
    }
    let nested = "(".repeat(5000) + &")".repeat(5000);
    let text = refused(&Grep::new(nested));
    assert!(text.contains("nest") && text.len() < 200, "{text}");
}

#[test]
fn an_answer_without_matches_suggests_what_to_try() {
    let nothing = |grep: &Grep| answer(LOG, grep);
    assert_eq!(
        nothing(&Grep::new("x.y")),
        "[no line matches: try flags=\"i\" or literal=true]"
    );
    let grep = Grep::new("xy").flags("i").unwrap().start(3);
    assert_eq!(nothing(&grep), "[no line matches from line 3: try start=0]");
    let grep = Grep::new("xy").flags("i").unwrap().literal(true);
    assert_eq!(nothing(&grep), "[no line matches: try a shorter pattern]");
    assert_eq!(
        nothing(&Grep::new("boot").start(99)),
        "[no line matches from line 99: try flags=\"i\" or start=0]"
    );
}

#[test]
fn anchors_match_before_every_kind_of_line_ending() {
    let content = b"abc\r\nabc\nab\rc\nabc\r";
    let count = |pattern: &str| count(content, &Grep::new(pattern));
    assert_eq!(count("abc$"), 2);
    assert_eq!(count(r"abc\r$"), 1);
    assert_eq!(count(r"\r"), 2);
    assert_eq!(count(r"^ab.c$"), 1);
    assert_eq!(count(r"\Aabc\z"), 2);
    assert_eq!(count(r"(?-m)^ab"), 4);
    assert_eq!(count(r"c(?-m:$)"), 3);
    assert_eq!(count(r"\s"), 2);
}

#[test]
fn binary_content_is_searched() {
    let content = b"\xff\xfeabc\0\n\x80\n\0\0\nabc\xc3\n";
    assert_eq!(count(content, &Grep::new("abc")), 2);
    assert_eq!(count(content, &Grep::new(r"(?-u)\xFE")), 1);
    assert_eq!(count(content, &Grep::new(r"\x00")), 2);
    assert_eq!(count(content, &Grep::new(r"^.+$")), 1);
    assert_eq!(count(content, &Grep::new("")), 4);
}

#[test]
fn long_lines_are_shown_around_the_match() {
    let content = format!(
        "{}NEEDLE{}\nshort NEEDLE\n",
        "a".repeat(30_000),
        "b".repeat(30_000)
    );
    let artifact = text(content.clone());
    wait(async {
        let matches = artifact.grep(&Grep::new("NEEDLE")).await.unwrap();
        let line = &matches.lines[0].line;
        let offset = usize::try_from(line.offset.unwrap()).unwrap();
        assert_eq!(
            line.bytes,
            &content.as_bytes()[offset..offset + line.bytes.len()]
        );
        assert!(String::from_utf8_lossy(&line.bytes).contains("NEEDLE"));
        let answer = matches.to_page();
        assert!(answer.starts_with(&format!("0+{offset}:aaa")), "{answer}");
        assert!(answer.contains("\n1:short NEEDLE\n"), "{answer}");
        assert!(answer.contains(&format!(
            "read more with artifact_cat start=0 offset={offset}"
        )));
        let cat = artifact.cat_from(0.., offset as u64).await.unwrap();
        assert!(cat.lines[0].bytes.starts_with(&line.bytes));
    });
}

fn naive(line: &[u8], pattern: &regex_automata::meta::Regex) -> bool {
    pattern.is_match(line)
}

proptest! {

    #[test]
    fn a_line_matches_as_it_does_alone(
        content in hostile(), context in 0_u64..3, start in 0_u64..9, which in 0_usize..12, block in 1_usize..300,
    ) {
        let patterns = [
            "abc", "^abc", "abc$", "^$", r"\bERROR \d\b", "b|\u{65e5}", r"x{20}", r"\r", r"c\S", r"\Aabc", r"[^a-z]$", "",
        ];
        let pattern = patterns[which];
        let alone = regex_automata::meta::Regex::builder()
            .syntax(regex_automata::util::syntax::Config::new().utf8(false))
            .configure(regex_automata::meta::Config::new().utf8_empty(false))
            .build(pattern)
            .unwrap();
        let lines = lines_of(&content);
        let expected: Vec<u64> = (start..lines.len() as u64).filter(|n| naive(&lines[*n as usize], &alone)).collect();
        let sizes = crate::artifact::text::grep::Sizes { block, line: 1 << 20, overlap: 1 << 16 };
        let grep = Grep::new(pattern).context(context).start(start).max(u64::MAX).sizes(sizes);
        let artifact = answering(text(content), 1 << 20);
        let matches = wait(artifact.grep(&grep)).unwrap();
        let found: Vec<u64> = matches.lines.iter().filter(|line| line.matches).map(|line| line.number).collect();
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(matches.total, expected.len() as u64);
        prop_assert_eq!(matches.next, None);
        let near = |n: u64| expected.iter().any(|hit| hit.abs_diff(n) <= context);
        let context: Vec<u64> = (0..lines.len() as u64).filter(|n| near(*n)).collect();
        let shown: Vec<u64> = matches.lines.iter().map(|line| line.number).collect();
        prop_assert_eq!(shown, context);
        for line in &matches.lines {
            prop_assert_eq!(&line.line.bytes[..], lines[line.number as usize].as_slice());
        }
    }
}
