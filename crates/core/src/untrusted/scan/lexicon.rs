//! The phrases by which untrusted text tries to give orders, as data.
//!
//! A [`Slot`] is a set of words that do the same work; a [`Rule`] is a sequence of
//! slots. Words are compared on the canonical copy without spaces, so a word
//! may be several. A `*` at an end of a word means that the word may go on there.

use super::super::suspicion::{Family, Weight};

/// Words that do the same work in a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Slot {
    Ignore,
    Earlier,
    Whole,
    Orders,
    Misspelt,
    Above,
    TheUser,
    Rot13Ignore,
    Rot13Earlier,
    Rot13Orders,
    ReversedIgnore,
    ReversedEarlier,
    ReversedOrders,
    ForeignIgnore,
    ForeignOrders,
    OverrideColon,
    Privilege,
    ToYou,
    FromMe,
    Message,
    Machine,
    Call,
    IfYouAre,
    Must,
    Before,
    TheTask,
    GaveYou,
    AfterThat,
    Answering,
    Following,
    Perform,
    NewOrders,
    PseudoTag,
    DoNot,
    Tell,
    Without,
    Asking,
    Stop,
    WhatYouDo,
    YouShould,
    VeryImportant,
    Signed,
    Secret,
    SendTo,
    Grant,
    Manifest,
    Roles,
    NowYouAre,
    Instead,
    Bang,
    MachineColon,
    BeforeReply,
    Hand,
    ForeignMachine,
    ForeignUser,
    ForeignHush,
    ForeignSecret,
    ForeignSend,
    ReadsThis,
    KeepQuiet,
    SendVerb,
    ToPlace,
    AnyEarlier,
    PlainOrders,
    ForeignEarlier,
    ForeignAbove,
}

/// How many slots there are.
pub(super) const SLOTS: usize = Slot::ForeignAbove as usize + 1;

/// May a phrase go on after the end of a sentence?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// No.
    Sentence,
    /// Yes.
    Text,
}

/// What is done with the text of a phrase when it is shown to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// It is taken out.
    Neutralise,
    /// It stays, and counts.
    Flag,
}

/// A phrase: slots that follow each other.
#[derive(Debug)]
pub(super) struct Rule {
    /// How reports name it.
    pub(super) name: &'static str,
    pub(super) family: Family,
    pub(super) weight: Weight,
    pub(super) action: Action,
    pub(super) steps: &'static [Slot],
    /// Most symbols between two steps.
    pub(super) gap: u32,
    pub(super) reach: Reach,
}

const fn rule(
    name: &'static str,
    (family, weight): (Family, Weight),
    steps: &'static [Slot],
    gap: u32,
) -> Rule {
    Rule { name, family, weight, action: Action::Flag, steps, gap, reach: Reach::Sentence }
}

const fn neutralised(mut rule: Rule) -> Rule {
    rule.action = Action::Neutralise;
    rule
}

const fn across(mut rule: Rule) -> Rule {
    rule.reach = Reach::Text;
    rule
}

const STRONG_OVERRIDE: (Family, Weight) = (Family::Override, Weight::Strong);

