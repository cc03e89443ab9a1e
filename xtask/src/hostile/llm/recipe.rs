//! From the words of a case to servers that do what they say.

use std::time::Duration;

use anyhow::{Result, ensure};
use bowline_core::event::Event;
use bowline_core::message::Stop;
use bowline_core::task::Format;
use bowline_remote::double::{Play, Then};
use serde_json::json;

use super::dialect::{Dialect, End, Reply, quoted};
use super::stage::{KEY, Outcome, Scene};

/// Most memory that a reply without end may cost.
const MEMORY_MAX: u64 = 128 << 20;

/// The scenes of a case; `None` for words nobody knows.
pub(crate) fn scenes(input: &str) -> Option<Vec<Scene>> {
    let families = [bodies, arguments, streams, usage, sizes, names, calls, circles, http, secrets, money];
    families.iter().find_map(|family| family(input))
}

/// In every format, both ways.
fn everywhere(scene: impl Fn(Dialect) -> Scene) -> Option<Vec<Scene>> {
    Some(Dialect::all().into_iter().map(scene).collect())
}

fn where_it_is(fits: impl Fn(&Dialect) -> bool, scene: impl Fn(Dialect) -> Scene) -> Option<Vec<Scene>> {
    Some(Dialect::all().into_iter().filter(fits).map(scene).collect())
}

fn streamed(scene: impl Fn(Dialect) -> Scene) -> Option<Vec<Scene>> {
    where_it_is(|dialect| dialect.streaming, scene)
}

/// The server always says these bytes.
fn always(dialect: Dialect, bytes: &str) -> Scene {
    Scene::new(dialect, vec![dialect.raw(bytes)])
}

/// The model asks for a call with these arguments, and is done after that.
fn with_args(dialect: Dialect, args: &str) -> Scene {
    Scene::new(dialect, vec![dialect.reply(&Reply::call(args)), done(dialect)])
}

fn done(dialect: Dialect) -> Play {
    dialect.reply(&Reply::say("done"))
}

fn ran_once(outcome: &Outcome) -> Result<()> {
    ensure!(outcome.ran.len() == 1, "the call ran {} times", outcome.ran.len());
    Ok(())
}

fn nested(depth: usize) -> String {
    format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth))
}

fn bodies(input: &str) -> Option<Vec<Scene>> {
    match input {
        "body is empty" => everywhere(|dialect| always(dialect, "")),
        "body is HTML 502 page with status 200" => everywhere(|dialect| {
            let page = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
            let play = dialect.raw(page).header("content-type", "text/html");
            Scene::new(dialect, vec![play])
        }),
        "body with a trailing second JSON value" => where_it_is(
            |dialect| !dialect.streaming,
            |dialect| {
                let reply = dialect.whole(&Reply::call("{}"));
                always(dialect, &format!("{reply}\n{reply}"))
            },
        ),
        "body is JSON of another shape" => everywhere(|dialect| {
            let play = dialect.raw("{\"hello\": [1, 2, {\"world\": null}]}");
            Scene::new(dialect, vec![play.header("content-type", "application/json")])
        }),
        "body is cut in the middle" => where_it_is(
            |dialect| !dialect.streaming,
            |dialect| {
                let reply = dialect.whole(&Reply::call("{\"a\": 1}"));
                always(dialect, reply.get(..reply.len() / 2).unwrap_or_default())
            },
        ),
        "body is not UTF-8" => everywhere(|dialect| {
            let mut play = dialect.raw("");
            play.pieces.push((Duration::ZERO, b"\xff\xfe\xfd\n\n".to_vec()));
            Scene::new(dialect, vec![play])
        }),
        "100,000 nested arrays beside the answer" => where_it_is(
            |dialect| !dialect.streaming,
            |dialect| {
                let reply = dialect.whole(&Reply::say("done"));
                let deep = format!("{{\"junk\":{},{}", nested(100_000), reply.get(1..).unwrap_or_default());
                always(dialect, &deep)
            },
        ),
        _ => None,
    }
}

