//! Guards a loop that is not ours: ask before each call, report what came back.
//!
//! `cargo run -p bowline-core --example guard_a_loop`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use bowline_core::guard::regulator::{
    Call, Cap, Event, Limits, Outcome, Regulator, Settings, Status, Verdict,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limits = Limits { tool_calls: Cap::At(20), ..Limits::default() };
    let mut guard = Regulator::new(Settings { limits, ..Settings::default() })?;
    for path in ["a.rs", "b.rs", "a.rs", "c.rs"] {
        let args = format!("{{\"path\":\"{path}\"}}");
        let call = Call { id: None, tool: "read_file", args: &args, effect: None, repeat: None };
        guard.feed(&Event::Call(call))?;
        let decision = guard.decide();
        if decision.verdict <= Verdict::Warn {
            let status = Status::Done { output: &format!("the text of {path}"), ok: Some(true), world: None };
            guard.feed(&Event::Result(Outcome { id: None, tool: "read_file", status }))?;
        }
        let why = decision.acting().map(|fired| fired.notice.as_str()).unwrap_or_default();
        println!("{path}: {:?} {why}", decision.verdict);
    }
    Ok(())
}
