//! Questions of servers without a terminal.

use serde_json::json;
use turnwright_testkit::server::model;

use crate::mcp_server::Setup;
use crate::model::Model;
use crate::program::Ran;

const DECLINED: &str = "warning: the MCP server `files` asked a question, which was declined because there is no terminal: Which colour?";

fn asking() -> Setup {
    let setup = Setup::new();
    setup.define(&json!([{
        "name": "ask_colour", "description": "Asks.", "inputSchema": { "type": "object" },
    }]));
    assert_eq!(setup.run(&["mcp", "pin", "--yes"]).code, 0);
    setup
}

#[test]
fn a_call_reports_the_question_on_standard_error() {
    let setup = asking();
    for format in [&[][..], &["--json"]] {
        let call = ["mcp", "call", "files__ask_colour", "--yes"];
        let ran = setup.run(&[&call, format].concat());
        assert_eq!((ran.code, ran.err.trim_end()), (0, DECLINED), "{ran:?}");
        assert!(ran.out.contains("decline"), "{ran:?}");
    }
}

#[test]
fn a_chat_reports_the_question_on_standard_error() {
    let setup = asking();
    for format in [&[][..], &["--json"]] {
        let call = model::calls([("call_1", "files__ask_colour", "{}")]);
        let model = Model::plays([call, model::text("Done.", 1)]);
        let options = ["--forget", "--mcp", ".mcp.json", "--yes"];
        let mut command = crate::chat::piped(&model, &setup.home, &[&options, format].concat());
        let ran = Ran::of(command.current_dir(setup.folder.path()), "ask\n");
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.err.matches(DECLINED).count(), 1, "{ran:?}");
    }
}
