//! Columns that line up.

use super::escape;

/// Rows under headings; the last column gets what is left of `width`.
pub(crate) fn lines(headings: &[&str], rows: &[Vec<String>], width: usize) -> Vec<String> {
    let cells = |row: &Vec<String>| row.iter().map(|cell| escape::line(cell)).collect::<Vec<_>>();
    let mut all = vec![headings.iter().map(|&heading| heading.to_owned()).collect::<Vec<_>>()];
    all.extend(rows.iter().map(cells));
    let widths: Vec<usize> = (0..headings.len())
        .map(|column| {
            all.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    all.iter().map(|row| line(row, &widths, width)).collect()
}

fn line(row: &[String], widths: &[usize], width: usize) -> String {
    let mut text = String::new();
    for (column, cell) in row.iter().enumerate() {
        text.push_str(cell);
        if column + 1 < row.len() {
            let wide = widths.get(column).copied().unwrap_or(0);
            text.extend(std::iter::repeat_n(' ', wide.saturating_sub(cell.chars().count()) + 2));
        }
    }
    escape::cut(text.trim_end(), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_one_is_cut() {
        let rows =
            vec![vec!["a".into(), "one\u{1b}".into()], vec!["long".into(), "a goal of many words".into()]];
        let expected = ["RUN   GOAL", "a     one\\u{1b}", "long  a goal o…"];
        assert_eq!(lines(&["RUN", "GOAL"], &rows, 15), expected);
    }
}
