//! The stores from outside: the suite every store must pass, and what only
//! SQLite can get wrong.

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod migrations;
#[cfg(test)]
mod sqlite;
