//! Whether a database has the tables of a store of its version, word for word.
//!
//! A schema can hold things that run when a table is read or written: triggers, views,
//! checks, defaults, computed columns, indexes on expressions. A list of these would miss one,
//! so whatever is not exactly ours is a stranger. What ours is says the list of migrations: it
//! is carried out on an empty database in memory, and the two schemas are compared. Steps that
//! only make things leave behind what they say, so these are compared as they stand first: that
//! costs a store that is in order nothing. What SQLite keeps about tables for itself is data, and
//! no code.

use rusqlite::Connection;

use crate::migrations::had_by;

/// One object of a schema: what it is, what it is called, which table it is about, its words.
type Object = (String, String, String, String);

/// What is too much, missing or different; `None` if nothing is.
pub(super) fn stranger(conn: &Connection, version: u32) -> rusqlite::Result<Option<String>> {
    let found = objects(conn)?;
    if is_same(&found, &written(version)) {
        return Ok(None);
    }
    let expected = expected(version)?;
    let name = |object: &Object| object.1.chars().filter(|c| !c.is_control()).take(80).collect::<String>();
    if let Some(odd) = found.iter().find(|object| !expected.contains(object)) {
        return Ok(Some(format!("{:?} is none of its tables and indexes", name(odd))));
    }
    if let Some(missing) = expected.iter().find(|object| !found.contains(object)) {
        return Ok(Some(format!("{:?} is missing", name(missing))));
    }
    Ok((found.len() != expected.len()).then(|| "something is there twice".to_owned()))
}

/// Whether both hold the same objects, each once.
fn is_same(found: &[Object], expected: &[Object]) -> bool {
    found.len() == expected.len() && expected.iter().all(|object| found.contains(object))
}

/// The schema that the steps up to a version leave, if all of them only make things; else one
/// that no database has.
fn written(version: u32) -> Vec<Object> {
    let statements = had_by(version).flat_map(|step| step.sqlite.make.split(';'));
    let made = statements.map(str::trim).filter(|statement| !statement.is_empty()).map(|statement| {
        let mut words = statement.split_whitespace().filter(|word| !matches!(*word, "CREATE" | "UNIQUE"));
        let kind = words.next().unwrap_or_default().to_lowercase();
        let name = words.next().unwrap_or_default().to_owned();
        let about = if kind == "index" { words.nth(1).unwrap_or_default().to_owned() } else { name.clone() };
        (kind, name, about, statement.to_owned())
    });
    made.collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrations::VERSION;

    #[test]
    fn what_is_written_in_the_list_is_what_it_makes_at_every_version() {
        for version in 1..=VERSION {
            let (written, made) = (written(version), expected(version).unwrap());
            assert!(is_same(&made, &written), "version {version}: {made:#?}\n{written:#?}");
            assert!(is_same(&written, &made));
        }
    }

    #[test]
    fn one_object_too_many_too_few_or_twice_is_not_the_same() {
        let all = written(VERSION);
        let fewer = &all[1..];
        assert!(!is_same(fewer, &all) && !is_same(&all, fewer));
        let mut twice = fewer.to_vec();
        twice.push(all[1].clone());
        assert!(!is_same(&twice, &all));
    }
}
