//! Exit codes, and failures that lead to them.

use std::process::ExitCode;

/// How the program ends. The numbers are a contract with scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Ok = 0,
    /// A claim or a validity check failed; the results exist.
    Unproven = 1,
    /// Wrong usage, or an invalid study.
    Usage = 2,
    /// This machine lacks something: space, a writable folder, a program.
    Environment = 3,
    /// A stage failed.
    Stage = 4,
    /// The store is corrupt.
    Corrupt = 5,
    /// Interrupted by the user; the next run goes on where this one stopped.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command could not do its work: what, what to do, and the exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The code.
    pub exit: Exit,
    /// What: lower case, values in backticks.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl Failure {
    /// A failure with a code.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), help: None }
    }
    /// What went wrong has been said already.
    pub fn reported(exit: Exit) -> Self {
        Self::new(exit, "")
    }
    /// Wrong usage, or an invalid study.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }
    /// This machine lacks something.
    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(Exit::Environment, message)
    }
    /// Adds what to do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// Adds what to do, if there is something to say.
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }
}
