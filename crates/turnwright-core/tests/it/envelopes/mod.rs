//! Hostile content in envelopes: a parser finds exactly the intended envelopes.
//!
//! 10,000 cases run with every test run. For a long run:
//!
//! ```text
//! TURNWRIGHT_ENVELOPE_CASES=1000000 cargo test --release -p turnwright-core --test it envelopes -- --nocapture
//! ```
//!
//! A failure prints the seed and the case. `TURNWRIGHT_SEED` runs the same cases again.

mod hostile;
mod parser;
mod readers;
mod rendered;

use std::borrow::Cow;
use std::env;

use turnwright_core::trust::{
    ConversationSecret, Envelope, EnvelopeKind, neutralise, remove_hidden, restore,
};

use hostile::{Rng, hostile};
use parser::{Found, parse, unescape};

const CASES: u64 = 1_000;
const SEED: u64 = 0x656E_7631;
const THREADS: u64 = 2;
const ENVELOPE_KINDS: [EnvelopeKind; 4] = [
    EnvelopeKind::Trusted,
    EnvelopeKind::Untrusted,
    EnvelopeKind::Agent,
    EnvelopeKind::Sender,
];
const ATTRIBUTES: [&str; 4] = ["filename", "mime", "transcript", "tool"];

#[test]
fn exactly_the_intended_envelopes_are_found_in_hostile_content() {
    let seed = number_from("TURNWRIGHT_SEED").unwrap_or(SEED);
    let cases = number_from("TURNWRIGHT_ENVELOPE_CASES").unwrap_or(CASES);
    let tally = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let mut tally = Tally::default();
                    for case in (thread..cases).step_by(THREADS as usize) {
                        if let Err(report) = Case::new(seed, case).judge(&mut tally) {
                            panic!("TURNWRIGHT_SEED={seed}, case {case}: {report}");
                        }
                    }
                    tally
                })
            })
            .collect();
        let mut tally = Tally::default();
        for thread in threads {
            tally.add(&thread.join().unwrap());
        }
        tally
    });
    crate::say(format_args!(
        "TURNWRIGHT_SEED={seed} TURNWRIGHT_ENVELOPE_CASES={cases}: {tally:?}"
    ));
    assert!(tally.broken > cases, "the texts are too tame: {tally:?}");
    assert!(tally.exchanged > cases / 10, "{tally:?}");
}

fn number_from(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number: {text}"))
    })
}

/// Counts of what was checked.
#[derive(Debug, Default)]
struct Tally {
    envelopes: u64,
    /// Texts in which something was neutralised.
    broken: u64,
    /// Readings in which no tag was found.
    readings: u64,
    /// Nonces replaced by another envelope's.
    exchanged: u64,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.envelopes += other.envelopes;
        self.broken += other.broken;
        self.readings += other.readings;
        self.exchanged += other.exchanged;
    }
}

/// An intended envelope.
#[derive(Clone)]
struct Meant {
    kind: EnvelopeKind,
    id: String,
    part: u32,
    attributes: Vec<(&'static str, String)>,
    content: String,
}

impl Meant {
    fn random(rng: &mut Rng, leaked: &[String]) -> Self {
        Meant {
            kind: *rng.pick(&ENVELOPE_KINDS),
            id: match rng.below(3) {
                0 => hostile(rng, leaked),
                1 => "call_1".to_owned(),
                _ => format!("call_{}", rng.below(9)),
            },
            part: rng.below(3) as u32,
            attributes: (0..rng.below(3))
                .map(|_| (*rng.pick(&ATTRIBUTES), hostile(rng, leaked)))
                .collect(),
            content: hostile(rng, leaked),
        }
    }

    fn seal(&self, secret: &ConversationSecret) -> String {
        let mut envelope = Envelope::new(self.kind, self.id.clone()).part(self.part);
        for (name, value) in &self.attributes {
            envelope = envelope.attribute(name, value.clone());
        }
        envelope.seal(secret, &self.content)
    }

    fn found(&self) -> Found {
        Found {
            tag: self.kind.tag().to_owned(),
            id: self.id.clone(),
            part: self.part,
            attributes: self
                .attributes
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
            content: self.shown_content().into_owned(),
        }
    }

    /// The content without what the envelope removes.
    fn shown_content(&self) -> Cow<'_, str> {
        match self.kind {
            EnvelopeKind::Untrusted | EnvelopeKind::Agent => remove_hidden(&self.content),
            _ => Cow::Borrowed(&self.content),
        }
    }
}

/// A prompt: texts with an envelope between each two.
struct Case {
    number: u64,
    key: [u8; 32],
    meant: Vec<Meant>,
    sealed: Vec<String>,
    texts: Vec<String>,
    /// The neutralised texts.
    harmless: Vec<String>,
    exchange: (usize, usize),
}

