//! The gate: a policy with a resolver and sockets behind it.
//!
//! [`Gate::admit`] looks a judged target up, once, and has every address checked;
//! [`Gate::connect`] opens a connection to a checked address and looks at who
//! answered. There is no other way to a socket in this crate.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use crate::dial::{Dial, Stream, SystemDial};
use crate::policy::{Checked, Host, Name, Policy, Refusal, Target, Tier};
use crate::resolve::{Resolve, ResolveError, SystemResolver};

/// How long the gate waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// For a look-up.
    pub resolve: Duration,
    /// For a connection, over all addresses of a name.
    pub connect: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self { resolve: Duration::from_secs(5), connect: Duration::from_secs(10) }
    }
}

/// The way out was not taken, or led nowhere.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The policy says no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// No answer about the name.
    #[error("cannot look up {name}")]
    Resolve {
        /// Which.
        name: Name,
        /// Why.
        source: ResolveError,
    },
    /// No answer in time.
    #[error("the look-up of {name} took longer than {} s", waited.as_secs_f64())]
    ResolveDeadline {
        /// Which.
        name: Name,
        /// How long.
        waited: Duration,
    },
    /// No connection.
    #[error("cannot connect to {host} at {address}")]
    Connect {
        /// Who was meant.
        host: Host,
        /// The last address tried.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// Somebody else answered.
    #[error("{host} was to be reached at {expected}, but {found} answered")]
    Peer {
        /// Who was meant.
        host: Host,
        /// The checked address.
        expected: SocketAddr,
        /// Who the socket says it is.
        found: SocketAddr,
    },
}

impl GateError {
    /// One word for logs and counters.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.reason(),
            Self::Resolve { .. } | Self::ResolveDeadline { .. } => "dns",
            Self::Connect { .. } => "connect",
            Self::Peer { .. } => "peer",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.remedy(),
            Self::Resolve { .. } | Self::ResolveDeadline { .. } => {
                "check the name and the machine's resolver, then try again"
            }
            Self::Connect { .. } => "check that the service runs and can be reached, then try again",
            Self::Peer { .. } => {
                "something redirects connections on this machine: find it before trusting it"
            }
        }
    }
}

/// A policy with the means to act on it.
#[derive(Clone)]
pub struct Gate {
    policy: Arc<Policy>,
    resolver: Arc<dyn Resolve>,
    dial: Arc<dyn Dial>,
    waits: Waits,
}

impl Gate {
    /// Opens the gate with the system's resolver and sockets. In the sovereign
    /// tier there is no gate.
    pub fn open(policy: Policy, waits: Waits) -> Result<Self, Refusal> {
        Self::over(policy, waits, Arc::new(SystemResolver::default()), Arc::new(SystemDial))
    }

    /// Opens the gate with another resolver and other sockets.
    pub fn over(
        policy: Policy,
        waits: Waits,
        resolver: Arc<dyn Resolve>,
        dial: Arc<dyn Dial>,
    ) -> Result<Self, Refusal> {
        match policy.tier() {
            Tier::Sovereign => Err(Refusal::Sovereign),
            Tier::Private | Tier::Standard => Ok(Self { policy: Arc::new(policy), resolver, dial, waits }),
        }
    }

    /// What the gate goes by.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Looks the target up, once, and checks every address.
    pub async fn admit(&self, target: Target) -> Result<Checked, GateError> {
        let answers = match target.host() {
            Host::Address(_) => Vec::new(),
            Host::Name(name) => self.look_up(name).await?,
        };
        let checked = self.policy.check(target, &answers)?;
        let addresses = checked.addresses().iter().map(SocketAddr::ip);
        let own: Vec<IpAddr> = addresses.filter(|address| self.dial.is_own(*address)).collect();
        self.policy.refuse_own(&checked, &own)?;
        Ok(checked)
    }

    /// Connects to the checked addresses in their order until one answers.
    pub async fn connect(&self, checked: &Checked) -> Result<Box<dyn Stream>, GateError> {
        let until = Instant::now() + self.waits.connect;
        let mut failed = None;
        let mut left = u32::try_from(checked.addresses().len()).unwrap_or(u32::MAX);
        for address in checked.addresses() {
            // Each address gets its share of the time that is left, so one that
            // swallows packets does not keep the next from being tried.
            let share = until.saturating_duration_since(Instant::now()) / left.max(1);
            left = left.saturating_sub(1);
            match timeout_at(Instant::now() + share, self.dial.dial(*address)).await {
                Ok(Ok(dialed)) if same_peer(dialed.peer, *address) => return Ok(dialed.stream),
                Ok(Ok(dialed)) => {
                    let host = checked.target().host().clone();
                    return Err(GateError::Peer { host, expected: *address, found: dialed.peer });
                }
                Ok(Err(source)) => failed = Some((*address, source)),
                Err(_) => failed = Some((*address, std::io::ErrorKind::TimedOut.into())),
            }
        }
        let host = checked.target().host().clone();
        let unreached = || (SocketAddr::from(([0, 0, 0, 0], 0)), std::io::ErrorKind::AddrNotAvailable.into());
        let (address, source) = failed.unwrap_or_else(unreached);
        Err(GateError::Connect { host, address, source })
    }

    async fn look_up(&self, name: &Name) -> Result<Vec<IpAddr>, GateError> {
        match timeout(self.waits.resolve, self.resolver.resolve(name)).await {
            Ok(Ok(answers)) => Ok(answers),
            Ok(Err(source)) => Err(GateError::Resolve { name: name.clone(), source }),
            Err(_) => Err(GateError::ResolveDeadline { name: name.clone(), waited: self.waits.resolve }),
        }
    }
}

/// Flow labels and scopes are the socket's business.
fn same_peer(found: SocketAddr, expected: SocketAddr) -> bool {
    (found.ip(), found.port()) == (expected.ip(), expected.port())
}
