//! Cuts a shell line into simple commands: words, redirections, here-documents.
//!
//! Knows quoting, comments, substitutions and separators; expands nothing. A
//! line it cannot follow (a quote that never closes, nesting too deep) is
//! reported as such, so that nobody takes it for harmless.

/// One word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The text with its quotes removed; substitutions left in place.
    pub(super) text: String,
    /// Some of it stood in quotes.
    pub(super) quoted: bool,
}

/// Where a command's input or output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// `> file`, `>> file`, `&> file`
    Into(Word),
    /// `< file`, `<<< text`, `2>&1`: changes nothing.
    Harmless,
    /// `<< EOF`, with its text.
    Here(String),
}

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// The words, assignments and keywords included.
    pub(super) words: Vec<Word>,
    /// The redirections.
    pub(super) redirects: Vec<Redirect>,
    /// It is left running behind (`&`).
    pub(super) background: bool,
}

/// A line in pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Simple commands in order.
    pub(super) commands: Vec<Command>,
    /// Texts of `$(…)`, backquotes and `<(…)`.
    pub(super) substitutions: Vec<String>,
}

/// The line cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclear;

/// Cuts a line into commands.
pub(super) fn cut(text: &str) -> Result<Line, Unclear> {
    let mut lexer = Lexer { rest: text, line: Line::default(), open: Command::default(), heres: Vec::new() };
    lexer.run()?;
    Ok(lexer.line)
}

struct Lexer<'a> {
    rest: &'a str,
    line: Line,
    open: Command,
    /// Here-documents announced on this line: end mark, tabs stripped.
    heres: Vec<(String, bool)>,
}