fn arguments(input: &str) -> Option<Vec<Scene>> {
    match input {
        "10,000 nested arrays in tool arguments" => everywhere(|dialect| with_args(dialect, &nested(10_000))),
        "tool arguments are a string with JSON inside JSON twice" => everywhere(|dialect| {
            let twice = quoted(&quoted("{\"a\": 1}"));
            // Where arguments are a text, that is one level already.
            with_args(dialect, &if dialect.has_text_arguments() { quoted("{\"a\": 1}") } else { twice })
        }),
        "tool arguments are a string with JSON inside" => where_it_is(
            |dialect| {
                let comes_as_text = dialect.format == Format::Anthropic && dialect.streaming;
                !dialect.has_text_arguments() && !comes_as_text
            },
            |dialect| with_args(dialect, &quoted("{\"a\": 1}")).also(ran_once),
        ),
        "tool arguments are an array" => everywhere(|dialect| with_args(dialect, "[1, 2]")),
        "tool arguments hold a key twice" => everywhere(|dialect| with_args(dialect, "{\"a\": 1, \"a\": 2}")),
        "tool arguments are empty" => where_it_is(
            |dialect| dialect.has_text_arguments(),
            |dialect| with_args(dialect, "").also(ran_once),
        ),
        "tool arguments are cut JSON" => where_it_is(
            |dialect| dialect.has_text_arguments(),
            |dialect| with_args(dialect, "{\"path\": \"a"),
        ),
        "integer 9007199254740993 in arguments" => everywhere(|dialect| {
            with_args(dialect, "{\"n\": 9007199254740993}").also(|outcome| {
                ensure!(outcome.ran == [json!({"n": 9_007_199_254_740_993_u64})], "{:?}", outcome.ran);
                Ok(())
            })
        }),
        "lone surrogate \\ud800 in a string" => {
            everywhere(|dialect| with_args(dialect, r#"{"a": "\ud800"}"#))
        }
        "key __proto__ and constructor in arguments" => everywhere(|dialect| {
            let args = r#"{"__proto__": {"x": 1}, "constructor": "y"}"#;
            with_args(dialect, args).also(|outcome| {
                let want = json!({"__proto__": {"x": 1}, "constructor": "y"});
                ensure!(outcome.ran == [want], "{:?}", outcome.ran);
                Ok(())
            })
        }),
        _ => None,
    }
}

/// Replies without end.
fn sizes(input: &str) -> Option<Vec<Scene>> {
    match input {
        "200 MB body without content-length" | "1 GB stream of comments" => where_it_is(
            // Streams differ by how they are cut into pieces alone.
            |dialect| !dialect.streaming || matches!(dialect.format, Format::Openai | Format::Ollama),
            |dialect| {
                let line = match (dialect.streaming, dialect.format) {
                    (false, _) => "x".repeat(1 << 16),
                    (true, Format::Ollama) => format!("{}\n", " ".repeat(1 << 16)),
                    (true, _) => format!(": {}\n", "x".repeat(1 << 16)),
                };
                let begun = if dialect.streaming { "" } else { "{\"a\":\"" };
                let endless = dialect.raw(begun).then(Then::Forever(Duration::ZERO, line.into_bytes()));
                let before = memory();
                Scene::new(dialect, vec![endless]).also(move |_| {
                    let grown = memory().saturating_sub(before);
                    ensure!(grown < MEMORY_MAX, "{} MB more were held", grown >> 20);
                    Ok(())
                })
            },
        ),
        _ => None,
    }
}

fn streams(input: &str) -> Option<Vec<Scene>> {
    let call = Reply::call("{\"path\": \"somewhere\"}");
    match input {
        "stream cut inside a tool call's arguments" => streamed(|dialect| {
            let stream = dialect.stream(&call);
            let at = stream.find("somewhere").unwrap_or(stream.len());
            always(dialect, stream.get(..at).unwrap_or_default())
        }),
        "stream ends after a whole call, without its last event" => streamed(|dialect| {
            let stream = dialect.stream(&call);
            let last = dialect.final_event(&call);
            always(dialect, stream.strip_suffix(&last).unwrap_or_default())
        }),
        "stream closed in the middle of a chunk" => streamed(|dialect| {
            let play = dialect.raw(&dialect.token("half")).then(Then::Cut);
            Scene::new(dialect, vec![play])
        }),
        "CRLF, LF and CR line ends mixed" => streamed(|dialect| {
            let mixed = |text: String| {
                let ends = ["\r\n", "\n", "\r"];
                let lines = text.split('\n').zip(ends.iter().cycle());
                lines.map(|(line, end)| format!("{line}{end}")).collect::<String>()
            };
            let plays = [&call, &Reply::say("done")].map(|reply| dialect.raw(&mixed(dialect.stream(reply))));
            Scene::new(dialect, plays.to_vec()).also(ran_once)
        }),
        "one byte at a time" => streamed(|dialect| {
            let plays = [&call, &Reply::say("done ä😀")].map(|reply| {
                let stream = dialect.stream(reply);
                let pieces = stream.bytes().map(|byte| (Duration::ZERO, vec![byte]));
                Play { pieces: pieces.collect(), ..dialect.raw("") }
            });
            Scene::new(dialect, plays.to_vec()).also(ran_once)
        }),
        "one token each 30 s" => streamed(|dialect| {
            let drip = Then::Forever(Duration::from_secs(30), dialect.token("x").into_bytes());
            Scene::new(dialect, vec![dialect.raw("").then(drip)])
        }),
        "silence after half the text" => streamed(|dialect| {
            Scene::new(dialect, vec![dialect.raw(&dialect.token("half")).then(Then::Silence)])
        }),
        "10 MB single data line" => streamed(|dialect| {
            let line = dialect.token(&"x".repeat(10 << 20));
            always(dialect, &line)
        }),
        "error event after half the text" => streamed(|dialect| {
            let stream = format!("{}{}", dialect.token("half"), dialect.error());
            always(dialect, &format!("{stream}{}", dialect.stream(&call)))
        }),
        "two final events" => streamed(|dialect| {
            let (first, second) = (Reply::say("done"), Reply::call("{}"));
            let both = format!("{}{}", dialect.stream(&first), dialect.stream(&second));
            always(dialect, &both).also(|outcome| {
                ensure!(outcome.ran.is_empty() && outcome.seen.len() == 1, "the second one counted");
                ensure!(outcome.shown == "done", "{:?} was shown", outcome.shown);
                Ok(())
            })
        }),
        "text without end" => streamed(|dialect| {
            let endless = Then::Forever(Duration::ZERO, dialect.token(&"x".repeat(4096)).into_bytes());
            Scene::new(dialect, vec![dialect.raw("").then(endless)])
        }),
        _ => None,
    }
}

fn usage(input: &str) -> Option<Vec<Scene>> {
    match input {
        "usage 18446744073709551615 tokens" => everywhere(|dialect| {
            let most = "18446744073709551615";
            let greedy = Reply::call("{\"a\": 1}").using(most, most);
            Scene::new(dialect, vec![dialect.reply(&greedy), done(dialect)])
        }),
        "usage below nothing" | "usage that is no number" => everywhere(|dialect| {
            let odd = if input.ends_with("nothing") { "-5" } else { "\"many\"" };
            let reply = Reply::say("done").using(odd, odd);
            Scene::new(dialect, vec![dialect.reply(&reply)]).also(|outcome| {
                let used = outcome.events.iter().any(
                    |event| matches!(event, Event::StepFinished { usage, .. } if usage.input > 0 && usage.output > 0),
                );
                ensure!(used, "the reply cost nothing");
                Ok(())
            })
        }),
        _ => None,
    }
}

fn names(input: &str) -> Option<Vec<Scene>> {
    let with_id = |id: String| {
        where_it_is(
            |dialect| dialect.has_ids(),
            move |dialect| {
                let call = Reply::calls(&[(&id, "note", "{}")]);
                Scene::new(dialect, vec![dialect.reply(&call), done(dialect)])
            },
        )
    };
    match input {
        "call id of 1 MB" => with_id("x".repeat(1 << 20)),
        "call id with newline and escape codes" => with_id("a\n\u{1b}[31mroot: ok".to_owned()),
        "two calls with one id" => everywhere(|dialect| {
            let twins = Reply::calls(&[("c", "note", "{\"a\": 1}"), ("c", "note", "{\"a\": 2}")]);
            Scene::new(dialect, vec![dialect.reply(&twins), done(dialect)]).also(|outcome| {
                ensure!(outcome.ran.len() == 2, "{} ran", outcome.ran.len());
                Ok(())
            })
        }),
        "calls without an id" => everywhere(|dialect| {
            let twins = Reply::calls(&[("", "note", "{\"a\": 1}"), ("", "note", "{\"a\": 2}")]);
            Scene::new(dialect, vec![dialect.reply(&twins), done(dialect)]).also(|outcome| {
                ensure!(outcome.ran.len() == 2, "{} ran", outcome.ran.len());
                Ok(())
            })
        }),
        _ => None,
    }
}

fn calls(input: &str) -> Option<Vec<Scene>> {
    match input {
        "2,000 calls in one reply" => everywhere(|dialect| {
            let many: Vec<(String, String)> =
                (0..2000).map(|n| (format!("c{n}"), format!("{{\"n\":{n}}}"))).collect();
            let many: Vec<(&str, &str, &str)> =
                many.iter().map(|(id, args)| (id.as_str(), "note", args.as_str())).collect();
            Scene::new(dialect, vec![dialect.reply(&Reply::calls(&many))])
        }),
        "call to a tool that does not exist" => everywhere(|dialect| {
            let call = Reply::calls(&[("c", "launch_rockets", "{}")]);
            Scene::new(dialect, vec![dialect.reply(&call), done(dialect)]).also(|outcome| {
                let named = outcome.refusals().iter().any(|told| told.contains("launch_rockets"));
                ensure!(named, "the tool is not named");
                Ok(())
            })
        }),
        "call to a tool without a name" => everywhere(|dialect| {
            Scene::new(dialect, vec![dialect.reply(&Reply::calls(&[("c", "", "{}")])), done(dialect)])
        }),
        "call and end-of-turn in one reply" => everywhere(|dialect| {
            let call = Reply::call("{\"a\": 1}").ending(End::Turn);
            Scene::new(dialect, vec![dialect.reply(&call), done(dialect)]).also(ran_once)
        }),
        "call in a reply cut by its limit" => everywhere(|dialect| {
            let cut = Reply::call("{\"a\": 1}").ending(End::Length);
            Scene::new(dialect, vec![dialect.reply(&cut), done(dialect)]).also(|outcome| {
                ensure!(outcome.ran.is_empty(), "a call of a cut reply ran");
                Ok(())
            })
        }),
        "every reply cut by its limit" => everywhere(|dialect| {
            Scene::new(dialect, vec![dialect.reply(&Reply::call("{\"a\": 1}").ending(End::Length))])
        }),
        "stop reason tool_use without any call" => where_it_is(
            // Only these have a word for it.
            |dialect| matches!(dialect.format, Format::Openai | Format::Anthropic),
            |dialect| Scene::new(dialect, vec![dialect.reply(&Reply::say("I call").ending(End::Calls))]),
        ),
        _ => None,
    }
}

/// The same again and again.
fn circles(input: &str) -> Option<Vec<Scene>> {
    let each = |args: fn(usize) -> String| {
        everywhere(move |dialect| {
            let plays = (0..60).map(|turn| {
                let (id, args) = (format!("c{turn}"), args(turn));
                dialect.reply(&Reply::calls(&[(&id, "note", &args)]))
            });
            Scene::new(dialect, plays.collect())
        })
    };
    match input {
        "same call with keys in another order" => each(|turn| {
            let (a, b) = ("\"a\": 1", "\"b\": [2, {\"c\": 3}]");
            if turn % 2 == 0 { format!("{{{a}, {b}}}") } else { format!("{{{b},{a}}}") }
        }),
        "same call with a counter in a comment field" => {
            each(|turn| format!("{{\"path\": \"a\", \"comment\": \"try {turn}\"}}"))
        }
        "A,B,A,B,A,B" => each(|turn| format!("{{\"path\": \"{}\"}}", if turn % 2 == 0 { "a" } else { "b" })),
        _ => None,
    }
}

fn http(input: &str) -> Option<Vec<Scene>> {
    let status = |status: u16, body: &'static str| {
        everywhere(move |dialect| Scene::new(dialect, vec![Play::json(status, body)]))
    };
    match input {
        "429 with retry-after 1 year" => everywhere(|dialect| {
            let play =
                Play::json(429, "{\"error\":{\"message\":\"later\"}}").header("retry-after", "31536000");
            Scene::new(dialect, vec![play]).requests(1)
        }),
        "429 with retry-after 2 s, twice" => everywhere(|dialect| {
            let later = Play::json(429, "{\"error\":{\"message\":\"later\"}}").header("retry-after", "2");
            Scene::new(dialect, vec![later.clone(), later, done(dialect)])
        }),
        "500 ten times then ok" => everywhere(|dialect| {
            let mut plays = vec![Play::json(500, "{\"error\":{\"message\":\"oops\"}}"); 10];
            plays.push(done(dialect));
            Scene::new(dialect, plays).task(json!({"limits": {"attempts": 11}}))
        }),
        "529 for ever" => status(529, "{\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}"),
        "401 with the key quoted back" => everywhere(|dialect| {
            let body = json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}});
            Scene::new(dialect, vec![Play::json(401, &body.to_string())])
        }),
        "429 because the quota is used up" => {
            status(429, "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"pay\"}}")
        }
        "400 because the prompt is too long" => {
            status(400, "{\"error\":{\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}}")
        }
        "404 because there is no such model" => status(404, "{\"error\":{\"message\":\"model not found\"}}"),
        "connection reset after the request was sent" => everywhere(|dialect| {
            Scene::new(dialect, vec![dialect.raw("").then(Then::Nothing)]).also(|outcome| {
                let lost =
                    outcome.events.iter().filter(|event| matches!(event, Event::StepFailed { .. })).count();
                ensure!(lost == 3, "{lost} attempts were written down");
                Ok(())
            })
        }),
        "redirect from the model endpoint to another host" => everywhere(|dialect| {
            let play = Play::json(307, "").header("location", "https://evil.example/v1/messages");
            Scene::new(dialect, vec![play])
        }),
        _ => None,
    }
}

