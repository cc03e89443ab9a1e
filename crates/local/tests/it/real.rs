//! The default weights, when `BOWLINE_TEST_WEIGHTS` names their file.

use std::path::PathBuf;

use bowline_local::gguf::Gguf;
use bowline_local::{LocalModel, Network as _, Transformer, Vocabulary};
use bowline_models::{Model, Unwatched};
use serde_json::{Value, json};

use crate::{request, settings};

fn weights(test: &str) -> Option<PathBuf> {
    let path = std::env::var_os("BOWLINE_TEST_WEIGHTS").map(PathBuf::from).filter(|path| path.is_file());
    if path.is_none() {
        println!("{test}: skipped, BOWLINE_TEST_WEIGHTS names no file of SmolLM2-135M-Instruct");
    }
    path
}

/// The ids are those of llama.cpp for the same file.
#[test]
fn text_has_the_tokens_of_the_reference() {
    let Some(path) = weights("tokens of the reference") else { return };
    let vocabulary = Vocabulary::read(&Gguf::open(&path).unwrap()).unwrap();
    let check = |text: &str, ids: &[u32]| assert_eq!(vocabulary.encode_prompt(text), ids, "{text:?}");
    check("Hello, world!", &[19556, 28, 905, 17]);
    check(
        " the invoice  number is 10425,\n\n\ttotal: $1,299.50 ",
        &[
            260, 48686, 216, 1230, 314, 216, 33, 32, 36, 34, 37, 28, 1116, 197, 9712, 42, 1885, 33, 28, 34,
            41, 41, 30, 37, 32, 216,
        ],
    );
    check("don't stop   believing\n", &[12420, 982, 2853, 256, 16517, 198]);
    check("naïve café 東京 🙂", &[3546, 46494, 37366, 17097, 247, 126, 16736, 122, 47526]);
    check("<|im_start|>user\nHi<|im_end|>\n", &[1, 4093, 198, 26843, 2, 198]);
    check(
        "fn main() {\n    println!(\"{}\", x1);\n}",
        &[7853, 1085, 1000, 1662, 472, 1628, 34115, 17, 43331, 1002, 1792, 33, 4258, 198, 109],
    );
    check("  \n  \n a", &[256, 11181, 198, 253]);
    check("½ ²³ x", &[16738, 216, 19133, 39050, 1792]);
}

/// The scores are those of llama.cpp, which rounds elsewhere: near, and in the same order at
/// the top. Whole answers are not compared, since one near tie changes all that follows.
#[test]
fn the_next_token_has_the_score_of_the_reference() {
    let Some(path) = weights("scores of the reference") else { return };
    let model = Transformer::open(&mut Gguf::open(&path).unwrap(), 2).unwrap();
    let check = |tokens: &[u32], best: usize, wanted: f32| {
        let scores = model.feed(&mut model.remember(), tokens).unwrap();
        let top = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap();
        assert!(top == best && (scores[top] - wanted).abs() < 0.5, "{top} with {}", scores[top]);
    };
    let question = [1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198];
    check(&question, 504, 27.816);
    check(&[1000], 29, 20.694);
    check(&[1000, 1037], 83, 31.247);
}

#[tokio::test]
async fn the_default_model_fits_schemas() {
    let Some(path) = weights("the default model") else { return };
    let mut settings = settings();
    settings.threads = 2;
    let model = LocalModel::open(&path, settings).unwrap();
    let mut invoice = request("Extract the data. Invoice 4711 from Miller Ltd, total 99.50 EUR.");
    invoice.output_tokens = 120;
    invoice.schema = Some(json!({
        "type": "object",
        "properties": {"number": {"type": "string"}, "total": {"type": "number"}},
        "required": ["number", "total"],
    }));
    let answer = model.call(invoice, &Unwatched).await.unwrap();
    let value: Value = serde_json::from_str(&answer.text).unwrap();
    assert!(value["number"].is_string() && value["total"].is_number(), "{}", answer.text);
}
