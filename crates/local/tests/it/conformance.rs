//! The conformance suite of models, run on the embedded one.

use std::sync::Arc;
use std::time::Duration;

use bowline_local::LocalModel;
use bowline_models::conformance::{Subject, check};

use crate::{Parrot, request, settings, tools};

const TWO_CALLS: &str = "I look.\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>\n\
                         <tool_call>\n{\"name\": \"sum\", \"arguments\": {\"of\": [1, 2]}}\n</tool_call>";

#[tokio::test]
async fn the_embedded_model_keeps_every_promise_of_a_model() {
    let loaded = Parrot::loaded(TWO_CALLS, Duration::from_millis(1));
    let model = Arc::new(LocalModel::start(loaded, settings()).unwrap());
    let mut with_calls = request("he");
    with_calls.tools = tools();
    with_calls.output_tokens = 400;
    let mut truncated = with_calls.clone();
    truncated.output_tokens = 20;
    let slow = with_calls.clone();
    let subject =
        Subject { model, with_calls, truncated, slow, structured: None, limited: None, refused: None };
    assert_eq!(check(&subject).await, Ok(()));
}
