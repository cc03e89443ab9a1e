//! The way to the Hugging Face hub: one client on a gate that lets out to the hub and the
//! hosts it keeps files on, and nowhere else.

use std::io::Write;
use std::time::Duration;

use bowline_local::weights::Fetch;
use bowline_net::{FetchError, FetchLimits, Gate, Policy, Request, Scheme, Tier, Trust, Waits};
use tokio::runtime::Handle;

/// The hub, and where its redirects lead.
const HOSTS: [&str; 3] = ["huggingface.co", "*.huggingface.co", "*.hf.co"];
/// Longest download.
const TOTAL: Duration = Duration::from_secs(2 * 60 * 60);
/// Longest file: the store takes no more than the pinned length, so this is no second limit.
const BYTES_MAX: usize = usize::MAX / 2;

/// Fetches from the hub, for callers on a blocking thread.
pub(super) struct HubClient {
    client: bowline_net::Fetch,
    runtime: Handle,
}

impl HubClient {
    /// A client; the error is in words.
    pub(super) fn new(runtime: Handle) -> Result<Self, String> {
        let policy = Policy::new(Tier::Standard, &HOSTS).map_err(|bad| bad.to_string())?;
        let policy = policy.with_schemes(&[Scheme::Https]);
        let gate = Gate::open(policy, Waits::default()).map_err(|refusal| refusal.to_string())?;
        let limits = FetchLimits { total: TOTAL, bytes_max: BYTES_MAX, ..FetchLimits::default() };
        let client = bowline_net::Fetch::new(gate, limits, Trust::public()).map_err(|bad| bad.to_string())?;
        Ok(Self { client, runtime })
    }

    async fn copy(&self, url: &str, to: &mut dyn Write, sofar: &mut dyn FnMut(u64)) -> Result<(), String> {
        let mut response = self.client.send(Request::get(url)).await.map_err(|error| told(&error))?;
        if !response.status.is_success() {
            return Err(format!("it answered {}", response.status));
        }
        let mut got = 0_u64;
        while let Some(bytes) = response.chunk().await.map_err(|error| told(&error))? {
            to.write_all(&bytes).map_err(|error| error.to_string())?;
            got = got.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            sofar(got);
        }
        Ok(())
    }
}

impl Fetch for HubClient {
    fn fetch(&self, url: &str, to: &mut dyn Write, sofar: &mut dyn FnMut(u64)) -> Result<(), String> {
        self.runtime.block_on(self.copy(url, to, sofar))
    }
}

/// An error with its causes.
fn told(error: &FetchError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
