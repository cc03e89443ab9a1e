//! The marks by which models tell turns, roles and tool calls apart.
//!
//! Written as they look; the scanner compares them on the canonical copy with
//! white space and decoration left out. A mark that is also ordinary code says
//! under which condition it counts.

/// When a mark counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Wherever it stands.
    Always,
    /// Only written in one piece: with spaces it is somebody's operator.
    Tight,
    /// Written in capitals, or not used as an index (`list[inst]`).
    NotAnIndex,
    /// At the start of a line.
    LineStart,
    /// After an empty line, beginning with a capital.
    NewTurn,
    /// At the start of a line, in capitals, with something after it.
    Shouted,
    /// The start of a tag: the mark reaches to its `>`.
    OpenTag,
}

/// Every mark, with its condition.
pub(super) fn all() -> impl Iterator<Item = (String, When)> {
    let bars = BAR_NAMES.iter().map(|name| (format!("<|{name}|>"), When::Always));
    let tight = TIGHT_NAMES.iter().map(|name| (format!("<|{name}|>"), When::Tight));
    let closing = TIGHT_NAMES.iter().map(|name| (format!("<|/{name}|>"), When::Tight));
    let tags = TAGS
        .iter()
        .flat_map(|name| [(format!("<{name}>"), When::Always), (format!("</{name}>"), When::Always)]);
    let open = OPEN_TAGS
        .iter()
        .flat_map(|name| [(format!("<{name}"), When::OpenTag), (format!("</{name}"), When::OpenTag)]);
    let brackets = BRACKETS
        .iter()
        .flat_map(|name| [(format!("[{name}]"), When::NotAnIndex), (format!("[/{name}]"), When::Always)]);
    let headers = HEADERS.iter().map(|name| (format!("###{name}:"), When::LineStart));
    let turns = TURNS.iter().map(|name| (format!("{name}:"), When::NewTurn));
    let shouted = SHOUTED.iter().map(|name| (format!("{name}:"), When::Shouted));
    let single = SINGLE.iter().map(|(mark, when)| ((*mark).to_owned(), *when));
    bars.chain(tight)
        .chain(closing)
        .chain(tags)
        .chain(open)
        .chain(brackets)
        .chain(headers)
        .chain(turns)
        .chain(shouted)
        .chain(single)
}

/// Between `<|` and `|>`: ChatML, Llama 3 and 4, Phi, Harmony, Command R,
/// Granite, GLM, Kimi, Qwen, Falcon, DeepSeek.
#[rustfmt::skip]
const BAR_NAMES: &[&str] = &[
    "im_start", "im_end", "im_sep", "im_system", "im_user", "im_assistant", "im_middle",
    "begin_of_text", "end_of_text", "endoftext", "endofprompt", "start_header_id", "end_header_id",
    "header_start", "header_end", "eot_id", "eom_id", "eot", "eom", "python_tag", "python_start", "python_end",
    "finetune_right_pad_id", "step_id", "start_of_role", "end_of_role", "start_of_turn", "end_of_turn",
    "start_of_turn_token", "end_of_turn_token", "system_token", "user_token", "chatbot_token",
    "start_response", "end_response", "start_thinking", "end_thinking", "start_action", "end_action",
    "start_tool_result", "end_tool_result", "begin_of_sentence", "end_of_sentence",
    "tool_calls_begin", "tool_calls_end", "tool_call_begin", "tool_call_end", "tool_sep",
    "tool_outputs_begin", "tool_outputs_end", "tool_output_begin", "tool_output_end",
    "tool_calls_section_begin", "tool_calls_section_end", "tool_call_argument_begin",
    "tool_call", "tool_calls", "tool_response", "tool_result", "function_call", "function_response",
    "fim_prefix", "fim_middle", "fim_suffix", "fim_pad", "fim_begin", "fim_hole", "fim_end", "repo_name",
    "file_sep",
    "vision_start", "vision_end", "object_ref_start", "object_ref_end", "box_start", "box_end", "video_pad",
    "image_pad",
    "bos", "eos", "pad", "unk", "start_of_text", "startoftext", "beginoftext", "observation", "developer",
    "constrain",
    "assistant", "chatbot", "sysprompt",
];

/// The same, for names that a functional language might pipe through.
const TIGHT_NAMES: &[&str] = &[
    "system", "user", "end", "start", "call", "message", "channel", "return", "tool", "image", "audio",
    "think", "sop", "prompter",
];

/// Whole tags: Gemma, Hermes, Qwen, Llama 2, wrappers of results and reasoning.
#[rustfmt::skip]
const TAGS: &[&str] = &[
    "start_of_turn", "end_of_turn", "start_of_image", "end_of_image", "bos", "eos",
    "tool_call", "tool_calls", "tool_response", "tool_responses", "tool_result", "tool_results", "tool_use",
    "tool_code", "tool_output", "function_call", "function_calls", "function_response", "function_results",
    "system_prompt", "system_message", "system_instruction", "system_instructions", "developer_message",
    "assistant_response", "user_message", "user_query", "think", "thinking", "scratchpad",
    "system-reminder", "trusted", "trusted_data", "untrusted",
];

/// Tags with attributes, and those of our own fence.
const OPEN_TAGS: &[&str] = &[
    "untrusted_data",
    "invoke name=",
    "antml:",
    "function=",
    "parameter=",
    "tool_call name=",
    "trusted id=",
];

/// Llama 2 and Mistral.
#[rustfmt::skip]
const BRACKETS: &[&str] = &[
    "INST", "SYSTEM_PROMPT", "AVAILABLE_TOOLS", "TOOL_CALLS", "TOOL_RESULTS", "TOOL_CONTENT", "CALL_ID",
    "IMG_BREAK",
    "IMG_END", "PREFIX_SUFFIX", "TOOL_CALL", "TOOL_RESULT",
];

/// Headings by which instruction data sets part their fields.
const HEADERS: &[&str] = &[
    "System",
    "Instruction",
    "Instructions",
    "Response",
    "Human",
    "Assistant",
    "User",
    "User Message",
    "System Prompt",
    "System Message",
];

const TURNS: &[&str] = &["Human", "Assistant"];

const SHOUTED: &[&str] =
    &["SYSTEM", "SYSTEM MESSAGE", "SYSTEM PROMPT", "SYSTEM OVERRIDE", "SYSTEM INSTRUCTION", "SYSTEM NOTICE"];

const SINGLE: &[(&str, When)] = &[
    ("<<SYS>>", When::Always),
    ("<</SYS>>", When::Always),
    ("<|reserved_special_token", When::OpenTag),
    ("<|reserved_", When::OpenTag),
    ("<reserved_special_token", When::OpenTag),
];