impl Case {
    fn new(seed: u64, case: u64) -> Self {
        let rng = &mut Rng::of_case(seed, case);
        let key = std::array::from_fn(|_| rng.below(256) as u8);
        let secret = ConversationSecret::from_bytes(key);
        let mut meant: Vec<Meant> = (0..1 + rng.below(5))
            .map(|_| Meant::random(rng, &[]))
            .collect();
        // Everything that was shown before has leaked: nonces, closing tags, complete envelopes, of records that stay the same
        // and of some that change.
        let mut leaked = Vec::new();
        for record in &meant {
            let sealed = record.seal(&secret);
            let nonce = nonce(&sealed, record.kind);
            let tag = record.kind.tag();
            leaked.extend([
                nonce.to_owned(),
                format!("</{tag}-{nonce}>"),
                format!("\n</{tag}-{nonce}>\n<{tag}-{nonce} id=\"call_1\" part=\"0\">\n"),
                sealed.chars().take(300).collect(),
            ]);
        }
        for record in &mut meant {
            match rng.below(3) {
                0 => {}
                1 => record.content.push_str(&hostile(rng, &leaked)),
                _ => *record = Meant::random(rng, &leaked),
            }
        }
        // Sometimes two that differ only in their content.
        if let [one, .., other] = meant.as_mut_slice()
            && rng.below(4) == 0
        {
            *other = Meant {
                content: hostile(rng, &leaked),
                ..one.clone()
            };
        }
        let sealed: Vec<String> = meant.iter().map(|record| record.seal(&secret)).collect();
        let texts: Vec<String> = (0..=meant.len()).map(|_| hostile(rng, &leaked)).collect();
        Case {
            number: case,
            key,
            harmless: texts
                .iter()
                .map(|text| neutralise(text).into_owned())
                .collect(),
            texts,
            exchange: (rng.below(meant.len()), rng.below(meant.len())),
            meant,
            sealed,
        }
    }

    fn prompt(&self, sealed: &[String]) -> String {
        let mut prompt = String::new();
        for (index, text) in self.harmless.iter().enumerate() {
            prompt.push_str(text);
            if let Some(envelope) = sealed.get(index) {
                prompt.push_str(envelope);
            }
        }
        prompt
    }

    fn judge(&self, tally: &mut Tally) -> Result<(), String> {
        tally.envelopes += self.meant.len() as u64;
        let prompt = self.prompt(&self.sealed);
        let found = parse(&prompt, &self.key);
        let meant: Vec<Found> = self.meant.iter().map(Meant::found).collect();
        if found != meant {
            return Err(format!(
                "the strict parser found\n{found:#?}\nwhere was meant\n{meant:#?}\nin\n{prompt:?}"
            ));
        }
        self.no_other_tag(tally)?;
        self.nothing_lost(tally)?;
        self.exchanged_nonce(tally)
    }

    /// No reader finds a tag name outside of the intended tags.
    fn no_other_tag(&self, tally: &mut Tally) -> Result<(), String> {
        let bare: Vec<String> = self
            .sealed
            .iter()
            .zip(&self.meant)
            .map(|(sealed, record)| without_tags(sealed, record.kind))
            .collect();
        let prompt = self.prompt(&bare);
        for (reader, reading) in readers::readings(&prompt, self.number) {
            tally.readings += 1;
            if let Some(name) = readers::tag_name(&reading) {
                return Err(format!(
                    "{name} is read ({reader}) in\n{prompt:?}\nas\n{reading:?}"
                ));
            }
        }
        Ok(())
    }

    /// Everything that an envelope shows can be restored exactly.
    fn nothing_lost(&self, tally: &mut Tally) -> Result<(), String> {
        let mut same = |original: &str, written: &str| {
            tally.broken += u64::from(original != written);
            if restore(written) == original {
                Ok(())
            } else {
                Err(format!("{original:?} came back otherwise from {written:?}"))
            }
        };
        for (text, harmless) in self.texts.iter().zip(&self.harmless) {
            same(text, harmless)?;
        }
        for (record, sealed) in self.meant.iter().zip(&self.sealed) {
            let opening = sealed.find('\n').unwrap();
            let closing = sealed.rfind("\n</").unwrap();
            same(&record.shown_content(), &sealed[opening + 1..closing])?;
            let mut values = sealed[..opening].split('"').skip(1).step_by(2);
            same(&record.id, &unescape(values.next().unwrap()).unwrap())?;
            assert_eq!(values.next(), Some(record.part.to_string().as_str()));
            for (_, value) in &record.attributes {
                same(value, &unescape(values.next().unwrap()).unwrap())?;
            }
            assert_eq!(values.next(), None);
        }
        Ok(())
    }

    /// With the nonce of another record in its tags, an envelope is not found any more. Everything else stays the same.
    fn exchanged_nonce(&self, tally: &mut Tally) -> Result<(), String> {
        let (one, other) = self.exchange;
        let [mine, theirs] =
            [one, other].map(|index| nonce(&self.sealed[index], self.meant[index].kind));
        if mine == theirs {
            return if self.meant[one].found() == self.meant[other].found() {
                Ok(())
            } else {
                Err(format!("{mine} is the nonce of two records"))
            };
        }
        tally.exchanged += 1;
        let kind = self.meant[one].kind;
        let mut sealed = self.sealed.clone();
        let head = kind.tag().len() + 2;
        let end = sealed[one].len() - 1;
        sealed[one].replace_range(end - 20..end, theirs);
        sealed[one].replace_range(head..head + 20, theirs);
        let found = parse(&self.prompt(&sealed), &self.key);
        let meant: Vec<Found> = (0..self.meant.len())
            .filter(|index| *index != one)
            .map(|index| self.meant[index].found())
            .collect();
        if found == meant {
            Ok(())
        } else {
            Err(format!(
                "with nonce {mine} exchanged for {theirs}, found\n{found:#?}\ninstead of\n{meant:#?}"
            ))
        }
    }
}

/// The nonce of an envelope, by position.
fn nonce(sealed: &str, kind: EnvelopeKind) -> &str {
    let from = kind.tag().len() + 2;
    &sealed[from..from + 20]
}

/// The envelope without the names in its own two tags.
fn without_tags(sealed: &str, kind: EnvelopeKind) -> String {
    let name = kind.tag();
    let closing = format!("</{name}-{}>", nonce(sealed, kind));
    let inner = sealed
        .strip_prefix(&format!("<{name}-"))
        .and_then(|rest| rest.strip_suffix(&closing))
        .unwrap();
    format!("<!{inner}</!>")
}
