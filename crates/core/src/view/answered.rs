//! The line of an answer, and words about a server whose count is not the one that is booked.

use super::stop_word;
use crate::event::Event;
use crate::message::{Claim, Usage};

/// One line about a model that answered.
pub(super) fn line(event: &Event) -> String {
    let Event::StepFinished { step, usage, calls, stop, claim, .. } = event else { return String::new() };
    let wants: Vec<&str> = calls.iter().map(|call| &*call.tool).collect();
    let wants = if wants.is_empty() { String::new() } else { format!(", wants {}", wants.join(", ")) };
    let claim = claim.as_deref().map_or(String::new(), |claim| words(usage, claim));
    format!("step {step}: {} after {} tokens{wants}{claim}", stop_word(*stop), usage.total())
}

/// What the server says, and what is booked instead, behind the line of its answer.
fn words(booked: &Usage, claim: &Claim) -> String {
    let rows = [
        ("input", claim.input, booked.input),
        ("output", claim.output, booked.output),
        ("cached", claim.cached.or(Some(0)), booked.cached),
        ("reasoning", claim.reasoning.or(Some(0)), booked.reasoning),
    ];
    let told = rows.iter().filter(|(_, said, booked)| *said != Some(*booked)).map(|(kind, said, booked)| {
        let said = said.map_or_else(|| "nothing".to_owned(), |said| said.to_string());
        format!("{kind} {booked}, the server says {said}")
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { String::new() } else { format!(" (booked: {})", told.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_told() {
        let booked = Usage { input: 900, output: 50, cached: 0, reasoning: 0 };
        let claim = Claim { input: Some(0), output: Some(50), cached: Some(7), reasoning: None };
        assert_eq!(
            words(&booked, &claim),
            " (booked: input 900, the server says 0; cached 0, the server says 7)"
        );
        let silent = Claim { output: Some(50), ..Claim::default() };
        assert_eq!(words(&booked, &silent), " (booked: input 900, the server says nothing)");
    }
}
