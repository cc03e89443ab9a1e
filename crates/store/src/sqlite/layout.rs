//! Whether a database has the tables of a store of its version, word for word.
//!
//! A schema can hold things that run when a table is read or written: triggers, views,
//! checks, defaults, computed columns, indexes on expressions. A list of these would miss one,
//! so whatever is not exactly ours is a stranger. What ours is says the list of migrations: it
//! is carried out on an empty database in memory, and the two schemas are compared. What SQLite
//! keeps about tables for itself is data, and no code.

use rusqlite::Connection;

use crate::migrations::had_by;

/// One object of a schema: what it is, what it is called, which table it is about, its words.
type Object = (String, String, String, String);

/// What is too much, missing or different; `None` if nothing is.
pub(super) fn stranger(conn: &Connection, version: u32) -> rusqlite::Result<Option<String>> {
    let (found, expected) = (objects(conn)?, expected(version)?);
    let name = |object: &Object| object.1.chars().filter(|c| !c.is_control()).take(80).collect::<String>();
    if let Some(odd) = found.iter().find(|object| !expected.contains(object)) {
        return Ok(Some(format!("{:?} is none of its tables and indexes", name(odd))));
    }
    if let Some(missing) = expected.iter().find(|object| !found.contains(object)) {
        return Ok(Some(format!("{:?} is missing", name(missing))));
    }
    Ok((found.len() != expected.len()).then(|| "something is there twice".to_owned()))
}

/// The schema of a store of this version.
fn expected(version: u32) -> rusqlite::Result<Vec<Object>> {
    let conn = Connection::open_in_memory()?;
    had_by(version).try_for_each(|step| conn.execute_batch(step.sqlite.make))?;
    objects(&conn)
}

fn objects(conn: &Connection) -> rusqlite::Result<Vec<Object>> {
    let sql = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema
               WHERE NOT (type = 'index' AND sql IS NULL AND name LIKE 'sqlite_autoindex_%')
               AND NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4'))";
    let mut statement = conn.prepare(sql)?;
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    found.collect()
}
