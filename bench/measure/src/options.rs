//! Options that several benchmarks share.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::time::Duration;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How often each subject is measured.
    pub rounds: usize,
    /// The minimum time of a subject in one round, on its own clock.
    pub slice: Duration,
}

impl Plan {
    /// Creates a plan with this many rounds and slices of this many milliseconds.
    pub const fn new(rounds: usize, slice_ms: u64) -> Self {
        Plan {
            rounds,
            slice: Duration::from_millis(slice_ms),
        }
    }

    /// Parses `--rounds` and `--slice-ms`.
    ///
    /// # Errors
    /// Fails if the word is not an option, or if no number above zero follows it.
    pub fn option(
        &mut self,
        word: &str,
        words: &mut impl Iterator<Item = String>,
    ) -> Result<(), Box<dyn Error>> {
        match word {
            "--rounds" => self.rounds = number(words)?,
            "--slice-ms" => self.slice = Duration::from_millis(number(words)?),
            _ => return Err(format!("unknown option {word}").into()),
        }
        Ok(())
    }
}

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (rounds, slice) = (self.rounds, self.slice.as_millis());
        write!(
            f,
            "{rounds} rounds, each subject at least {slice} ms a round"
        )
    }
}

/// Parses the number above zero that follows an option.
///
/// # Errors
/// Fails if the next word is not such a number.
pub fn number<N: FromStr + Default + PartialEq>(
    words: &mut impl Iterator<Item = String>,
) -> Result<N, Box<dyn Error>> {
    let number = words.next().and_then(|word| word.parse().ok());
    let number = number.filter(|number| *number != N::default());
    number.ok_or_else(|| "this option needs a whole number above zero".into())
}