fn secrets(input: &str) -> Option<Vec<Scene>> {
    match input {
        "model repeats its whole system prompt and the API key from the environment" => {
            everywhere(|dialect| {
                let reply = Reply::say(&format!("You are told to work. My key is {KEY}, and so on."));
                Scene::new(dialect, vec![dialect.reply(&reply)]).also(|outcome| {
                    ensure!(outcome.kept.contains("[secret LLM_KEY]"), "the key is not marked as hidden");
                    ensure!(outcome.shown.contains("My key is [secret"), "{:?} was shown", outcome.shown);
                    Ok(())
                })
            })
        }
        "model streams the API key in pieces of two characters" => streamed(|dialect| {
            let text = format!("My key is {KEY}, and so on.");
            let pieces: Vec<String> =
                text.as_bytes().chunks(2).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect();
            let mut stream: String = pieces.iter().map(|piece| dialect.token(piece)).collect();
            stream.push_str(&dialect.final_event(&Reply::say("")));
            always(dialect, &stream).also(|outcome| {
                ensure!(outcome.shown == "My key is [secret LLM_KEY], and so on.", "{:?}", outcome.shown);
                Ok(())
            })
        }),
        "reply is 5 MB of one character" => everywhere(|dialect| {
            // Tokens of a stream are small; a line of 5 MB is another case.
            let long = if dialect.streaming {
                let tokens: String = std::iter::repeat_n(dialect.token(&"x".repeat(1 << 14)), 320).collect();
                dialect.raw(&format!("{tokens}{}", dialect.final_event(&Reply::say(""))))
            } else {
                dialect.reply(&Reply::say(&"x".repeat(5 << 20)))
            };
            Scene::new(dialect, vec![long, done(dialect)]).also(|outcome| {
                let cut = outcome.events.iter().any(
                    |event| matches!(event, Event::StepFinished { stop: Stop::Truncated, text, .. } if text.len() < 2 << 20),
                );
                ensure!(cut, "it was not cut");
                Ok(())
            })
        }),
        _ => None,
    }
}

