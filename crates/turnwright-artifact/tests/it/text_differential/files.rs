//! Generated files, the same in every run.

/// The kind of a generated file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// Random lines of this many pieces.
    Mixed {
        pieces: usize,
        crlf: bool,
    },
    /// Characters of three bytes at every block boundary.
    Wide,
    /// Lines of this many bytes between short ones.
    Long(usize),
    Fixed(&'static str),
}

impl Shape {
    pub(super) fn all() -> Vec<Shape> {
        let mut all: Vec<Shape> = [
            "",
            "\n",
            "a",
            "a\n",
            "\n\n",
            "abc\r",
            "\r\n",
            "\r",
            "\0",
            "ERROR\n\nERROR",
        ]
        .map(Shape::Fixed)
        .to_vec();
        for n in 0..24 {
            let (pieces, crlf) = (n * 17 % 300 + 1, n % 3 == 0);
            all.push(Shape::Mixed { pieces, crlf });
        }
        for crlf in [false, true] {
            let pieces = 120_000;
            all.push(Shape::Mixed { pieces, crlf });
        }
        all.extend([
            Shape::Wide,
            Shape::Long(70_000),
            Shape::Long(600_000),
            Shape::Long(1_500_000),
        ]);
        all
    }

    pub(super) fn is_large(self) -> bool {
        !matches!(self, Shape::Fixed(_) | Shape::Mixed { pieces: ..1000, .. })
    }

    pub(super) fn content(self, dice: &mut Dice) -> Vec<u8> {
        match self {
            Shape::Fixed(content) => content.as_bytes().to_vec(),
            Shape::Mixed { pieces, crlf } => {
                let mut content = String::new();
                for _ in 0..pieces {
                    content.push_str(piece(dice, crlf));
                }
                content.into_bytes()
            }
            Shape::Wide => {
                let mut content = String::new();
                while content.len() < 1_300_000 {
                    let lines = [
                        "\u{65e5}\u{672c}\u{8a9e}",
                        "\u{8a9e}\u{8a9e} x\u{e9}y",
                        "\u{1f980}ERROR",
                        "7",
                    ];
                    content.push_str(lines[dice.below(4)]);
                    if dice.below(9) == 0 {
                        content.push('\n');
                    }
                }
                content.into_bytes()
            }
            Shape::Long(length) => {
                let mut content = String::from("short\n");
                for (last, length) in [("ERROR", length), ("8\u{8a9e}", 3000), ("aab.", 300)] {
                    let start = content.len();
                    while content.len() < start + length {
                        content.push_str("\u{65e5}xyz ab ");
                    }
                    content.push_str(last);
                    content.push_str("\n\nERROR 1\n");
                }
                content.truncate(content.len() - 1);
                content.into_bytes()
            }
        }
    }
}

fn piece(dice: &mut Dice, crlf: bool) -> &'static str {
    let ends = if crlf {
        ["\r\n", "\r\n", "\n", "\r"]
    } else {
        ["\n", "\n", "\n\n", "\r"]
    };
    let words = [
        "ERROR",
        " ",
        "12",
        "345",
        "abcde",
        "cdcde",
        "aab",
        "x",
        "\u{e9}",
        "\u{65e5}\u{672c}",
        "\u{8a9e}",
        "y",
        "\0",
        "\t",
        "(f.g)",
        "word",
        "error",
        "-",
    ];
    match dice.below(words.len() + 6) {
        n if n < words.len() => words[n],
        _ => ends[dice.below(ends.len())],
    }
}

/// Random numbers, the same in every run.
pub(super) struct Dice(fastrand::Rng);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Dice(fastrand::Rng::with_seed(seed))
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0.usize(..bound)
    }
}
