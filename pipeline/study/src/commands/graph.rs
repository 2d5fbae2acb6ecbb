//! `study graph`: the DAG, coloured by cache state.

use super::{jobs, options};
use crate::args::{GraphArgs, GraphFormat, SelectArgs};
use crate::drawing::{self, Drawn};
use crate::exit::{Exit, Failure};
use crate::load::{self, Telling};
use crate::terminal::{Terminal, to_stdout};
use study_store::Store;

pub fn execute(args: &GraphArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let opened = load::open(&args.study, terminal, Telling::default())?;
    let store = Store::open_existing(&args.store.folder())?;
    let options = options(&SelectArgs::default(), jobs(None), false);
    let reports =
        opened.checked(terminal, study_engine::plan(&opened.study, store.as_ref(), &opened.files, &options))?;
    let nodes: Vec<Drawn> = opened
        .study
        .nodes
        .iter()
        .zip(&reports)
        .map(|(node, report)| Drawn {
            id: node.id.clone(),
            kind: node.kind.name().to_owned(),
            state: report.state,
            needs: node.needs.clone(),
        })
        .collect();
    let text = match args.format {
        GraphFormat::Ascii => drawing::ascii(&nodes, terminal.stdout),
        GraphFormat::Dot => drawing::dot(&nodes),
        GraphFormat::Mermaid => drawing::mermaid(&nodes),
        GraphFormat::Svg => drawing::svg(&nodes),
    };
    to_stdout(text.as_bytes())?;
    Ok(Exit::Ok)
}
