//! What may be written to stdout and stderr, and in which colours.
//!
//! Each stream is judged by itself: bars and messages go to stderr, so stderr decides about them, whatever stdout is.

use crate::exit::Failure;
use clap::ValueEnum;
use std::io::{IsTerminal, Write};

/// `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// One output stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    /// Somebody looks at it.
    pub interactive: bool,
    /// It may have colours.
    pub color: bool,
}

/// Both streams.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    /// Data.
    pub stdout: Stream,
    /// Everything else.
    pub stderr: Stream,
}

/// A colour or weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Errors.
    Red,
    /// Warnings.
    Yellow,
    /// Good news.
    Green,
    /// Things to do.
    Cyan,
    /// Less important.
    Dim,
}

impl Stream {
    fn of(interactive: bool, choice: ColorChoice) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let color = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if set("NO_COLOR") => false,
            ColorChoice::Auto if std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
            ColorChoice::Auto => interactive && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
        };
        Self { interactive, color }
    }
    /// The text in a colour, or as it is.
    pub fn paint(self, paint: Paint, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Red => "31",
            Paint::Yellow => "33",
            Paint::Green => "32",
            Paint::Cyan => "36",
            Paint::Dim => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

impl Terminal {
    /// The streams of this process.
    pub fn detect(choice: ColorChoice) -> Self {
        Self {
            stdout: Stream::of(std::io::stdout().is_terminal(), choice),
            stderr: Stream::of(std::io::stderr().is_terminal(), choice),
        }
    }
    /// A failure as people read it; nothing when it has been told already.
    pub fn failure(&self, failure: &Failure) {
        if failure.message.is_empty() {
            return;
        }
        let mut text = format!("{} {}\n", self.stderr.paint(Paint::Red, "error:"), printable(&failure.message));
        if let Some(help) = &failure.help {
            text.push_str(&format!("  {} {}\n", self.stderr.paint(Paint::Cyan, "help:"), printable(help)));
        }
        to_stderr(&text);
    }
    /// Something that does not stop the command.
    pub fn note(&self, message: &str) {
        to_stderr(&format!("{} {}\n", self.stderr.paint(Paint::Yellow, "note:"), printable(message)));
    }
}

/// Writes data. A reader that has gone away (`| head`) is no failure.
pub fn to_stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::environment(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a message. There is no place left to complain when this fails.
pub fn to_stderr(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Text from outside without what would move the cursor or change colours.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_added_only_where_it_is_wanted() {
        let plain = Stream { interactive: true, color: false };
        assert_eq!(plain.paint(Paint::Red, "x"), "x");
        let coloured = Stream { interactive: false, color: true };
        assert_eq!(coloured.paint(Paint::Red, "x"), "\u{1b}[31mx\u{1b}[0m");
        assert!(!Stream::of(true, ColorChoice::Never).color);
        assert!(Stream::of(false, ColorChoice::Always).color);
    }

    #[test]
    fn escape_sequences_from_a_file_do_not_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\nc"), "a\u{fffd}[2Jb\nc");
    }
}