/// Every phrase.
#[rustfmt::skip]
pub(super) static RULES: &[Rule] = &[
    neutralised(rule("override", STRONG_OVERRIDE, &[Slot::Ignore, Slot::Earlier, Slot::Orders], 14)),
    neutralised(rule("override-any", STRONG_OVERRIDE, &[Slot::Ignore, Slot::AnyEarlier, Slot::PlainOrders], 3)),
    neutralised(rule("override-misspelt", STRONG_OVERRIDE, &[Slot::Ignore, Slot::Earlier, Slot::Misspelt], 14)),
    neutralised(rule("override-whole", STRONG_OVERRIDE, &[Slot::Ignore, Slot::Whole, Slot::Above], 10)),
    neutralised(rule("override-user", STRONG_OVERRIDE, &[Slot::Ignore, Slot::TheUser], 0)),
    neutralised(rule("override-colon", STRONG_OVERRIDE, &[Slot::OverrideColon, Slot::Privilege], 6)),
    rule("override-rot13", (Family::Encoded, Weight::Strong), &[Slot::Rot13Ignore, Slot::Rot13Earlier, Slot::Rot13Orders], 14),
    rule("override-reversed", (Family::Encoded, Weight::Strong), &[Slot::ReversedOrders, Slot::ReversedEarlier, Slot::ReversedIgnore], 14),
    rule("override-foreign", STRONG_OVERRIDE, &[Slot::ForeignIgnore, Slot::ForeignEarlier, Slot::ForeignOrders], 14),
    rule("override-foreign-behind", STRONG_OVERRIDE, &[Slot::ForeignIgnore, Slot::ForeignOrders, Slot::ForeignEarlier], 14),
    rule("override-foreign-order", STRONG_OVERRIDE, &[Slot::ForeignEarlier, Slot::ForeignOrders, Slot::ForeignIgnore], 8),
    rule("override-foreign-whole", STRONG_OVERRIDE, &[Slot::ForeignIgnore, Slot::ForeignAbove], 12),
    rule("override-foreign-whole-order", STRONG_OVERRIDE, &[Slot::ForeignAbove, Slot::ForeignIgnore], 12),

    rule("message-to-you", (Family::Addressed, Weight::Weak), &[Slot::Message, Slot::FromMe, Slot::ToYou], 40),
    rule("to-you-the-machine", (Family::Addressed, Weight::Weak), &[Slot::ToYou, Slot::Machine], 3),
    rule("call-the-machine", (Family::Addressed, Weight::Weak), &[Slot::Call, Slot::Machine], 4),
    rule("if-you-are-a-machine", (Family::Addressed, Weight::Weak), &[Slot::IfYouAre, Slot::Machine], 3),
    rule("the-machine-must", (Family::Addressed, Weight::Weak), &[Slot::Machine, Slot::Must], 3),
    rule("machine-colon", (Family::Addressed, Weight::Weak), &[Slot::MachineColon], 0),
    rule("machine-that-reads", (Family::Addressed, Weight::Weak), &[Slot::Machine, Slot::ReadsThis], 16),
    rule("machine-foreign", (Family::Addressed, Weight::Weak), &[Slot::ForeignMachine], 0),
    rule("another-role", (Family::Addressed, Weight::Weak), &[Slot::NowYouAre, Slot::Roles], 8),

    rule("before-the-task", (Family::BeforeTask, Weight::Weak), &[Slot::Before, Slot::TheTask], 24),
    rule("task-given-to-you", (Family::BeforeTask, Weight::Weak), &[Slot::TheTask, Slot::GaveYou], 8),
    rule("before-answering", (Family::BeforeTask, Weight::Weak), &[Slot::Before, Slot::Answering], 10),
    rule("before-the-reply", (Family::BeforeTask, Weight::Weak), &[Slot::BeforeReply], 0),
    rule("after-that-you-may", (Family::BeforeTask, Weight::Weak), &[Slot::AfterThat, Slot::TheTask], 30),

    rule("do-the-following", (Family::DoFollowing, Weight::Weak), &[Slot::Perform, Slot::Following], 8),
    rule("new-orders", (Family::DoFollowing, Weight::Weak), &[Slot::NewOrders], 0),
    rule("do-instead", (Family::DoFollowing, Weight::Weak), &[Slot::YouShould, Slot::Instead], 50),

    rule("pseudo-tag", (Family::PseudoTag, Weight::Weak), &[Slot::PseudoTag], 0),

    rule("do-not-tell", (Family::Secrecy, Weight::Weak), &[Slot::DoNot, Slot::Tell], 6),
    rule("without-asking", (Family::Secrecy, Weight::Weak), &[Slot::Without, Slot::Asking], 3),

    rule("keep-quiet", (Family::Secrecy, Weight::Weak), &[Slot::KeepQuiet], 0),
    rule("hush-foreign", (Family::Secrecy, Weight::Weak), &[Slot::ForeignHush, Slot::ForeignUser], 24),
    rule("hush-foreign-order", (Family::Secrecy, Weight::Weak), &[Slot::ForeignUser, Slot::ForeignHush], 16),

    rule("stop-now", (Family::Halt, Weight::Weak), &[Slot::YouShould, Slot::Stop], 14),
    rule("stop-what-you-do", (Family::Halt, Weight::Weak), &[Slot::Stop, Slot::WhatYouDo], 4),

    rule("very-important", (Family::Urgency, Weight::Weak), &[Slot::VeryImportant], 0),
    rule("shouted-important", (Family::Urgency, Weight::Weak), &[Slot::Bang], 0),

    rule("signed-by-the-user", (Family::Impersonation, Weight::Weak), &[Slot::Signed], 0),

    across(rule("send-the-secret", (Family::Exfiltration, Weight::Weak), &[Slot::Secret, Slot::SendTo], 60)),

    rule("send-a-secret", (Family::Exfiltration, Weight::Weak), &[Slot::SendVerb, Slot::Secret, Slot::ToPlace], 24),
    rule("send-foreign", (Family::Exfiltration, Weight::Weak), &[Slot::ForeignSend, Slot::ForeignSecret], 30),
    rule("send-foreign-order", (Family::Exfiltration, Weight::Weak), &[Slot::ForeignSecret, Slot::ForeignSend], 30),

    rule("hand-over", (Family::Exfiltration, Weight::Weak), &[Slot::Hand], 0),

    rule("grants-itself", (Family::SelfGrant, Weight::Weak), &[Slot::Grant], 0),
    rule("writes-the-manifest", (Family::SelfGrant, Weight::Weak), &[Slot::Manifest], 0),
];

