//! A resolver that answers as told.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use crate::policy::Name;
use crate::resolve::{Resolve, ResolveError};

/// What one look-up gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// These addresses.
    Addresses(Vec<IpAddr>),
    /// "No such name", or any other failure.
    Fails,
    /// Nothing, ever.
    Silent,
}

/// Names and their answers, one after another; the last one stays.
#[derive(Debug)]
pub struct Names {
    answers: HashMap<String, Vec<Answer>>,
    otherwise: Answer,
    search: Option<String>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    /// Every name has this answer, until it gets its own.
    #[must_use]
    pub fn new(otherwise: Answer) -> Self {
        Self { answers: HashMap::new(), otherwise, search: None, asked: Mutex::default() }
    }

    /// The same, with answers for this name.
    #[must_use]
    pub fn with(mut self, name: &str, answers: Vec<Answer>) -> Self {
        self.answers.insert(name.to_ascii_lowercase(), answers);
        self
    }

    /// The same on a machine with a search domain: a question that is not
    /// absolute is first tried below it, as resolvers do.
    #[must_use]
    pub fn with_search(mut self, domain: &str) -> Self {
        self.search = Some(domain.to_owned());
        self
    }

    /// The names that were looked up, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn answer(&self, question: &str) -> Answer {
        let absolute = question.strip_suffix('.');
        let searched = self.search.iter().map(|domain| format!("{question}.{domain}"));
        let found = searched.filter(|_| absolute.is_none()).find(|name| self.answers.contains_key(name));
        let name = found.unwrap_or_else(|| absolute.unwrap_or(question).to_owned());
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = asked.iter().filter(|before| **before == name).count();
        let answers = self.answers.get(&name);
        asked.push(name);
        let answer = answers.and_then(|answers| answers.get(earlier).or_else(|| answers.last()));
        answer.unwrap_or(&self.otherwise).clone()
    }
}

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, name: &Name) -> Result<Vec<IpAddr>, ResolveError> {
        match self.answer(&name.absolute()) {
            Answer::Addresses(addresses) => Ok(addresses),
            Answer::Fails => Err(ResolveError::Unanswered { source: io::ErrorKind::NotFound.into() }),
            Answer::Silent => std::future::pending().await,
        }
    }
}
