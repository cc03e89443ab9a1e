//! Compiles many changes into one text: a function with changes gets one more
//! body for each, and asks at run time which of them to run.
//!
//! A body is copied whole with the change in it, so that each change means
//! exactly what it means in a build of its own: types, borrows and `match`es are
//! checked on the changed text. Where no choice can be made at run time, the
//! change is left for a build of its own, never dropped.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use anyhow::{Context, Result};
use quote::ToTokens;
use syn::visit::{self, Visit};

use crate::mutants::found::Mutant;

/// The variable that chooses a change by its number; 0 or nothing chooses none.
pub(super) const CHOICE: &str = "BOWLINE_MUTANT";
/// The variable that names a file to which the functions that were reached are written.
pub(super) const REACHED: &str = "BOWLINE_MUTANT_REACHED";
/// The variable that ends the program at the first panic.
pub(super) const HASTE: &str = "BOWLINE_MUTANT_HASTE";
/// A choice that panics in every function that asks.
pub(super) const CANARY: u32 = u32::MAX;

/// What a crate with changes gets at the end of its first file.
pub(super) const SWITCH: &str = r#"
#[doc(hidden)]
#[allow(warnings, clippy::all)]
pub mod __mutant {
    use std::sync::{Mutex, OnceLock};
    pub fn chosen(function: u32) -> u32 {
        static CHOSEN: OnceLock<u32> = OnceLock::new();
        static REACHED: OnceLock<Option<(String, Mutex<std::collections::BTreeSet<u32>>)>> = OnceLock::new();
        let reached = REACHED.get_or_init(|| Some((std::env::var("BOWLINE_MUTANT_REACHED").ok()?, Mutex::default())));
        if let Some((path, seen)) = reached {
            if seen.lock().unwrap_or_else(|poison| poison.into_inner()).insert(function) {
                use std::io::Write;
                let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
                file.write_all(format!("{function}\n").as_bytes()).unwrap();
            }
        }
        let chosen = *CHOSEN.get_or_init(|| {
            if std::env::var_os("BOWLINE_MUTANT_HASTE").is_some() {
                std::panic::set_hook(Box::new(|_| std::process::exit(101)));
            }
            std::env::var("BOWLINE_MUTANT").ok().and_then(|word| word.parse().ok()).unwrap_or(0)
        });
        if chosen == u32::MAX {
            panic!("the canary was chosen");
        }
        chosen
    }
}
"#;

/// A change to a text.
#[derive(Clone, Debug)]
pub(super) struct Change<'a> {
    /// Its number, from 1.
    pub(super) number: u32,
    /// What it is.
    pub(super) mutant: &'a Mutant,
}

/// A text with many changes in it.
#[derive(Debug, Default)]
pub(super) struct Schema {
    pub(super) text: String,
    /// Where the body with a change lies.
    pub(super) arms: Vec<(u32, Range<usize>)>,
    /// Functions that ask, by number: where they lie now, and their changes.
    pub(super) functions: BTreeMap<u32, (Range<usize>, Vec<u32>)>,
    /// The function each change lies in, if one is there to be reached.
    pub(super) function_of: BTreeMap<u32, u32>,
    /// Changes for which there is no choice at run time.
    pub(super) alone: Vec<u32>,
}

impl Schema {
    /// A number of this text after others.
    pub(super) fn hash_after(&self, before: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        (before, &self.text).hash(&mut hasher);
        hasher.finish()
    }

    /// The number of the first function of the next text.
    pub(super) fn next_function(&self, first: u32) -> u32 {
        self.function_of.values().max().map_or(first, |last| last.saturating_add(1))
    }

    /// The change in whose body this lies.
    pub(super) fn arm_at(&self, range: &Range<usize>) -> Option<u32> {
        let holds = |arm: &Range<usize>| arm.start <= range.start && range.end <= arm.end;
        self.arms.iter().find(|(_, arm)| holds(arm)).map(|(number, _)| *number)
    }

    /// The changes of the innermost function in which this lies.
    pub(super) fn function_at(&self, range: &Range<usize>) -> Option<Vec<u32>> {
        let holding =
            self.functions.values().filter(|(body, _)| body.start <= range.start && range.end <= body.end);
        holding.min_by_key(|(body, _)| body.len()).map(|(_, numbers)| numbers.clone())
    }
}

