//! The tools of the reference tasks: what they do to the ledger, and what undoes it.

use std::path::PathBuf;

use serde_json::{Value, json};

/// Where the tools of a task find the world.
#[derive(Clone, Debug)]
pub struct World {
    /// The program that plays the tools.
    pub sim: PathBuf,
    /// The ledger's folder.
    pub ledger: PathBuf,
}

impl World {
    pub(super) fn argv(&self, errand: &str) -> Value {
        let (sim, ledger) = (self.sim.display().to_string(), self.ledger.display().to_string());
        json!([sim, "tool", errand, "--dir", ledger])
    }

    fn tool(&self, name: &str, operation: &str, probes: bool, settings: &Value) -> Value {
        let mut tool = json!({
            "name": name, "command": self.argv(operation), "description": format!("Does {operation}."),
            "schema": { "type": "object" }, "timeout_seconds": 20,
        });
        if let (Value::Object(fields), Value::Object(settings)) = (&mut tool, settings) {
            if probes {
                fields.insert("probe".into(), self.argv(&format!("look-{operation}")));
            }
            fields.extend(settings.clone());
        }
        tool
    }

    /// A reservation that this errand gives back.
    fn reserve(&self, name: &str, consent: &str, errand: &str, args: &Value) -> Value {
        let undo = json!({ "command": self.argv(errand), "args": args });
        let settings = json!({ "repeat": "with-same-key", "consent": consent, "undo": undo });
        self.tool(name, "reserve", false, &settings)
    }

    pub(super) fn tools(&self) -> Value {
        let never = json!({ "repeat": "never", "consent": "not-needed" });
        let (receipt, key) = (json!({ "receipt": "{result/receipt}" }), json!({ "of": "{key}" }));
        json!([
            self.tool("pay", "pay", true, &never),
            self.tool("slow_pay", "slow_pay", true, &never),
            self.tool("wire", "pay", false, &never),
            self.tool("slow_wire", "slow_pay", false, &never),
            self.tool("asked_pay", "pay", true, &json!({ "repeat": "never", "consent": "ask" })),
            self.tool("put", "put", false, &json!({ "repeat": "with-same-key", "consent": "not-needed" })),
            self.reserve("reserve", "not-needed", "release", &receipt),
            self.reserve("asked_reserve", "ask", "release", &receipt),
            self.reserve("keyed_reserve", "not-needed", "release", &key),
            self.reserve("flaky_reserve", "not-needed", "flaky-release", &receipt),
            self.reserve("stuck_reserve", "not-needed", "stuck-release", &receipt),
        ])
    }
}
