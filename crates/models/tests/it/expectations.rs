//! A script is strict about what it is asked.

use std::sync::Arc;

use bowline_core::event::StepTrouble;
use bowline_core::id::ToolName;
use bowline_core::tool::{Consent, Repeat, ToolSpec, Touch};
use bowline_models::{Request, Said};
use serde_json::{Value, json};

use crate::{ask, main_script, reply, request, result, user};

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: ToolName::parse(name).unwrap(),
        description: String::new(),
        schema: json!({}),
        touch: Touch::Read,
        repeat: Repeat::Freely,
        consent: Consent::NotNeeded,
        probes: false,
        timeout_ms: 1,
        effect: None,
        needs: None,
        given: false,
        invocation: Default::default(),
        undo: None,
    }
}

/// A request in which every expectation below holds.
fn second() -> Request {
    let mut asked = request(vec![
        Said::System("be brief".to_owned()),
        user("mend calc.py"),
        reply("looking"),
        result("one", false),
        result("def add(a, b)", true),
    ]);
    asked.tools = Arc::from([tool("edit_file"), tool("read_file")]);
    asked.schema = Some(json!({}));
    asked
}

async fn check(expect: Value, expected: Option<&str>) {
    let model = main_script(json!([{"say": "x"}, {"say": "ok", "expect": expect.clone()}]));
    match (ask(&model, second()).await, expected) {
        (Ok(_), None) => {}
        (Err(error), Some(expected)) => {
            assert_eq!(error.kind, StepTrouble::Permanent);
            assert_eq!(error.message, format!("script: main[1] expects {expected}"));
        }
        (answer, _) => panic!("{expect}: {answer:?}"),
    }
}

#[tokio::test]
async fn what_holds_is_answered() {
    for holds in [
        json!({"last_contains": "def add"}),
        json!({"last_contains": ["def", "add"], "contains": "calc.py", "system_contains": "brief"}),
        json!({"tools": ["edit_file", "read_file"], "schema": true, "answers": 2, "error": true}),
    ] {
        check(holds, None).await;
    }
}

#[tokio::test]
async fn what_does_not_hold_is_said_with_what_came() {
    let last = "the last message is the error of call-0-0: \"def add(a, b)\"";
    check(
        json!({"last_contains": ["def", "sub"]}),
        Some(&format!("the last message to contain \"sub\", but {last}")),
    )
    .await;
    check(
        json!({"contains": "nowhere"}),
        Some("the conversation to contain \"nowhere\", but none of its 5 messages does"),
    )
    .await;
    check(
        json!({"system_contains": "long"}),
        Some("the system message to contain \"long\", but it is \"be brief\""),
    )
    .await;
    check(
        json!({"tools": "run_command"}),
        Some("the tool \"run_command\" to be offered, but offered: edit_file, read_file"),
    )
    .await;
    check(json!({"schema": false}), Some("no schema for the answer, but one came")).await;
    check(json!({"error": false}), Some(&format!("the last tool result to be no error, but {last}"))).await;
    check(
        json!({"answers": 1, "schema": false}),
        Some("no schema for the answer, but one came; and 1 tool results since the last reply, but 2 came"),
    )
    .await;
}

#[tokio::test]
async fn a_request_past_the_end_or_without_a_list_says_what_there_is() {
    let model = main_script(json!([{"say": "only"}]));
    let past = ask(&model, request(vec![reply("only"), result("more", false)])).await.unwrap_err();
    assert_eq!(
        past.message,
        "script: main[1]: the script has 1 replies for \"main\" and was asked for number 2; \
         the last message is the result of call-0-0: \"more\""
    );
    let none =
        ask(&crate::script(json!({"script": 1, "conversations": {"other": []}})), request(vec![])).await;
    assert_eq!(
        none.unwrap_err().message,
        "script: main[0]: the script has no conversation \"main\", only other"
    );
}

#[tokio::test]
async fn a_long_message_is_quoted_in_part() {
    let model = main_script(json!([{"say": "x", "expect": {"last_contains": "needle"}}]));
    let error = ask(&model, request(vec![user(&"ä".repeat(5000))])).await.unwrap_err();
    assert!(
        error.message.ends_with("and 9200 bytes more") && error.message.len() < 1200,
        "{}",
        error.message
    );
}
