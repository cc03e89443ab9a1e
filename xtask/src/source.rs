//! Enough of Rust's grammar for the rules: tokens without comments and string
//! contents, functions with their lengths, paths with `use` trees spelled out,
//! and which part of a file is test code.
//!
//! It reads sources that compile. On others it may give odd answers, and never
//! panics.

mod lex;
mod shape;

pub use lex::{Source, Token, lex};
pub use shape::{Function, TestCode, functions, names, paths, test_code};

#[cfg(test)]
mod tests;