fn money(input: &str) -> Option<Vec<Scene>> {
    match input {
        "price table lacks the model" => everywhere(|dialect| {
            Scene::new(dialect, vec![done(dialect)]).table(json!({"price": null})).also(|outcome| {
                let told = outcome.refused.as_deref().unwrap_or_default();
                ensure!(
                    told.contains("nobody knows what it costs") && told.contains("free = true"),
                    "{told}"
                );
                Ok(())
            })
        }),
        "costs that add up to exactly the budget" => everywhere(|dialect| {
            // 50,000 input tokens at a dollar the million are half of ten cents.
            let half = |reply: Reply| dialect.reply(&reply.using("50000", "0"));
            let plays = vec![half(Reply::call("{\"a\": 1}")), half(Reply::say("done"))];
            Scene::new(dialect, plays).task(json!({"limits": {"cost_usd": 0.1}}))
        }),
        "costs that are a millionth above the budget" => everywhere(|dialect| {
            let costs = |reply: Reply, tokens: &str| dialect.reply(&reply.using(tokens, "0"));
            let plays = vec![
                costs(Reply::call("{\"a\": 1}"), "50000"),
                costs(Reply::call("{\"a\": 2}"), "50001"),
                done(dialect),
            ];
            Scene::new(dialect, plays).task(json!({"limits": {"cost_usd": 0.1}}))
        }),
        "crash after the paid call, before its record" => everywhere(|dialect| {
            let silent = dialect.raw("").then(Then::Silence);
            let mut scene = Scene::new(dialect, vec![silent, done(dialect)]).also(|outcome| {
                let reserved = outcome.events.iter().find_map(|event| match event {
                    Event::StepStarted { reserved, .. } => Some(*reserved),
                    _ => None,
                });
                let reserved = reserved.map_or(0, |cost| cost.micros);
                let spent = outcome.spent_micros;
                // The reply itself costs 100 + 2 · 10.
                ensure!(reserved > 0 && spent == reserved + 120, "{spent} of {reserved} + 120");
                Ok(())
            });
            scene.crashes = true;
            scene
        }),
        _ => None,
    }
}

/// What the process holds now, where the system tells.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()).map_or(0, |kb| kb * 1024)
}
