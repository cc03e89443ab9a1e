//! From a name to its addresses: the seam to the resolver.
//!
//! A resolver is asked once for each connection and its answer is used as it
//! is. Which of the addresses may be connected to is the policy's business.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;

use crate::policy::Name;

/// Look-ups at the same time. One that its caller gave up on still holds its
/// place until the system ends it, so a dead resolver costs a bounded number of threads.
const LOOKUPS_MAX: usize = 32;

/// Looks names up.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// All addresses of the name, exactly that name: no search domains.
    async fn resolve(&self, name: &Name) -> Result<Vec<IpAddr>, ResolveError>;
}

/// A look-up without an answer.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The resolver says no.
    #[error("the look-up was not answered")]
    Unanswered {
        /// What it said.
        #[source]
        source: io::Error,
    },
    /// The look-up's thread is gone.
    #[error("the look-up was broken off")]
    BrokenOff,
}

/// The resolver of the operating system.
pub struct SystemResolver {
    places: Arc<Semaphore>,
    ask: Arc<Ask>,
}

/// Looks a name up and waits for it.
type Ask = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

impl Default for SystemResolver {
    fn default() -> Self {
        Self::asking(|name| Ok((name, 0).to_socket_addrs()?.map(|answer| answer.ip()).collect()))
    }
}

impl SystemResolver {
    fn asking(ask: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static) -> Self {
        Self { places: Arc::new(Semaphore::new(LOOKUPS_MAX)), ask: Arc::new(ask) }
    }
}

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &Name) -> Result<Vec<IpAddr>, ResolveError> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| ResolveError::BrokenOff)?;
        let (ask, question) = (Arc::clone(&self.ask), name.absolute());
        let look_up = move || {
            let _place = place;
            ask(&question)
        };
        let answered = tokio::task::spawn_blocking(look_up).await.map_err(|_| ResolveError::BrokenOff)?;
        answered.map_err(|source| ResolveError::Unanswered { source })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn the_system_is_asked_for_the_absolute_name() {
        let resolver = SystemResolver::asking(|name| {
            assert_eq!(name, "a.example.");
            Ok(vec!["1.1.1.1".parse().unwrap()])
        });
        let answers = resolver.resolve(&Name::parse("a.example").unwrap()).await.unwrap();
        assert_eq!(answers, ["1.1.1.1".parse::<IpAddr>().unwrap()]);
    }

    #[tokio::test]
    async fn a_failed_or_broken_look_up_is_an_error() {
        let name = Name::parse("a.example").unwrap();
        let failing = SystemResolver::asking(|_| Err(io::ErrorKind::NotFound.into()));
        assert!(matches!(failing.resolve(&name).await, Err(ResolveError::Unanswered { .. })));
        let broken = SystemResolver::asking(|_| panic!("as a bug in a resolver would"));
        assert!(matches!(broken.resolve(&name).await, Err(ResolveError::BrokenOff)));
    }

    #[tokio::test]
    async fn look_ups_nobody_waits_for_keep_their_places() {
        let (go_on, wait) = sync_channel::<()>(LOOKUPS_MAX);
        let wait = Mutex::new(wait);
        let resolver = SystemResolver::asking(move |_| {
            wait.lock().unwrap().recv().unwrap();
            Ok(Vec::new())
        });
        let name = Name::parse("a.example").unwrap();
        for _ in 0..LOOKUPS_MAX {
            let given_up = tokio::time::timeout(Duration::from_millis(1), resolver.resolve(&name)).await;
            assert!(given_up.is_err());
        }
        assert_eq!(resolver.places.available_permits(), 0);
        (0..LOOKUPS_MAX).for_each(|_| go_on.send(()).unwrap());
        let all = u32::try_from(LOOKUPS_MAX).unwrap();
        drop(resolver.places.acquire_many(all).await.unwrap());
    }
}
