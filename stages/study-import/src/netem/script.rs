//! From the text of a shell script to its commands.
//!
//! Purpose: words with their places, as a shell would split them. Understood: comments, continued lines, quotes, `;`, `&&`, `||`,
//! `|` and `&` between commands. Nothing is expanded and nothing is followed: a word with a variable is marked as such, and
//! conditions and loops are commands like any other.

use study_tree::Span;

/// A word and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub text: String,
    pub span: Span,
    /// Whether the shell would put something else in its place.
    pub expands: bool,
}

/// A command with the comments that stand on its line and on the lines right above it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Command {
    pub words: Vec<Word>,
    pub comments: Vec<Word>,
}

/// All commands of a script. `source` is the number of the text among those that problems are shown in.
pub(crate) fn commands(text: &str, source: u32) -> Vec<Command> {
    let mut reader = Reader {
        text,
        source,
        at: 0,
        commands: Vec::new(),
        open: Command::default(),
        above: Vec::new(),
        on_line: false,
    };
    reader.run();
    reader.commands
}

struct Reader<'t> {
    text: &'t str,
    source: u32,
    at: usize,
    commands: Vec<Command>,
    open: Command,
    above: Vec<Word>,
    /// Whether a command has ended or begun on this line.
    on_line: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }
    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }
    /// Skips the end of a line that goes on in the next.
    fn continues(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let length = ["\\\n", "\\\r\n"].iter().find(|end| rest.starts_with(**end)).map_or(0, |end| end.len());
        self.at += length;
        length > 0
    }
    fn span(&self, start: usize) -> Span {
        Span { source: self.source, start: start as u32, end: self.at as u32 }
    }
    fn run(&mut self) {
        loop {
            if self.continues() {
                continue;
            }
            match self.peek() {
                None => break,
                Some('\n') => self.end_line(),
                Some(';' | '&' | '|') => {
                    self.at += 1;
                    self.end_command();
                }
                Some('#') => self.comment(),
                Some(c) if c.is_whitespace() => self.at += c.len_utf8(),
                Some(_) => self.word(),
            }
        }
        self.end_command();
    }
    fn end_line(&mut self) {
        self.at += 1;
        self.end_command();
        if !self.on_line && !self.text[..self.at - 1].trim_end_matches([' ', '\t', '\r']).ends_with(|c| c != '\n') {
            // An empty line parts what is above it from what is below.
            self.above.clear();
        }
        self.on_line = false;
    }
    fn end_command(&mut self) {
        if self.open.words.is_empty() {
            return;
        }
        let mut command = std::mem::take(&mut self.open);
        command.comments.append(&mut self.above);
        self.commands.push(command);
        self.on_line = true;
    }
    fn comment(&mut self) {
        let start = self.at;
        self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
        let word = Word { text: self.text[start..self.at].to_owned(), span: self.span(start), expands: false };
        if !self.open.words.is_empty() {
            self.open.comments.push(word);
        } else if self.on_line
            && let Some(last) = self.commands.last_mut()
        {
            last.comments.push(word);
        } else {
            self.above.push(word);
        }
    }
    fn word(&mut self) {
        let start = self.at;
        let (mut text, mut expands, mut quote) = (String::new(), false, None);
        while let Some(c) = self.peek() {
            if quote != Some('\'') && self.continues() {
                continue;
            }
            match (c, quote) {
                (c, Some(open)) if c == open => quote = None,
                ('\'' | '"', None) => quote = Some(c),
                ('\n', None) | (';' | '&' | '|', None) => break,
                (c, None) if c.is_whitespace() => break,
                ('\\', None | Some('"')) => {
                    self.at += 1;
                    text.extend(self.peek());
                }
                (c, quote) => {
                    expands |= quote != Some('\'') && matches!(c, '$' | '`');
                    text.push(c);
                }
            }
            self.bump();
        }
        let span = self.span(start);
        self.open.words.push(Word { text, span, expands });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<Vec<String>> {
        commands(text, 0).into_iter().map(|c| c.words.into_iter().map(|w| w.text).collect()).collect()
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        let script = "#!/bin/sh\nset -e; tc qdisc add dev 'eth 0' \\\n   root netem # why\n\tfoo && b\"a\"r|baz\r\n";
        assert_eq!(
            split(script),
            [
                vec!["set", "-e"],
                vec!["tc", "qdisc", "add", "dev", "eth 0", "root", "netem"],
                vec!["foo"],
                vec!["bar"],
                vec!["baz"]
            ]
        );
        assert!(split("").is_empty() && split("# only\n\n  \n").is_empty());
        assert_eq!(split("a'"), [["a"]], "an open quote ends with the text");
        assert_eq!(split("a\\"), [["a"]]);
    }

    #[test]
    fn variables_are_marked_and_single_quotes_protect() {
        let words = &commands("tc $A \"${B}ms\" '$C' `d`", 0)[0].words;
        let marked: Vec<bool> = words.iter().map(|w| w.expands).collect();
        assert_eq!(marked, [false, true, true, false, true]);
        assert_eq!((words[2].span.start, words[2].span.end), (6, 14));
    }

    #[test]
    fn comments_go_with_the_command_of_their_line_and_right_below() {
        let all = commands("# far\n\n# near 5 %\ntc a # same\ntc b\n", 0);
        let texts: Vec<&str> = all[0].comments.iter().map(|w| w.text.as_str()).collect();
        assert_eq!(texts, ["# same", "# near 5 %"]);
        assert!(all[1].comments.is_empty());
    }
}