/// The words of every slot.
#[rustfmt::skip]
pub(super) const WORDS: &[(Slot, &[&str])] = &[
    (Slot::Ignore, &[
        "ignore", "ignoring", "disregard", "disregarding", "forget", "override", "bypass", "neglect", "abandon",
        "pay no attention to", "do not follow", "don't follow", "dont follow", "stop following", "do not obey",
        "no longer follow", "set aside", "never mind",
    ]),
    (Slot::Earlier, EARLIER),
    (Slot::Orders, ORDERS),
    (Slot::AnyEarlier, &["all", "any", "those", "other", "everything", "existing", "past", "old", "former", "all of the", "all the", "any of the", "each of the"]),
    (Slot::PlainOrders, &[
        "instructions", "instruction", "prompt", "prompts", "directions", "directive", "directives", "rules", "orders",
        "guidelines", "guidance", "guardrails", "restrictions", "policies", "system message", "safeguards",
    ]),
    (Slot::Misspelt, &[
        "*tructions", "instuctions", "instrctions", "intsructions", "instrcutions", "instructons", "instructios",
    ]),
    (Slot::Whole, &["everything", "all of", "anything", "the", "all", "what was said", "whatever"]),
    (Slot::Above, &[
        "above and", "above instead", "above instructions", "you were told", "you have been told", "i said before",
        "before this message", "you were instructed", "that came before", "said above", "before this point",
        "you know about your task", "you were given", "above this line", "previously said", "prior to this message",
    ]),
    (Slot::TheUser, &[
        "the user.", "the user!", "the user and", "the user's request", "the user's instructions",
        "the users instructions", "what the user", "the user's task",
    ]),
    (Slot::Rot13Ignore, &["vtaber", "qvfertneq", "sbetrg", "bireevqr"]),
    (Slot::Rot13Earlier, &["cerivbhf", "cevbe", "rneyvre", "nobir", "lbhe"]),
    (Slot::Rot13Orders, &["vafgehpgvbaf", "vafgehpgvba", "cebzcg", "zrffntrf", "ehyrf", "pbzznaqf"]),
    (Slot::ReversedIgnore, &["erongi", "dragersid", "tegrof", "edirrevo"]),
    (Slot::ReversedEarlier, &["suoiverp", "roirp", "reilrae", "evoba", "ruoy"]),
    (Slot::ReversedOrders, &["snoitcurtsni", "noitcurtsni", "tpmorp", "segassem", "selur", "sdnammoc"]),
    (Slot::ForeignIgnore, &[
        "oubliez", "oublie", "oublier", "ignorez", "ne tenez pas compte", "ignora", "ignore as", "ignorar",
        "ignoren", "olvida", "olvide", "olviden", "haz caso omiso",
        "ignoriere", "ignorieren sie", "vergiss", "vergessen sie", "missachte", "dimentica", "ignorare", "trascura",
        "ignore todas", "esqueça", "esqueca", "desconsidere",
        "negeer", "vergeet", "zignoruj", "zapomnij", "ignorera", "glöm", "yoksay", "görmezden gel", "unut",
        "abaikan", "lupakan",
        "игнорируй", "игнорируйте", "проигнорируй", "забудь", "забудьте", "не обращай внимания на", "ігноруй",
        "забудь про",
        "忽略", "无视", "無視", "忘记", "忘掉", "不要理会", "不理会", "忽視", "무시", "잊어", "تجاهل", "تجاهلوا", "انس", "אל תתייחס",
        "התעלם", "अनदेखा", "नजरअंदाज",
    ]),
    (Slot::ForeignOrders, &[
        "consignes", "instructions", "directives",
        "instrucciones", "órdenes", "indicaciones",
        "anweisungen", "anweisung", "befehle", "instruktionen", "istruzioni", "indicazioni",
        "instruções", "instrucoes", "comandos", "instructies", "opdrachten",
        "instrukcje", "polecenia", "instruktioner", "talimatları", "talimatlar", "instruksi", "perintah",
        "инструкции", "инструкций", "указания", "команды", "інструкції", "指令", "指示", "提示词", "命令", "プロンプト",
        "지시", "명령", "التعليمات", "הוראות", "निर्देश",
    ]),
    (Slot::OverrideColon, &["override:", "system override:", "admin override:", "new directive:"]),
    (Slot::Privilege, &[
        "grant", "allow", "enable", "disable", "ignore", "bypass", "you must", "you are", "you have", "you may",
        "all safety", "safety", "security checks",
        "permissions", "execute", "run the", "send", "delete all", "disregard", "forget", "unlock", "full access",
        "admin mode", "developer mode",
    ]),
    (Slot::ToYou, &["to you"]),
    (Slot::FromMe, &[
        "from me", "from the user", "from your user", "from your developer*", "from your owner", "from the admin*",
        "from your admin*", "from the system admin*", "from anthropic", "from openai", "from google deepmind",
    ]),
    (Slot::Message, &["message", "note", "notice", "request", "instruction", "instructions", "reminder"]),
    (Slot::Machine, &[
        "ai", "assistant", "the ai", "ai language model", "an ai", "ai assistant", "ai assistants", "ai model",
        "ai models", "ai agent", "ai agents", "a.i.", "language model", "language models",
        "large language model", "llm", "llms", "chatbot", "chatgpt", "gpt*", "claude", "gemini", "llama", "mistral",
        "mixtral", "qwen", "deepseek", "copilot", "command r", "command r+", "local model",
        "ai system", "ai systems", "an assistant", "whatever assistant", "automated assistant", "automated assistants",
        "automated agents", "agents", "ai tool", "ai tools", "bots",
        "the assistant", "dear assistant", "virtual assistant", "the model", "the agent", "this agent",
        "automated agent", "the language model", "this assistant",
    ]),
    (Slot::Call, &[
        "dear", "attention", "hey", "hello", "note to", "note for", "instructions for", "instruction for",
        "message for", "message to", "important for", "notice to", "warning to", "listen",
    ]),
    (Slot::IfYouAre, &["if you are", "if you're", "as you are", "since you are", "you are"]),
    (Slot::Must, &[
        "must now", "must", "should now", "is required to", "has to", "will now", "shall", "needs to now",
        "is instructed to", "are instructed to", "are required to",
    ]),
    (Slot::Before, &[
        "before you can", "before you", "before doing anything", "before starting", "before continuing",
        "before proceeding", "before using this tool", "prior to", "first of all before",
    ]),
    (Slot::TheTask, &[
        "the task", "your task", "the original task", "your original task", "the user's task", "the users task",
        "the initial task", "the user's request", "your current task", "the user's query", "my task",
        "my original task",
    ]),
    (Slot::GaveYou, &[
        "i gave you", "you were given", "given to you", "the user gave you", "you have been given",
        "i assigned you", "in the beginning",
    ]),
    (Slot::AfterThat, &[
        "after you do that", "after that you can", "after doing so", "once you have done", "once done you",
        "when you are done with this", "after completing this", "only then", "then you can",
    ]),
    (Slot::Answering, &[
        "answering", "answer the", "respond", "responding", "reply", "proceed", "continue", "do anything else",
        "anything else", "read*", "use any other tool",
    ]),
    (Slot::Perform, &[
        "do", "perform", "execute", "adhere to", "adhere strictly to", "follow", "obey", "comply with", "carry out",
        "complete", "run", "strictly follow",
    ]),
    (Slot::Following, &[
        "the following first", "the following instruction*", "the following steps first", "the following task*",
        "the following action*", "the following command*", "following instruction*", "these instructions exactly",
        "the following functions", "the following tool*", "these instructions instead",
    ]),
    (Slot::NewOrders, &[
        "new instructions:", "updated instructions:", "your new task is", "your real task is",
        "your new instructions", "your new goal is", "real instructions:", "new task:", "additional instructions:",
        "your actual task",
    ]),
    (Slot::PseudoTag, &[
        "<information>", "</information>", "<important>", "</important>", "<instructions>", "<instruction>",
        "<system>", "</system>", "<admin>", "<urgent>", "<priority>", "<attention>",
        "<important_instructions>", "<critical>", "<secret>", "<hidden>", "<override>", "<message_from_user>",
        "<user_request>", "<developer>", "<assistant>", "<new_instructions>",
        "[system message]", "[important]", "[system]", "[admin]", "[instruction]", "[system note]",
        "[system instruction]", "system instruction:", "important system instruction:", "system note:",
        "system notice:", "system message:", "[hidden instruction]", "{{system}}",
    ]),
    (Slot::DoNot, &["do not", "don't", "dont", "never", "must not", "avoid"]),
    (Slot::Tell, &[
        "tell the user", "inform the user", "mention this", "mention it to", "reveal this", "notify the user",
        "alert the user", "disclose this", "let the user know", "show this to the user",
        "tell anyone", "ask the user", "ask for confirmation", "ask the user for", "mention these",
        "mention that you", "reveal that", "tell me about this", "report this", "explain this to the user",
    ]),
    (Slot::Without, &["without"]),
    (Slot::Asking, &[
        "notifying the reporter", "notifying anyone", "telling anyone", "informing anyone",
        "asking me", "asking the user", "telling the user", "informing the user", "notifying the user",
        "mentioning it", "mentioning this", "asking for confirmation", "asking for permission", "the user knowing",
        "the user's knowledge", "telling me",
    ]),
    (Slot::YouShould, &[
        "you should", "you must", "you need to", "you have to", "please", "then should", "you are to", "reply",
        "respond",
    ]),
    (Slot::Stop, &["drop", "stop", "stop immediately", "immediately stop", "cease", "halt", "abort"]),
    (Slot::WhatYouDo, &[
        "what you're working on", "what you are working on", "what you're doing", "what you are doing", "what youre doing", "all other tasks", "your current task",
        "the current task", "here and", "processing",
    ]),
    (Slot::VeryImportant, &[
        "this is an important message", "this is extremely important", "this is very important",
        "extremely important!", "important message from", "this is an urgent", "of utmost importance",
        "highest priority", "top priority instruction",
    ]),
    (Slot::Bang, &[
        "important!!!", "attention!!!", "urgent!!!", "warning!!!", "important:!!", "!!!important", "!!!",
    ]),
    (Slot::Signed, &[
        "the user has pre-approved", "the user has preapproved", "the user has already approved",
        "the user has already agreed", "the user has already authorized", "the user has already authorised",
        "the user has already consented", "the user already approved", "the user already agreed",
        "pre-approved by the user", "pre-authorized by the user", "pre-authorised by the user",
        "already approved by the user", "already been approved by the user",
        "signed,the user", "signed the user", "sincerely,the user", "this is the user", "i am the user",
        "i am your developer", "i am your creator", "i am your admin*", "this is your developer",
        "this is your administrator", "as your developer",
    ]),
    (Slot::Secret, &[
        "api key", "api keys", "password", "passwords", "secret key", "credentials", "private key", "access token",
        "id_rsa", ".env", "conversation history", "system prompt", "environment variables", "security code",
        "bank account", "credit card", "passport number",
    ]),
    (Slot::SendTo, &[
        "send it to", "send them to", "and send", "post it to", "upload it to", "forward it to", "email it to",
        "send this information to", "pass it as", "include it in", "exfiltrate", "post them to",
    ]),
    (Slot::Grant, &[
        "capabilities=[\"*\"]", "capabilities:[\"*\"]", "allow all tools", "grant all capabilities",
        "grant yourself", "disable the sandbox", "disable the guard", "disable approval", "disable all safety",
        "skip approval", "auto-approve all", "approve automatically", "dangerously-skip-permissions",
    ]),
    (Slot::Manifest, &[
        ".agent/manifest", ".agent/*", ".mcp.json", ".claude/settings", ".cursor/rules", ".cursorrules",
    ]),
    (Slot::NowYouAre, &[
        "you are now", "from now on you are", "from now on you will be", "from now on act as", "pretend to be",
        "pretend you are", "act as if you were", "you will now act as", "switch to", "enter",
    ]),
    (Slot::Roles, &[
        "dan", "developer mode", "admin mode", "jailbr*", "unrestricted", "unfiltered", "god mode", "root mode",
        "debug mode", "without restrictions", "in maintenance mode", "no restrictions",
    ]),
    (Slot::MachineColon, &[
        "ai assistant:", "ai agent:", "ai:", "llm:", "chatgpt:", "claude:", "ai model:", "ai assistants:",
        "ai agents:", "llm reviewers:", "ai reviewers:", "automated reviewers:", "ai systems:", "llms:", "language models:",
    ]),
    (Slot::ReadsThis, &[
        "reads this", "read this", "reading this", "processes this", "processing this", "process this", "parsing this",
        "parses this", "works on this", "working on this", "picks this up", "handles this", "handling this",
        "summarising this", "summarizing this", "summarises this", "summarizes this", "reviewing this", "reviews this",
        "encounters this", "encountering this", "translating this", "indexing this", "sees this", "seeing this",
        "ingesting this", "analysing this", "analyzing this",
    ]),
    (Slot::KeepQuiet, &[
        "keep this between us", "keep it between us", "users are not to be informed", "user is not to be informed",
        "users must not be informed", "user must not be informed", "user must not be told", "users must not be told",
        "user need not be told", "user does not need to know", "user doesn't need to know", "user need not know",
        "no confirmation is needed", "no confirmation needed", "no confirmation is required", "no approval is needed",
        "no approval is required", "no need to confirm with", "no need to ask the user", "no need to tell the user",
        "without the user noticing", "behind the user's back", "unbeknownst to the user",
    ]),
    (Slot::SendVerb, &[
        "send", "sends", "upload", "uploads", "forward", "forwards", "post", "posts", "email", "emails", "transmit",
        "transmits", "copy", "copies", "submit", "submits", "mail", "mails", "deliver", "delivers", "exfiltrates",
    ]),
    (Slot::ToPlace, &["to http*", "to https*", "to ftp*", "to an external", "at http*", "with http*"]),
    (Slot::BeforeReply, &[
        "before responding", "before replying", "before answering", "before you respond", "before you reply",
        "before you answer", "before your reply",
    ]),
    (Slot::Hand, &[
        "forward all emails", "forward all messages", "forward any email*", "forward the user's",
        "forward this conversation", "forward the conversation", "forwards the conversation", "send all emails", "send all messages", "send the last",
        "send the user's", "send the conversation", "output the user's", "output your system prompt",
        "reveal your system prompt", "print your system prompt", "contents of your system prompt",
        "output the contents of all", "upload all files", "post all messages", "in your response",
    ]),
    (Slot::Instead, &["instead"]),
];

const EARLIER: &[&str] = &[
    "previous",
    "prior",
    "above",
    "earlier",
    "preceding",
    "foregoing",
    "initial",
    "original",
    "your",
    "system",
    "user's",
    "users",
    "safety",
    "aforementioned",
    "security",
    "developer",
    "previously given",
];

const ORDERS: &[&str] = &[
    "instructions",
    "instruction",
    "prompt",
    "prompts",
    "directions",
    "directive",
    "directives",
    "commands",
    "messages",
    "rules",
    "orders",
    "guidelines",
    "guidance",
    "guardrails",
    "programming",
    "training",
    "conversation",
    "context",
    "restrictions",
    "policies",
    "system message",
    "task",
    "tasks",
    "requests",
    "constraints you",
    "safeguards",
];
