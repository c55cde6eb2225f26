use std::rc::Rc;

use turnwright::tool;

/// Keeps something over an await that cannot go to another thread.
#[tool]
async fn wait() -> String {
    let text = Rc::new("text");
    std::future::ready(()).await;
    text.to_string()
}

fn main() {}
