//! Templates with and without tools.

use bowline_core::id::ToolName;
use bowline_core::tool::{Consent, Invocation, Repeat, Touch};
use bowline_models::SaidCall;

use super::*;
use crate::tiny::TEMPLATE;

fn said() -> Vec<Said> {
    vec![
        Said::System("Be brief.".to_owned()),
        Said::User("How warm is it?".to_owned()),
        Said::Assistant {
            text: "Let me see.".to_owned(),
            calls: vec![SaidCall {
                id: "1".to_owned(),
                tool: "weather".to_owned(),
                args: "{\"city\":\"Bern\"}".to_owned(),
            }],
        },
        Said::ToolResult { call: "1".to_owned(), output: "12 degrees".to_owned(), is_error: false },
    ]
}

fn tool() -> ToolSpec {
    ToolSpec {
        name: ToolName::parse("weather").unwrap(),
        description: "Tells the weather.".to_owned(),
        schema: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
        touch: Touch::Read,
        repeat: Repeat::Freely,
        consent: Consent::NotNeeded,
        probes: false,
        timeout_ms: 1_000,
        effect: None,
        needs: None,
        given: false,
        undo: None,
        invocation: Invocation::default(),
    }
}

fn render(source: &str, said: &[Said], tools: &[ToolSpec]) -> Result<String, BadConversation> {
    let said: Vec<&Said> = said.iter().collect();
    Template::compile(source).unwrap().render(&said, tools, str::to_owned)
}

#[test]
fn a_template_without_tools_gets_them_as_text() {
    let prompt = render(TEMPLATE, &said(), &[tool()]).unwrap();
    assert!(prompt.starts_with("<|im_start|>system\nBe brief.\n\nYou may call tools."), "{prompt}");
    assert!(
        prompt.contains("{\"type\": \"function\", \"function\": {\"name\": \"weather\", \"description\"")
    );
    let call = "Let me see.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Bern\"}}\n</tool_call>";
    assert!(prompt.contains(call), "{prompt}");
    assert!(prompt.contains("<|im_start|>user\n<tool_response>\n12 degrees\n</tool_response><|im_end|>"));
    assert!(prompt.ends_with("<|im_start|>assistant\n"));
}

#[test]
fn a_template_with_tools_is_given_them() {
    let source = "{% for tool in tools %}[{{ tool | tojson }}]{% endfor %}\
                  {% for m in messages %}{{ m.role }}:{{ m.content }}{% for c in m.tool_calls %}\
                  ({{ c.function.name }} {{ c.function.arguments | tojson }}){% endfor %};{% endfor %}";
    let prompt = render(source, &said(), &[tool()]).unwrap();
    assert!(prompt.starts_with("[{\"type\": \"function\""), "{prompt}");
    assert!(
        prompt.contains("assistant:Let me see.(weather {\"city\": \"Bern\"});tool:12 degrees;"),
        "{prompt}"
    );
}

#[test]
fn a_template_that_refuses_or_never_ends_is_an_error() {
    let refused = render("{{ raise_exception('no system text') }}", &said(), &[]).unwrap_err();
    assert!(refused.what.contains("no system text"), "{refused}");
    let endless = "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{{ c }}\
                   {% endfor %}{% endfor %}{% endfor %}";
    assert!(render(endless, &said(), &[]).is_err());
}
