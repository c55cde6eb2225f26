//! Queries on an artifact, run in this process or in a new one.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Builder;
use turnwright_core::artifact::json::SpooledJsonArtifact;
use turnwright_core::artifact::text::Grep;
use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
use turnwright_core::spool::FileReader;

#[derive(Clone, Debug)]
pub(crate) enum Question {
    /// Opens the file without a query: the baseline of the process.
    Nothing,
    Head(u64),
    Tail(u64),
    Cat(u64, u64),
    Grep(String),
    Count(String),
    LineCount,
    Tokens,
    JsonGet(String),
}

impl Question {
    /// Returns the queries whose memory is measured.
    pub(crate) fn all(file: &str) -> Vec<Question> {
        let far = if file == "log" { 5_000_000 } else { 0 };
        let mut questions = vec![
            Question::Nothing,
            Question::Head(10),
            Question::Tail(10),
            Question::Cat(far, far + 10),
            Question::Grep("ERROR|error|item-00042".to_owned()),
            Question::Grep(r"\w+ing \d+|7 item-\d*99 |took\D+99".to_owned()),
            // Large when compiled.
            Question::Grep(r"\pL{3,9}\d+\s\w{20}".to_owned()),
            Question::LineCount,
            Question::Tokens,
        ];
        if file.contains("JSON") {
            let paths = [
                "$[500000].user.name",
                "$[*].took",
                "$[?@.level == 'error' && @.took > 990].id",
                "$..name",
                "$[-3:]",
                "$[::-1].id",
            ];
            questions.extend(paths.map(|path| Question::JsonGet(path.to_owned())));
        }
        questions
    }

    pub(crate) fn from_words(words: &[String]) -> Result<Self, Box<dyn Error>> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Ok(match words[..] {
            ["nothing"] => Question::Nothing,
            ["head", lines] => Question::Head(lines.parse()?),
            ["tail", lines] => Question::Tail(lines.parse()?),
            ["cat", from, to] => Question::Cat(from.parse()?, to.parse()?),
            ["grep", pattern] => Question::Grep(pattern.to_owned()),
            ["count", pattern] => Question::Count(pattern.to_owned()),
            ["line_count"] => Question::LineCount,
            ["tokens"] => Question::Tokens,
            ["json_get", path] => Question::JsonGet(path.to_owned()),
            _ => return Err(format!("not a question: {words:?}").into()),
        })
    }

    pub(crate) fn words(&self) -> Vec<String> {
        match self {
            Question::Nothing => vec!["nothing".to_owned()],
            Question::Head(lines) => vec!["head".to_owned(), lines.to_string()],
            Question::Tail(lines) => vec!["tail".to_owned(), lines.to_string()],
            Question::Cat(from, to) => vec!["cat".to_owned(), from.to_string(), to.to_string()],
            Question::Grep(pattern) => vec!["grep".to_owned(), pattern.clone()],
            Question::Count(pattern) => vec!["count".to_owned(), pattern.clone()],
            Question::LineCount => vec!["line_count".to_owned()],
            Question::Tokens => vec!["tokens".to_owned()],
            Question::JsonGet(path) => vec!["json_get".to_owned(), path.clone()],
        }
    }

    pub(crate) fn name(&self) -> String {
        self.words().join(" ").replace('|', "\\|")
    }
}

/// Opens the file and runs the query, with one thread and one for blocking work.
pub(crate) fn ask(question: &Question, file: &Path) -> Result<String, Box<dyn Error>> {
    let runtime = Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(async {
        let reader = Arc::new(FileReader::open(file).await?);
        let artifact = SpooledArtifact::new(reader, kind_of(file));
        Ok(match question {
            Question::Nothing => String::new(),
            Question::Head(lines) => lines_of(&artifact.head(*lines).await?.lines),
            Question::Tail(lines) => lines_of(&artifact.tail(*lines).await?.lines),
            Question::Cat(from, to) => lines_of(&artifact.cat(*from..*to).await?.lines),
            Question::Grep(pattern) => artifact.grep(&Grep::new(pattern)).await?.to_page(),
            Question::Count(pattern) => artifact.grep(&Grep::new(pattern)).await?.total.to_string(),
            Question::LineCount => artifact.line_count().await?.to_string(),
            Question::Tokens => artifact.estimate_tokens(None).await?.to_string(),
            Question::JsonGet(path) => json_get(artifact, path).await?,
        })
    })
}

async fn json_get(artifact: SpooledArtifact, path: &str) -> Result<String, Box<dyn Error>> {
    let json = SpooledJsonArtifact::new(artifact);
    let nodes = json.json_get(&path.parse()?, 0).await?;
    if nodes.contains("matches nothing") {
        Err(nodes.into())
    } else {
        Ok(nodes)
    }
}

fn kind_of(file: &Path) -> ArtifactKind {
    if file
        .extension()
        .is_some_and(|extension| extension == "jsonl")
    {
        ArtifactKind::JSON_LINES
    } else {
        ArtifactKind::TEXT
    }
}

fn lines_of(lines: &[turnwright_core::artifact::text::Line]) -> String {
    let lines = lines
        .iter()
        .map(|line| String::from_utf8_lossy(&line.bytes));
    lines.collect::<Vec<_>>().join("\n")
}
