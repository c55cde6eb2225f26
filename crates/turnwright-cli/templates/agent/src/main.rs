//! Asks the agent one question: `cargo run -- How is Paris?`

use turnwright::Error;
use turnwright::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let question = if words.is_empty() {
        "How is the weather in Paris?".to_owned()
    } else {
        words.join(" ")
    };
    // Reads OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL.
    let model = ChatCompletions::from_env().build()?;
    let agent = {{crate}}::agent(model)?;
    println!("{}", agent.run(question).await.into_answer()?);
    Ok(())
}
