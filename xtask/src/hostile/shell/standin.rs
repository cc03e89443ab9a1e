//! What to run outside to know that a command could have worked: the command
//! itself, or something of its class where this machine or this user cannot do
//! it, or where doing it would harm.

use anyhow::Result;

use super::scene::{Scene, Victim};

/// Something that should work outside and fail inside.
pub(super) struct Control {
    /// The command.
    pub(super) line: String,
    /// What it stands in for the case with; nothing for the case itself.
    pub(super) standin: Option<&'static str>,
    /// A process that would be gone if it worked.
    pub(super) victim: Option<Victim>,
    listens: Listens,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Listens {
    No,
    Stream,
    Datagram,
}

impl Control {
    /// The command as it is.
    pub(super) fn itself(line: String) -> Self {
        Self { line, standin: None, victim: None, listens: Listens::No }
    }

    fn standin(what: &'static str, line: String) -> Self {
        Self { standin: Some(what), ..Self::itself(line) }
    }

    /// Is what it does seen by somebody who listens?
    pub(super) fn reaches_out(&self) -> bool {
        self.listens != Listens::No
    }

    /// Does it not even know whether it arrived?
    pub(super) fn is_datagram(&self) -> bool {
        self.listens == Listens::Datagram
    }
}

/// What may serve as a control for this input, best first.
pub(super) fn controls(input: &str, scene: &Scene) -> Result<Vec<Control>> {
    let mut controls = Vec::new();
    let itself = Control {
        listens: if input.contains("{LISTEN") || input.contains("d.sock") {
            Listens::Stream
        } else {
            Listens::No
        },
        ..Control::itself(scene.fill_in(input))
    };
    // Ending the machine's first process is no experiment.
    if !names_a_process(input, "kill") {
        controls.push(itself);
    }
    if names_a_process(input, "kill") {
        let victim = scene.victim()?;
        let line = format!("kill -9 {}", victim.number());
        controls.push(Control { victim: Some(victim), ..Control::standin("a process the test made", line) });
    }
    if let Some((_, rest)) = input.split_once("/proc/1/") {
        let victim = scene.victim()?;
        controls.push(Control::standin(
            "a process the test made",
            format!("cat /proc/{}/{rest}", victim.number()),
        ));
        scene.keep(victim);
    }
    if input.contains("/etc/shadow") {
        controls.push(Control::standin(
            "a file only this user can read",
            input.replace("/etc/shadow", &scene.private_file()),
        ));
    }
    if input.contains("/dev/mem") {
        if let Some(node) = scene.device()? {
            controls.push(Control::standin("a device node the test made", input.replace("/dev/mem", &node)));
        }
        controls
            .push(Control::standin("a file the test made", input.replace("/dev/mem", &scene.private_file())));
    }
    if input.starts_with("getent hosts") {
        let (host, port) = scene.datagram_address();
        let line = format!("bash -c 'echo a question > /dev/udp/{host}/{port}'");
        controls.push(Control {
            listens: Listens::Datagram,
            ..Control::standin("a datagram to a listener", line)
        });
    }
    Ok(controls)
}

/// Whether the command is given the number of a process as it stands.
fn names_a_process(input: &str, command: &str) -> bool {
    let mut words = input.split_whitespace();
    words.any(|word| word == command) && words.any(|word| word.parse::<u32>().is_ok())
}
