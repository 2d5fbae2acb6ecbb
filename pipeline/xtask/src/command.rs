//! Running other programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs a program in the workspace's root and lets it write to the terminal.
pub fn run(program: &str, arguments: &[&str]) -> Result<(), Vec<String>> {
    let status = Command::new(program)
        .args(arguments)
        .current_dir(crate::workspace::root())
        .status()
        .map_err(|e| vec![format!("cannot start `{program}`: {e}")])?;
    if status.success() { Ok(()) } else { Err(vec![format!("`{program} {}` failed ({status})", arguments.join(" "))]) }
}

/// Runs a program in the workspace's root and returns its output.
pub fn output(program: &str, arguments: &[&str]) -> Result<Output, Vec<String>> {
    Command::new(program)
        .args(arguments)
        .current_dir(crate::workspace::root())
        .output()
        .map_err(|e| vec![format!("cannot start `{program}`: {e}")])
}

/// Runs a program with more variables in its environment; what it wrote is shown only when it fails.
pub fn quietly(program: &str, arguments: &[&str], variables: &[(&str, &Path)]) -> Result<(), Vec<String>> {
    let output = Command::new(program)
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(crate::workspace::root())
        .output()
        .map_err(|e| vec![format!("cannot start `{program}`: {e}")])?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Err(vec![format!("`{program} {}` failed ({}):\n{said}", arguments.join(" "), output.status)])
}

/// Runs a program that must succeed and returns what it wrote to stdout.
pub fn stdout(program: &str, arguments: &[&str]) -> Result<String, Vec<String>> {
    let output = output(program, arguments)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(vec![format!("`{program} {}` failed ({}):\n{errors}", arguments.join(" "), output.status)])
    }
}

/// Builds the `study` binary and says where it is.
pub fn study_binary() -> Result<String, Vec<String>> {
    run("cargo", &["build", "--quiet", "--package", "study"])?;
    let binary =
        crate::workspace::target_directory()?.join("debug").join(format!("study{}", std::env::consts::EXE_SUFFIX));
    Ok(binary.to_string_lossy().into_owned())
}

/// A new folder under the target folder; removed when dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes it; `name` and the process id keep two of them apart.
    pub fn new(name: &str) -> Result<Self, Vec<String>> {
        let path = crate::workspace::target_directory()?.join(format!("xtask-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| vec![format!("cannot make `{}`: {e}", path.display())])?;
        Ok(Self(path))
    }
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left-overs lie in the target folder, where they harm nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
