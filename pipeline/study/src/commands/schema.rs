//! `study schema`: for editors.

use crate::exit::{Exit, Failure};
use crate::terminal::to_stdout;

pub fn execute() -> Result<Exit, Failure> {
    let schema = study_spec::schema(&study_kinds::REGISTRY);
    to_stdout(format!("{schema:#}\n").as_bytes())?;
    Ok(Exit::Ok)
}