impl Lexer<'_> {
    fn run(&mut self) -> Result<(), Unclear> {
        while let Some(first) = self.rest.chars().next() {
            match first {
                ' ' | '\t' | '\r' => self.skip(1),
                '\\' if self.rest.starts_with("\\\n") => self.skip(2),
                '\n' => self.newline(),
                '#' => self.comment(),
                ';' | '|' | '&' | '(' | ')' => self.separator(first)?,
                '<' | '>' => self.redirect()?,
                _ if self.starts_numbered_redirect() => {
                    self.skip(1);
                    self.redirect()?;
                }
                _ => {
                    let word = self.word()?;
                    self.open.words.push(word);
                }
            }
        }
        self.close();
        if self.heres.is_empty() { Ok(()) } else { Err(Unclear) }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or("");
    }

    fn close(&mut self) {
        let command = std::mem::take(&mut self.open);
        if !command.words.is_empty() || !command.redirects.is_empty() {
            self.line.commands.push(command);
        }
    }

    fn comment(&mut self) {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        self.skip(end);
    }

    fn newline(&mut self) {
        self.skip(1);
        let mut bodies = Vec::new();
        for (mark, strip) in std::mem::take(&mut self.heres) {
            bodies.push(self.here_body(&mark, strip));
        }
        let mut bodies = bodies.into_iter();
        // The bodies follow the line; they belong to the commands that asked.
        let commands = self.line.commands.iter_mut().chain(std::iter::once(&mut self.open));
        for redirect in commands.flat_map(|command| command.redirects.iter_mut()) {
            if let Redirect::Here(body) = redirect
                && body.is_empty()
                && let Some(text) = bodies.next()
            {
                *body = text;
            }
        }
        self.close();
    }

    fn here_body(&mut self, mark: &str, strip: bool) -> String {
        let mut body = String::from("\n");
        while !self.rest.is_empty() {
            let end = self.rest.find('\n').map_or(self.rest.len(), |at| at + 1);
            let (line, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
            self.rest = rest;
            let bare = line.trim_end_matches(['\n', '\r']);
            if (if strip { bare.trim_start_matches('\t') } else { bare }) == mark {
                break;
            }
            body.push_str(line);
        }
        body
    }

    fn separator(&mut self, first: char) -> Result<(), Unclear> {
        if self.rest.starts_with("&>") {
            self.skip(1);
            return self.redirect();
        }
        let pair = self.rest.get(..2).unwrap_or("");
        let long = matches!(pair, "&&" | "||" | ";;" | "|&");
        self.open.background = first == '&' && !long;
        self.close();
        self.skip(if long { 2 } else { 1 });
        Ok(())
    }

    fn starts_numbered_redirect(&self) -> bool {
        let [digit, next, ..] = self.rest.as_bytes() else { return false };
        digit.is_ascii_digit() && matches!(next, b'<' | b'>')
    }

    fn redirect(&mut self) -> Result<(), Unclear> {
        const OPERATORS: [&str; 11] = ["<<<", "<<-", ">>", "<<", ">|", ">&", "<&", "<>", "<(", ">(", ">"];
        let operator = OPERATORS.into_iter().find(|op| self.rest.starts_with(op)).unwrap_or("<");
        if matches!(operator, "<(" | ">(") {
            let word = self.word()?;
            self.open.words.push(word);
            return Ok(());
        }
        self.skip(operator.len());
        self.blanks();
        let target = self.word()?;
        let redirect = match operator {
            "<<" | "<<-" => {
                self.heres.push((target.text, operator == "<<-"));
                Redirect::Here(String::new())
            }
            ">" | ">>" | ">|" | "<>" => Redirect::Into(target),
            ">&" if !is_descriptor(&target.text) => Redirect::Into(target),
            _ => Redirect::Harmless,
        };
        self.open.redirects.push(redirect);
        Ok(())
    }

    fn blanks(&mut self) {
        let trimmed = self.rest.trim_start_matches([' ', '\t']);
        self.rest = trimmed;
    }

    fn word(&mut self) -> Result<Word, Unclear> {
        let mut word = Word::default();
        while let Some(next) = self.rest.chars().next() {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' | '|' | '&' | ')' => break,
                '(' | '<' | '>' if !word.text.is_empty() || next == '(' => break,
                '<' | '>' => self.substitution(&mut word, 1)?,
                '\'' => self.single_quoted(&mut word)?,
                '"' => self.double_quoted(&mut word)?,
                '\\' => self.escaped(&mut word),
                '`' => self.backquoted(&mut word)?,
                '$' if self.rest.starts_with("$((") => self.arithmetic(&mut word)?,
                '$' if self.rest.starts_with("$(") => self.substitution(&mut word, 1)?,
                '$' if self.rest.starts_with("$'") => self.ansi_quoted(&mut word)?,
                _ => self.take(&mut word, next),
            }
        }
        Ok(word)
    }

    fn take(&mut self, word: &mut Word, next: char) {
        word.text.push(next);
        self.skip(next.len_utf8());
    }

    fn single_quoted(&mut self, word: &mut Word) -> Result<(), Unclear> {
        self.skip(1);
        let end = self.rest.find('\'').ok_or(Unclear)?;
        word.text.push_str(self.rest.get(..end).unwrap_or(""));
        word.quoted = true;
        self.skip(end + 1);
        Ok(())
    }

    fn ansi_quoted(&mut self, word: &mut Word) -> Result<(), Unclear> {
        self.skip(2);
        word.quoted = true;
        loop {
            match self.rest.chars().next().ok_or(Unclear)? {
                '\'' => break self.skip(1),
                '\\' => self.escaped(word),
                other => self.take(word, other),
            }
        }
        Ok(())
    }

    fn double_quoted(&mut self, word: &mut Word) -> Result<(), Unclear> {
        self.skip(1);
        word.quoted = true;
        loop {
            match self.rest.chars().next().ok_or(Unclear)? {
                '"' => break self.skip(1),
                '\\' => self.escaped(word),
                '`' => self.backquoted(word)?,
                '$' if self.rest.starts_with("$(") && !self.rest.starts_with("$((") => {
                    self.substitution(word, 1)?;
                }
                other => self.take(word, other),
            }
        }
        Ok(())
    }

    fn escaped(&mut self, word: &mut Word) {
        self.skip(1);
        if let Some(next) = self.rest.chars().next() {
            if next != '\n' {
                word.text.push(next);
            }
            self.skip(next.len_utf8());
        }
        word.quoted = true;
    }

    fn backquoted(&mut self, word: &mut Word) -> Result<(), Unclear> {
        self.skip(1);
        let end = self.rest.find('`').ok_or(Unclear)?;
        self.line.substitutions.push(self.rest.get(..end).unwrap_or("").to_owned());
        word.text.push('$');
        self.skip(end + 1);
        Ok(())
    }

    fn arithmetic(&mut self, word: &mut Word) -> Result<(), Unclear> {
        let end = self.rest.find("))").ok_or(Unclear)?;
        word.text.push('$');
        self.skip(end + 2);
        Ok(())
    }

    /// `$(…)`, `<(…)` or `>(…)`; `lead` is the length of what stands before the bracket.
    fn substitution(&mut self, word: &mut Word, lead: usize) -> Result<(), Unclear> {
        self.skip(lead);
        if !self.rest.starts_with('(') {
            return Err(Unclear);
        }
        let end = closing_bracket(self.rest).ok_or(Unclear)?;
        self.line.substitutions.push(self.rest.get(1..end).unwrap_or("").to_owned());
        word.text.push('$');
        self.skip(end + 1);
        Ok(())
    }
}

fn is_descriptor(target: &str) -> bool {
    target == "-" || (!target.is_empty() && target.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Offset of the bracket that closes the one the text starts with.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    let mut quote = None;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            _ if escaped => escaped = false,
            (Some(b'\''), b'\'') | (Some(b'"'), b'"') => quote = None,
            (Some(b'\''), _) => {}
            (_, b'\\') => escaped = true,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            (None, _) => {}
        }
    }
    None
}
