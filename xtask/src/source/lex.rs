//! From text to tokens. Comments vanish; a string or character literal becomes
//! one [`Token::Literal`], so nothing inside it can look like code.

/// A piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// An identifier, a keyword or a number.
    Word(String),
    /// Any other character.
    Mark(char),
    /// A string or character, whatever is in it.
    Literal,
}

impl Token {
    /// True for this word.
    #[must_use]
    pub fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(found) if found == word)
    }

    /// True for this character.
    #[must_use]
    pub fn is_mark(&self, mark: char) -> bool {
        *self == Self::Mark(mark)
    }

    /// The word, if it is one.
    #[must_use]
    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            Self::Mark(_) | Self::Literal => None,
        }
    }
}

/// A file as tokens.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The tokens, each with its line from 1.
    pub tokens: Vec<(usize, Token)>,
    /// The lines that hold code (not only comments or white space), ascending.
    pub code_lines: Vec<usize>,
}

impl Source {
    /// The token at this index.
    #[must_use]
    pub fn token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at).map(|(_, token)| token)
    }

    /// The line of the token at this index; 0 past the end.
    #[must_use]
    pub fn line(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(0, |(line, _)| *line)
    }

    /// True when these tokens start at this index; words as words, any other
    /// text character by character.
    #[must_use]
    pub fn matches(&self, at: usize, pattern: &[&str]) -> bool {
        pattern.iter().enumerate().all(|(offset, expected)| match self.token(at + offset) {
            Some(Token::Word(word)) => word == expected,
            Some(Token::Mark(mark)) => expected.chars().eq([*mark]),
            Some(Token::Literal) | None => false,
        })
    }
}

/// Reads a text.
#[must_use]
pub fn lex(text: &str) -> Source {
    let mut lexer = Lexer { chars: text.chars().collect(), at: 0, line: 1, source: Source::default() };
    while let Some(next) = lexer.peek(0) {
        lexer.step(next);
    }
    lexer.source
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    source: Source,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn advance(&mut self, count: usize) {
        for _ in 0..count {
            if self.peek(0) == Some('\n') {
                self.line += 1;
            }
            self.at += 1;
        }
    }

    fn step(&mut self, next: char) {
        match (next, self.peek(1)) {
            ('/', Some('/')) => self.line_comment(),
            ('/', Some('*')) => self.block_comment(),
            ('"', _) => self.literal(Self::quoted),
            ('\'', _) => self.quote(),
            (space, _) if space.is_whitespace() => self.advance(1),
            (letter, _) if is_word(letter) => self.word(),
            (mark, _) => {
                self.push(Token::Mark(mark));
                self.advance(1);
            }
        }
    }

    fn push(&mut self, token: Token) {
        self.source.tokens.push((self.line, token));
        self.mark_code(self.line);
    }

    fn mark_code(&mut self, line: usize) {
        if self.source.code_lines.last() != Some(&line) {
            self.source.code_lines.push(line);
        }
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.advance(1);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => {
                    depth += 1;
                    self.advance(2);
                }
                (Some('*'), Some('/')) => {
                    depth = depth.saturating_sub(1);
                    self.advance(2);
                    if depth == 0 {
                        return;
                    }
                }
                (Some(_), _) => self.advance(1),
                (None, _) => return,
            }
        }
    }

    fn literal(&mut self, body: impl FnOnce(&mut Self)) {
        self.push(Token::Literal);
        let first = self.line;
        body(self);
        for line in first..=self.line {
            self.mark_code(line);
        }
    }

    /// From the opening to the closing double quote.
    fn quoted(&mut self) {
        self.advance(1);
        while let Some(next) = self.peek(0) {
            self.advance(if next == '\\' { 2 } else { 1 });
            if next == '"' {
                return;
            }
        }
    }

    /// From the first `#` or quote of a raw string to its end.
    fn raw(&mut self) {
        let hashes = self.hashes_from(0);
        self.advance(hashes + 1);
        while let Some(next) = self.peek(0) {
            if next == '"' && self.hashes_from(1) >= hashes {
                self.advance(hashes + 1);
                return;
            }
            self.advance(1);
        }
    }

    fn hashes_from(&self, ahead: usize) -> usize {
        (ahead..).take_while(|&place| self.peek(place) == Some('#')).count()
    }

    /// A character literal, or the mark that opens a lifetime.
    fn quote(&mut self) {
        if self.peek(1) == Some('\\') {
            self.literal(|lexer| {
                lexer.advance(3);
                while lexer.peek(0).is_some_and(|c| c != '\'') {
                    lexer.advance(1);
                }
                lexer.advance(1);
            });
        } else if self.peek(2) == Some('\'') {
            self.literal(|lexer| lexer.advance(3));
        } else {
            self.push(Token::Mark('\''));
            self.advance(1);
        }
    }

    fn word(&mut self) {
        let word: String =
            (0..).map_while(|ahead| self.peek(ahead)).take_while(|&letter| is_word(letter)).collect();
        let len = word.chars().count();
        let after_hashes = self.peek(len + self.hashes_from(len));
        match word.as_str() {
            "r" | "br" | "cr" if after_hashes == Some('"') => self.literal(|lexer| {
                lexer.advance(len);
                lexer.raw();
            }),
            "b" | "c" if self.peek(len) == Some('"') => self.literal(|lexer| {
                lexer.advance(len);
                lexer.quoted();
            }),
            _ => {
                self.push(Token::Word(word));
                self.advance(len);
            }
        }
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}
