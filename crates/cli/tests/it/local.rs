//! The embedded model from the command line, on a tiny model of random weights.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::tiny::Tiny;
use crate::{HELLO, PLAIN, Place, Ran, ran};

const TASK: &str = r#"
goal = "Read the invoice: number 17, 12.50 EUR, paid."
review = "never"
sandbox = "none"
[output.schema]
type = "object"
required = ["number", "total", "paid"]
additionalProperties = false
[output.schema.properties]
number = { type = "string", maxLength = 12 }
total = { type = "number", minimum = 0 }
paid = { type = "boolean" }
"#;

/// A place with weights in a file, and a store of weights of its own.
fn place() -> Place {
    let place = Place::new();
    Tiny { context: 16_384, ..Tiny::default() }.write(&place.path("tiny.gguf"));
    place
}

fn command(place: &Place, words: &[&str]) -> Command {
    let mut command = place.command(words);
    command.env("BOWLINE_MODELS", place.path("weights"));
    command
}

fn bowline(place: &Place, words: &[&str]) -> Ran {
    ran(command(place, words))
}

/// The record a run has put out.
fn record(place: &Place) -> Value {
    let output = place.read(&format!("home/results/{}/output.txt", place.last()));
    serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error}: {output}"))
}

#[test]
fn random_weights_that_were_imported_commit_json_that_fits_the_schema() {
    let place = place();
    let imported = bowline(&place, &["model", "import", "tiny.gguf", "--name", "mine", "--json"]).ends(0);
    assert_eq!(imported.objects()[0]["name"], "mine");
    place.write("task/task.toml", &format!("model = \"local:mine\"\n{TASK}"));
    bowline(&place, &["run", "task"]).ends(0).says("committed");
    let record = record(&place);
    assert!(record["number"].is_string() && record["total"].is_number() && record["paid"].is_boolean());
}

#[test]
fn a_path_beside_the_task_is_a_model_too_and_a_sovereign_run_may_use_it() {
    let place = place();
    let task = format!("model = \"local:../tiny.gguf\"\nprivacy = \"sovereign\"\n{TASK}");
    place.write("task/task.toml", &task.replace("sandbox = \"none\"\n", ""));
    bowline(&place, &["run", "task"]).ends(0).says("committed");
    assert!(record(&place)["paid"].is_boolean());
    assert!(!place.path("weights").exists(), "nothing was taken in");
}

#[test]
fn weights_are_listed_and_removed_by_name() {
    let place = place();
    bowline(&place, &["model", "list"]).ends(0).says("smollm2-135m").says("Apache-2.0").says("can be pulled");
    bowline(&place, &["model", "import", "tiny.gguf"]).ends(0).says("local:tiny");
    let listed = bowline(&place, &["model", "list", "--json"]).ends(0).objects();
    let here: Vec<_> = listed.iter().filter(|kept| kept["present"] == true).collect();
    assert_eq!(here.len(), 1);
    assert_eq!(here[0]["name"], "tiny");
    assert!(fs::exists(here[0]["path"].as_str().unwrap()).unwrap());
    assert_eq!(listed[1]["name"], "smollm2-135m");
    assert_eq!(listed[1]["present"], false);
    bowline(&place, &["model", "remove", "tinny"]).ends(2).complains("did you mean tiny?");
    bowline(&place, &["model", "remove", "tiny"]).ends(0).says("tiny is removed");
    bowline(&place, &["model", "remove", "tiny"]).ends(2).complains("there are no weights called tiny here");
    assert!(!fs::exists(here[0]["path"].as_str().unwrap()).unwrap());
}

#[test]
fn a_damaged_file_is_refused_before_anything_starts() {
    let place = place();
    let whole = fs::read(place.path("tiny.gguf")).unwrap();
    fs::write(place.path("cut.gguf"), &whole[..whole.len() / 2]).unwrap();
    fs::write(place.path("text.gguf"), "not weights").unwrap();
    for (file, words) in [("cut", "is damaged"), ("text", "is not a GGUF file"), ("gone", "cannot read")] {
        let name = format!("{file}.gguf");
        bowline(&place, &["model", "import", &name]).ends(2).complains(words);
        place.write("task/task.toml", &format!("model = \"local:../{name}\"\n{TASK}"));
        bowline(&place, &["run", "task"]).ends(2).complains(words).complains(&name);
    }
    assert_eq!(bowline(&place, &["runs", "--json"]).good(), "", "nothing was submitted");
}

#[test]
fn a_name_that_is_not_here_says_what_is_and_what_can_be_had() {
    let place = place();
    bowline(&place, &["model", "import", "tiny.gguf"]).ends(0);
    place.write("task/task.toml", &format!("model = \"local:smolm2-135m\"\n{TASK}"));
    bowline(&place, &["run", "task"])
        .ends(2)
        .complains("there are no weights called \"smolm2-135m\"; here are: tiny;")
        .complains("did you mean smollm2-135m?");
    bowline(&place, &["model", "pull", "smollm2"]).ends(2).complains("did you mean smollm2-135m?");
    bowline(&place, &["model", "bench", "smollm2-135m"]).ends(2).complains("bowline model pull smollm2-135m");
    bowline(&place, &["model", "import", "tiny.gguf", "--name", "smollm2-135m"])
        .ends(2)
        .complains("has the checksum");
    place.task(PLAIN, HELLO).write("task/task.toml", "goal = \"x\"\nmodel = \"gpt:x\"\n");
    bowline(&place, &["run", "task"]).ends(2).complains("scripted:PATH, local:NAME-OR-PATH, openai:NAME");
}

#[test]
fn nothing_is_fetched_for_a_sovereign_run() {
    let place = place();
    let task = format!("model = \"local:smollm2-135m\"\nprivacy = \"sovereign\"\n{TASK}");
    place.write("task/task.toml", &task.replace("sandbox = \"none\"\n", ""));
    bowline(&place, &["run", "task"])
        .ends(2)
        .complains("nothing is fetched for a sovereign run")
        .complains("bowline model pull smollm2-135m");
    assert!(!place.path("weights").exists());
}

#[test]
fn the_speed_of_a_file_is_measured() {
    let place = place();
    let measured = bowline(&place, &["model", "bench", "./tiny.gguf", "--threads", "1", "--json"]).ends(0);
    let told = &measured.objects()[0];
    assert!(told["prompt_tokens_per_second"].as_f64().unwrap() > 0.0, "{told}");
    assert!(told["decode_tokens_per_second"].as_f64().unwrap() > 0.0, "{told}");
    assert_eq!((&told["threads"], &told["context_tokens"]), (&1.into(), &16_384.into()));
    bowline(&place, &["model", "bench", "tiny.gguf"]).ends(0).says("tokens/s").says("loaded");
}
