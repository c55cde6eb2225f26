use turnwright::serde_json::{Value, json};
use turnwright::{Tool, ToolContext};

#[derive(turnwright::serde::Serialize)]
#[serde(crate = "turnwright::serde")]
struct Report;

fn main() {
    // A type of your own is wrapped in `Json`.
    let _ = Tool::dynamic("a", json!({})).handler(async |_: Value, _: ToolContext| Report);

    // A captured value is passed to `handler_with`.
    let name = String::from("Ada");
    let _ = Tool::dynamic("b", json!({})).handler(async move |_: Value, _: ToolContext| name.len());
}
