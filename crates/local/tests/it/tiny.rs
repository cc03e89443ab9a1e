//! Small GGUF files made on the spot: random weights, a vocabulary of single bytes and a
//! few words. Nothing is downloaded.

use std::path::Path;

/// The chat template of the tiny models.
pub(crate) const TEMPLATE: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// What differs between tiny models.
#[derive(Clone, Copy)]
pub(crate) struct Tiny {
    pub(crate) architecture: &'static str,
    pub(crate) split: &'static str,
    pub(crate) template: &'static str,
    pub(crate) context: u32,
    pub(crate) seed: u64,
}

impl Default for Tiny {
    fn default() -> Self {
        Self { architecture: "llama", split: "smollm", template: TEMPLATE, context: 2048, seed: 7 }
    }
}

const WIDTH: u64 = 64;
const FEED: u64 = 96;
const HEADS: u32 = 4;
const KEYS: u32 = 2;
const HEAD: u64 = 32;
const LAYERS: u32 = 2;
const MERGES: &[&str] = &["h e", "l l", "o w", "i n", "t h", "th e", "Ġ w", "Ġ the", "e r", "o u", "\" :"];

impl Tiny {
    /// Writes the file.
    pub(crate) fn write(&self, path: &Path) {
        std::fs::write(path, self.bytes()).unwrap();
    }

    /// The whole file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let tokens = tokens();
        let tensors = self.tensors(tokens.len() as u64);
        let metadata = self.metadata(&tokens);
        let mut out = Vec::new();
        out.extend(b"GGUF");
        out.extend(3_u32.to_le_bytes());
        out.extend((tensors.len() as u64).to_le_bytes());
        out.extend((metadata.len() as u64).to_le_bytes());
        for (key, value) in metadata {
            text(&mut out, &key);
            out.extend(value);
        }
        let mut offset = 0_u64;
        for (name, shape, _) in &tensors {
            text(&mut out, name);
            out.extend((shape.len() as u32).to_le_bytes());
            shape.iter().for_each(|side| out.extend(side.to_le_bytes()));
            out.extend(0_u32.to_le_bytes());
            out.extend(offset.to_le_bytes());
            offset += (shape.iter().product::<u64>() * 4).next_multiple_of(32);
        }
        out.resize(out.len().next_multiple_of(32), 0);
        for (_, _, numbers) in tensors {
            numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
            out.resize(out.len().next_multiple_of(32), 0);
        }
        out
    }

    fn metadata(&self, tokens: &[String]) -> Vec<(String, Vec<u8>)> {
        let arch = |key: &str| format!("{}.{key}", self.architecture);
        let end = tokens.iter().position(|token| token == "<|im_end|>").unwrap() as u32;
        let kinds: Vec<i32> =
            tokens.iter().map(|token| if token.starts_with("<|") { 3 } else { 1 }).collect();
        let merges: Vec<String> = MERGES.iter().map(|merge| (*merge).to_owned()).collect();
        vec![
            ("general.architecture".to_owned(), string(self.architecture)),
            (arch("context_length"), number(self.context)),
            (arch("embedding_length"), number(WIDTH as u32)),
            (arch("feed_forward_length"), number(FEED as u32)),
            (arch("block_count"), number(LAYERS)),
            (arch("attention.head_count"), number(HEADS)),
            (arch("attention.head_count_kv"), number(KEYS)),
            (arch("attention.key_length"), number(HEAD as u32)),
            (arch("attention.layer_norm_rms_epsilon"), float(1e-5)),
            (arch("rope.freq_base"), float(10_000.0)),
            ("tokenizer.ggml.model".to_owned(), string("gpt2")),
            ("tokenizer.ggml.pre".to_owned(), string(self.split)),
            ("tokenizer.ggml.tokens".to_owned(), strings(tokens)),
            ("tokenizer.ggml.token_type".to_owned(), integers(&kinds)),
            ("tokenizer.ggml.merges".to_owned(), strings(&merges)),
            ("tokenizer.ggml.eos_token_id".to_owned(), number(end)),
            ("tokenizer.chat_template".to_owned(), string(self.template)),
        ]
    }

    fn tensors(&self, vocabulary: u64) -> Vec<(String, Vec<u64>, Vec<f32>)> {
        let mut chance = Chance(self.seed);
        let mut all: Vec<(String, Vec<u64>, Vec<f32>)> = Vec::new();
        let mut add = |name: String, shape: Vec<u64>, scale: f32, base: f32| {
            let count = shape.iter().product::<u64>();
            let numbers = (0..count).map(|_| base + scale * chance.next()).collect();
            all.push((name, shape, numbers));
        };
        add("token_embd.weight".to_owned(), vec![WIDTH, vocabulary], 1.0, 0.0);
        add("output_norm.weight".to_owned(), vec![WIDTH], 0.1, 1.0);
        let asked = u64::from(HEADS) * HEAD;
        let kept = u64::from(KEYS) * HEAD;
        for layer in 0..LAYERS {
            let name = |part: &str| format!("blk.{layer}.{part}.weight");
            for part in ["attn_norm", "ffn_norm"] {
                add(name(part), vec![WIDTH], 0.1, 1.0);
            }
            for (part, rows) in [("attn_q", asked), ("attn_k", kept), ("attn_v", kept)] {
                add(name(part), vec![WIDTH, rows], 0.3, 0.0);
                if self.architecture == "qwen2" {
                    add(format!("blk.{layer}.{part}.bias"), vec![rows], 0.3, 0.0);
                }
            }
            add(name("attn_output"), vec![asked, WIDTH], 0.3, 0.0);
            add(name("ffn_gate"), vec![WIDTH, FEED], 0.3, 0.0);
            add(name("ffn_up"), vec![WIDTH, FEED], 0.3, 0.0);
            add(name("ffn_down"), vec![FEED, WIDTH], 0.3, 0.0);
        }
        all
    }
}

