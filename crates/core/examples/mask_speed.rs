//! How fast secrets are looked for: `cargo run --release -p bowline-core --example mask_speed`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures and says so")]

use std::time::Instant;

use bowline_core::mask::Mask;

const SIZE: usize = 4 << 20;
const KEY: &str = "k7Qw/Zr9+mP2xT5vB8nJ";

fn filled(part: &str) -> String {
    part.repeat(SIZE / part.len() + 1)
}

fn main() {
    let source = include_str!("mask_speed.rs");
    let texts = [
        ("source code", filled(source)),
        ("prose", filled("It was a bright cold day in April, and the clocks were striking thirteen.\n")),
        (
            "Base64 at 76",
            filled("YWJjOiBrN1F3L1pyOSttUDJ4VDV2QjhuSiBhbmQgbW9yZSBhbmQgbW9yZSBhbmQgbW9yZSBhbmQg\n"),
        ),
        ("a hex dump", filled("00000000: 6162 633a 206b 3751 772f 5a72 392b 6d50  abc: k7Qw/Zr9+mP\n")),
        ("escapes", filled("\\u0041%2f&#65;\\n")),
        ("beginnings of the secret", filled("k7Qw/Zr9+mP2xT5vB8n")),
        ("the secret", filled(KEY)),
        ("numbers", filled("107, 55, 81, 119, 47, ")),
    ];
    for (secrets, count) in [("one secret", 1), ("eight secrets", 8)] {
        let values: Vec<String> = (0..count).map(|n| format!("{KEY}{}", "x".repeat(n))).collect();
        let mask = Mask::new(values.iter().map(|value| ("KEY", value.as_str())));
        for (name, text) in &texts {
            let begun = Instant::now();
            let masked = mask.hide(text.clone());
            let seconds = begun.elapsed().as_secs_f64();
            println!(
                "{secrets}, {name}: {:.0} MB/s ({} bytes left)",
                text.len() as f64 / 1e6 / seconds,
                masked.text.len()
            );
        }
    }
}
