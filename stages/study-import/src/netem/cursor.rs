//! Reading the words of a command one by one, with problems told where they stand.

use super::numbers::NumberError;
use super::script::Word;
use study_tree::{Diagnostic, Diagnostics, Span};

pub(crate) struct Cursor<'w, 'd> {
    words: &'w [Word],
    at: usize,
    pub problems: &'d mut Diagnostics,
}

impl<'w, 'd> Cursor<'w, 'd> {
    pub(crate) const fn new(words: &'w [Word], problems: &'d mut Diagnostics) -> Self {
        Self { words, at: 0, problems }
    }
    pub(crate) fn peek(&self) -> Option<&'w Word> {
        self.words.get(self.at)
    }
    pub(crate) fn next(&mut self) -> Option<&'w Word> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(word)
    }
    /// The words that are left.
    pub(crate) fn rest(&self) -> &'w [Word] {
        &self.words[self.at.min(self.words.len())..]
    }
    /// Whether the next word begins like a number, which is how tc decides about optional values.
    pub(crate) fn number_follows(&self, signed: bool) -> bool {
        self.peek().and_then(|w| w.text.chars().next()).is_some_and(|c| c.is_ascii_digit() || (signed && c == '-'))
    }
    /// The word after `key`; its absence is told.
    pub(crate) fn value(&mut self, key: &Word) -> Option<&'w Word> {
        let next = self.next();
        if next.is_none() {
            let message = format!("`{}` has no value", key.text);
            self.error("import-value", key.span, message, "write its value behind it");
        }
        next
    }
    /// The value after `key`, read by `parse`.
    pub(crate) fn read<T>(&mut self, key: &Word, parse: fn(&str) -> Result<T, NumberError>) -> Option<T> {
        let word = self.value(key)?;
        self.parse(key, word, parse)
    }
    fn parse<T>(&mut self, key: &Word, word: &Word, parse: fn(&str) -> Result<T, NumberError>) -> Option<T> {
        match parse(&word.text) {
            Ok(value) => Some(value),
            Err(NumberError::Unreadable(cure)) => {
                let message = format!("`{}` is not a value of `{}`", word.text, key.text);
                self.error("import-value", word.span, message, cure);
                None
            }
            Err(NumberError::Range(cure)) => {
                let message = format!("`{}` is out of range for `{}`", word.text, key.text);
                self.error("import-value", word.span, message, cure);
                None
            }
        }
    }
    pub(crate) fn error(&mut self, code: &'static str, span: Span, message: String, cure: &str) {
        self.problems.push(Diagnostic::error(code, span, message).help(cure));
    }
}
