//! Ctrl-C and SIGTERM: the first asks the engine to stop, the second stops the
//! program at once. Both are safe: what is durable stays, the rest was never told.

use bowline::Engine;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::error::CliError;
use crate::render::Screen;

/// Listens while it lives.
pub(crate) struct Interrupts {
    listener: JoinHandle<()>,
    asked: watch::Receiver<bool>,
}

impl Interrupts {
    /// Begins to listen for this engine.
    pub(crate) fn listen(engine: &Engine, screen: &Screen) -> Result<Self, CliError> {
        let interrupt = signal(SignalKind::interrupt()).map_err(CliError::Runtime)?;
        let terminate = signal(SignalKind::terminate()).map_err(CliError::Runtime)?;
        let (told, asked) = watch::channel(false);
        let (engine, screen) = (engine.clone(), screen.clone());
        let listener =
            tokio::spawn(async move { obey((interrupt, terminate), &engine, &screen, &told).await });
        Ok(Self { listener, asked })
    }

    /// Waits until somebody asked to stop.
    pub(crate) async fn asked(&self) {
        let mut asked = self.asked.clone();
        // The sender lives as long as the listener, which lives as long as we do.
        if asked.wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether somebody asked to stop.
    pub(crate) fn were_asked(&self) -> bool {
        *self.asked.borrow()
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

async fn obey(
    (mut interrupt, mut terminate): (Signal, Signal),
    engine: &Engine,
    screen: &Screen,
    told: &watch::Sender<bool>,
) {
    let code = one(&mut interrupt, &mut terminate).await;
    engine.stop();
    told.send_replace(true);
    screen.note(&format!(
        "stopping: what is in flight comes home first; once more stops at once (code {code})"
    ));
    let code = one(&mut interrupt, &mut terminate).await;
    std::process::exit(code);
}

/// Waits for either, and says which code a program that dies of it has.
async fn one(interrupt: &mut Signal, terminate: &mut Signal) -> i32 {
    tokio::select! {
        _ = interrupt.recv() => 130,
        _ = terminate.recv() => 143,
    }
}
