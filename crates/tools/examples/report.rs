//! Reads what a test tool printed and shows it as JSON.
//!
//! `cargo run -p bowline-tools --example report -- OUTPUT [ERRORS] [--file REPORT]`, each a path.

#![expect(clippy::print_stdout, reason = "an example speaks to a person")]

use std::error::Error;

use bowline_tools::check::report::{Printed, read};

fn main() -> Result<(), Box<dyn Error>> {
    let (mut streams, mut file) = (Vec::new(), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--file" {
            file = arguments.next().map(std::fs::read_to_string).transpose()?;
        } else {
            streams.push(std::fs::read_to_string(argument)?);
        }
    }
    let stream = |at: usize| streams.get(at).map_or("", String::as_str);
    let printed = Printed { output: stream(0), errors: stream(1), file: file.as_deref(), exit: None };
    let format = printed.recognise().ok_or("this is no output of a test tool")?;
    println!("{}", serde_json::to_string_pretty(&read(format, &printed)?)?);
    Ok(())
}