/// The tokens: 256 single bytes, what the merges make of them, and the marks of turns.
fn tokens() -> Vec<String> {
    let mut tokens: Vec<String> = (0..=u8::MAX).map(|byte| letter(byte).to_string()).collect();
    tokens.extend(MERGES.iter().map(|merge| merge.replace(' ', "")));
    tokens.extend(["<|im_start|>", "<|im_end|>", "<|endoftext|>"].map(str::to_owned));
    tokens
}

/// How byte-level vocabularies write a byte.
fn letter(byte: u8) -> char {
    let is_plain = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if is_plain(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|byte| !is_plain(*byte)).count() as u32;
    char::from_u32(0x100 + before).unwrap()
}

struct Chance(u64);

impl Chance {
    /// From -1 to 1.
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 40) as f32 / (1_u64 << 23) as f32) - 1.0
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn number(number: u32) -> Vec<u8> {
    [4_u32.to_le_bytes(), number.to_le_bytes()].concat()
}

fn float(number: f32) -> Vec<u8> {
    [6_u32.to_le_bytes(), number.to_le_bytes()].concat()
}

fn string(string: &str) -> Vec<u8> {
    let mut out = 8_u32.to_le_bytes().to_vec();
    text(&mut out, string);
    out
}

fn array(kind: u32, count: usize) -> Vec<u8> {
    let mut out = 9_u32.to_le_bytes().to_vec();
    out.extend(kind.to_le_bytes());
    out.extend((count as u64).to_le_bytes());
    out
}

fn strings(strings: &[String]) -> Vec<u8> {
    let mut out = array(8, strings.len());
    strings.iter().for_each(|string| text(&mut out, string));
    out
}

fn integers(integers: &[i32]) -> Vec<u8> {
    let mut out = array(5, integers.len());
    integers.iter().for_each(|integer| out.extend(integer.to_le_bytes()));
    out
}
