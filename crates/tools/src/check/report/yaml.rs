//! The little YAML of TAP's diagnostics: keys, scalars, blocks. Anything deeper stays text.

/// Most keys of one block.
const KEYS_MAX: usize = 64;

/// Keys of the outermost map and their values, as text.
pub(super) fn entries(lines: &[&str]) -> Vec<(String, String)> {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let margin =
        lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line)).min().unwrap_or(0);
    let mut entries: Vec<(String, String, Vec<&str>)> = Vec::new();
    for line in lines {
        let at_margin = indent(line) == margin && !line.trim().is_empty();
        let key = line.trim().split_once(':').filter(|(_, rest)| rest.is_empty() || rest.starts_with(' '));
        match (at_margin, key) {
            (true, Some((key, value))) if entries.len() < KEYS_MAX => {
                entries.push((key.trim().to_owned(), value.trim().to_owned(), Vec::new()));
            }
            _ => {
                if let Some((_, _, below)) = entries.last_mut() {
                    below.push(line);
                }
            }
        }
    }
    entries.into_iter().map(|(key, value, below)| (key, resolved(&value, &below))).collect()
}

fn resolved(value: &str, below: &[&str]) -> String {
    if value.is_empty() || value.starts_with(['|', '>']) {
        return super::bound::dedented(below);
    }
    if let Some(inside) = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return inside.replace("''", "'");
    }
    if value.starts_with('"') {
        return serde_json::from_str(value).unwrap_or_else(|_| value.trim_matches('"').to_owned());
    }
    value.to_owned()
}