/// Writes a text with these changes in it; functions are numbered from `first`.
pub(super) fn write(text: &str, changes: &[Change<'_>], first: u32) -> Result<Schema> {
    let file = syn::parse_file(text).context("it is no Rust")?;
    let mut finder = Finder::default();
    finder.visit_file(&file);
    let mut bodies = finder.bodies;
    let mut schema = Schema::default();
    for change in changes {
        let range = range(change.mutant, text)?;
        let inner = bodies
            .iter_mut()
            .filter(|body| body.range.start <= range.start && range.end <= body.range.end)
            .min_by_key(|body| body.range.len());
        match inner {
            Some(body) if body.choice != Choice::Impossible => {
                body.changes.push((change.number, range, change.mutant))
            }
            _ => schema.alone.push(change.number),
        }
    }
    bodies.retain(|body| !body.changes.is_empty());
    bodies.sort_by_key(|body| body.range.start);
    let mut writer = Writer { text, bodies: &bodies, first, schema };
    writer.plain(0..text.len(), 0);
    Ok(writer.schema)
}

/// The text with one change in it.
pub(super) fn write_one(text: &str, mutant: &Mutant) -> Result<String> {
    let range = range(mutant, text)?;
    let mut changed = text.to_owned();
    changed.replace_range(range, &mutant.replacement);
    Ok(changed)
}

fn range(mutant: &Mutant, text: &str) -> Result<Range<usize>> {
    let offset = |place: super::found::Place| place.offset(text);
    let range = offset(mutant.span.start).zip(offset(mutant.span.end)).map(|(start, end)| start..end);
    range
        .filter(|range| range.start <= range.end)
        .with_context(|| format!("{} lies outside of its file", mutant.name))
}

/// Whether a body can ask at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice {
    Free,
    /// Two bodies are two types; in a box, as this, they are one.
    Boxed(String),
    Impossible,
}

impl Choice {
    fn of(signature: &syn::Signature) -> Self {
        if signature.constness.is_some() {
            return Self::Impossible;
        }
        match &signature.output {
            syn::ReturnType::Type(_, output) => match &**output {
                syn::Type::ImplTrait(output) => Self::Boxed(boxed(output)),
                _ => Self::Free,
            },
            syn::ReturnType::Default => Self::Free,
        }
    }
}

/// The box all bodies of a function that returns `impl Trait` fit into.
fn boxed(output: &syn::TypeImplTrait) -> String {
    let is_type = |bound: &&syn::TypeParamBound| {
        matches!(bound, syn::TypeParamBound::Trait(_) | syn::TypeParamBound::Lifetime(_))
    };
    let bounds: Vec<String> =
        output.bounds.iter().filter(is_type).map(|bound| bound.to_token_stream().to_string()).collect();
    format!("::std::boxed::Box<dyn {} + '_>", bounds.join(" + "))
}

struct Body<'a> {
    /// With its braces.
    range: Range<usize>,
    choice: Choice,
    changes: Vec<(u32, Range<usize>, &'a Mutant)>,
}

#[derive(Default)]
struct Finder<'a> {
    bodies: Vec<Body<'a>>,
}

impl Finder<'_> {
    fn found(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let choice = Choice::of(signature);
        self.bodies.push(Body {
            range: block.brace_token.span.join().byte_range(),
            choice,
            changes: Vec::new(),
        });
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.found(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.found(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.found(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

struct Writer<'a> {
    text: &'a str,
    /// By where they begin.
    bodies: &'a [Body<'a>],
    first: u32,
    schema: Schema,
}

impl Writer<'_> {
    fn push(&mut self, range: Range<usize>) {
        self.schema.text.push_str(self.text.get(range).unwrap_or_default());
    }

    /// The text of a range, with the bodies in it, from the one at `index`, made to ask.
    fn plain(&mut self, range: Range<usize>, index: usize) {
        let mut at = range.start;
        let bodies = self.bodies;
        for (index, body) in bodies.iter().enumerate().skip(index) {
            if body.range.start >= range.end {
                break;
            }
            if body.range.start >= at {
                self.push(at..body.range.start);
                self.body(index, body);
                at = body.range.end;
            }
        }
        self.push(at..range.end);
    }

    fn body(&mut self, index: usize, body: &Body<'_>) {
        let start = self.schema.text.len();
        let function = self.first.saturating_add(u32::try_from(index).unwrap_or(u32::MAX));
        let inside = body.range.start + 1..body.range.end.saturating_sub(1);
        self.schema.function_of.extend(body.changes.iter().map(|(number, ..)| (*number, function)));
        let (open, close) = match &body.choice {
            Choice::Boxed(as_type) => ("::std::boxed::Box::new(", format!(") as {as_type},")),
            Choice::Free | Choice::Impossible => ("", String::new()),
        };
        self.schema.text.push_str(&format!("{{ match crate::__mutant::chosen({function}) {{"));
        for (number, range, mutant) in &body.changes {
            let from = self.schema.text.len();
            self.schema.text.push_str(&format!(" {number} => {open}"));
            self.push(body.range.start..range.start);
            self.schema.text.push_str(&mutant.replacement);
            self.push(range.end..body.range.end);
            self.schema.text.push_str(&close);
            self.schema.arms.push((*number, from..self.schema.text.len()));
        }
        self.schema.text.push_str(&format!(" _ => {open}{{"));
        self.plain(inside, index + 1);
        self.schema.text.push_str(&format!("}}{close} }} }}"));
        let numbers = body.changes.iter().map(|(number, ..)| *number).collect();
        self.schema.functions.insert(function, (start..self.schema.text.len(), numbers));
    }
}
