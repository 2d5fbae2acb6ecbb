//! How far a run is: bars with an estimate on a terminal, one line per node elsewhere.
//!
//! Whether there are bars is decided by stderr alone, where they go. `NO_COLOR` takes their colour and nothing else.

use crate::terminal::{Paint, Terminal, to_stderr};
use crate::wording;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use study_engine::{NodeReport, RunEvent, State};

/// Shows the events of a run.
pub struct Progress {
    terminal: Terminal,
    mode: Mode,
    verbose: bool,
    /// Ids, in the order of the plan.
    nodes: Vec<String>,
    /// Expected seconds of the nodes that are to be executed; nothing where that is not known.
    expected: Vec<Option<f64>>,
    jobs: usize,
    state: Mutex<Running>,
}

enum Mode {
    Quiet,
    Lines,
    Bars { all: MultiProgress, overall: ProgressBar },
}

#[derive(Default)]
struct Running {
    /// Nodes that have their final state.
    finished: BTreeMap<usize, State>,
    /// Nodes under way, with what they have done.
    active: BTreeMap<usize, Active>,
}

struct Active {
    since: Instant,
    share: f64,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// For a run of these nodes, as planned.
    pub fn new(plan: &[NodeReport], jobs: usize, terminal: Terminal, quiet: bool, verbose: bool) -> Self {
        let due = plan.iter().filter(|node| node.state == State::Execute).count();
        // Continuous integration often pretends to be a terminal; nobody watches bars there.
        let watched = terminal.stderr.interactive && std::env::var_os("CI").is_none();
        let mode = if quiet {
            Mode::Quiet
        } else if watched && due > 0 {
            let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            let overall = all.add(ProgressBar::new(due as u64));
            overall.set_style(style("{bar:32} {pos}/{len} nodes  {elapsed}  {msg}", terminal));
            overall.enable_steady_tick(Duration::from_millis(200));
            Mode::Bars { all, overall }
        } else {
            Mode::Lines
        };
        let expected =
            plan.iter().map(|node| if node.state == State::Execute { node.seconds } else { Some(0.0) }).collect();
        let nodes = plan.iter().map(|node| node.id.clone()).collect();
        Self { terminal, mode, verbose, nodes, expected, jobs, state: Mutex::default() }
    }

    /// Takes in one event.
    pub fn event(&self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Started { node, .. } => self.started(*node),
            RunEvent::Progress { node, done, total } => self.advanced(*node, *done, *total),
            RunEvent::Waiting { node, holder } => {
                self.line(&format!("waiting   {}: {holder} computes it", self.nodes[*node]));
            }
            RunEvent::Finished { node, report } => self.finished(*node, report),
            RunEvent::Differs { node } => {
                let word = self.terminal.stderr.paint(Paint::Yellow, "warning:");
                self.line(&format!(
                    "{word} `{}` gave another result than the one on record: it is not deterministic",
                    self.nodes[*node]
                ));
            }
            _ => {}
        }
    }

    /// Removes the bars.
    pub fn end(&self) {
        if let Mode::Bars { all, overall } = &self.mode {
            overall.finish_and_clear();
            // A terminal that is gone is no reason to fail.
            let _ = all.clear();
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Running> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn started(&self, node: usize) {
        let bar = if let Mode::Bars { all, .. } = &self.mode {
            let bar = all.add(ProgressBar::new_spinner());
            bar.set_style(style("  {spinner} {prefix}  {elapsed}", self.terminal));
            bar.set_prefix(self.nodes[node].clone());
            bar.enable_steady_tick(Duration::from_millis(200));
            Some(bar)
        } else {
            None
        };
        self.running().active.insert(node, Active { since: Instant::now(), share: 0.0, bar });
        if self.verbose {
            self.line(&format!("started   {}", self.nodes[node]));
        }
        self.estimate();
    }

    fn advanced(&self, node: usize, done: u64, total: u64) {
        let mut running = self.running();
        let Some(active) = running.active.get_mut(&node).filter(|_| total > 0) else { return };
        active.share = (done as f64 / total as f64).min(1.0);
        if let Some(bar) = &active.bar {
            if bar.length() != Some(total) {
                bar.set_length(total);
                bar.set_style(style("  {spinner} {prefix}  {bar:20} {pos}/{len}  {elapsed}", self.terminal));
            }
            bar.set_position(done);
        }
        drop(running);
        self.estimate();
    }

    fn finished(&self, node: usize, report: &NodeReport) {
        let mut running = self.running();
        if let Some(bar) = running.active.remove(&node).and_then(|active| active.bar) {
            bar.finish_and_clear();
        }
        running.finished.insert(node, report.state);
        let position = running.finished.len();
        let worked = running.finished.values().filter(|state| matches!(state, State::Executed | State::Failed)).count();
        drop(running);
        if let Mode::Bars { overall, .. } = &self.mode {
            overall.set_position(worked as u64);
        }
        let told = !matches!(self.mode, Mode::Bars { .. })
            || self.verbose
            || !matches!(report.state, State::Cached | State::Skipped);
        if told {
            self.line(&self.describe(position, report));
        }
        self.estimate();
    }

    /// A finished node in a line: position, state, id, time, reasons.
    fn describe(&self, position: usize, report: &NodeReport) -> String {
        let all = self.nodes.len();
        let digits = all.to_string().len();
        let state = self
            .terminal
            .stderr
            .paint(wording::state_paint(report.state), &format!("{:<8}", wording::state(report.state)));
        let mut line = format!("[{position:>digits$}/{all}] {state}  {}", report.id);
        if matches!(report.state, State::Executed | State::Failed)
            && let Some(seconds) = report.seconds
        {
            line.push_str(&format!("  {}", wording::seconds(seconds)));
        }
        if let Some(by) = &report.blocked_by {
            line.push_str(&format!("  by `{by}`"));
        } else if report.state == State::Executed && !report.reasons.is_empty() {
            line.push_str(&format!("  ({})", wording::reasons(&report.reasons)));
        } else if let (Some(count), State::Cached) = (&report.repetitions, report.state) {
            line.push_str(&format!("  ({})", wording::repetitions(count)));
        }
        line
    }

    fn line(&self, line: &str) {
        match &self.mode {
            Mode::Quiet => {}
            Mode::Lines => to_stderr(&format!("{line}\n")),
            // As above.
            Mode::Bars { all, .. } => drop(all.println(line)),
        }
    }

    /// Says how long the rest takes, where earlier durations tell.
    fn estimate(&self) {
        let Mode::Bars { overall, .. } = &self.mode else { return };
        let running = self.running();
        let message = match self.remaining(&running) {
            None => String::new(),
            Some(left) if left < 1.0 => "under a second left".to_owned(),
            Some(left) => format!("about {} left", wording::seconds(left)),
        };
        overall.set_message(message);
    }

    /// Expected seconds until the end; nothing while a node of unknown cost is still to come.
    fn remaining(&self, running: &Running) -> Option<f64> {
        let mut work = 0.0;
        let mut longest: f64 = 0.0;
        for (node, expected) in
            self.expected.iter().enumerate().filter(|(node, _)| !running.finished.contains_key(node))
        {
            let left = match running.active.get(&node) {
                // A node that says how far it is is believed more than its past.
                Some(active) if active.share > 0.02 => {
                    active.since.elapsed().as_secs_f64() * (1.0 / active.share - 1.0)
                }
                Some(active) => ((*expected)? - active.since.elapsed().as_secs_f64()).max(0.0),
                None => (*expected)?,
            };
            work += left;
            longest = longest.max(left);
        }
        // One long stage uses all cores by itself, so neither bound is far off.
        Some((work / self.jobs.max(1) as f64).max(longest))
    }
}

fn style(template: &str, terminal: Terminal) -> ProgressStyle {
    let template = if terminal.stderr.color {
        template
            .replace("{spinner}", "{spinner:.cyan}")
            .replace("{bar:32}", "{bar:32.cyan}")
            .replace("{bar:20}", "{bar:20.cyan}")
    } else {
        template.to_owned()
    };
    // The templates above are constants; a wrong one shows as indicatif's default bar.
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸ ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Stream;
    use study_stage::Determinism;

    const PLAIN: Terminal = Terminal {
        stdout: Stream { interactive: false, color: false },
        stderr: Stream { interactive: false, color: false },
    };

    fn node(id: &str, state: State, seconds: Option<f64>) -> NodeReport {
        NodeReport {
            id: id.to_owned(),
            kind: "k",
            key: None,
            state,
            reasons: Vec::new(),
            certain: true,
            determinism: Determinism::Exact,
            seconds,
            error: None,
            blocked_by: None,
            repetitions: None,
            counters: BTreeMap::new(),
        }
    }

    #[test]
    fn the_estimate_needs_the_cost_of_every_node_that_is_due() {
        let plan = [
            node("a", State::Cached, Some(100.0)),
            node("b", State::Execute, Some(8.0)),
            node("c", State::Execute, Some(4.0)),
        ];
        let progress = Progress::new(&plan, 2, PLAIN, false, false);
        assert_eq!(progress.remaining(&Running::default()), Some(8.0), "the longest node bounds the rest");
        let progress = Progress::new(&plan, 1, PLAIN, false, false);
        assert_eq!(progress.remaining(&Running::default()), Some(12.0));
        let finished = Running { finished: BTreeMap::from([(1, State::Executed)]), ..Running::default() };
        assert_eq!(progress.remaining(&finished), Some(4.0));
        let unknown = [node("a", State::Execute, None)];
        assert_eq!(Progress::new(&unknown, 1, PLAIN, false, false).remaining(&Running::default()), None);
    }

    #[test]
    fn a_line_says_position_state_time_and_reason() {
        let plan = [node("a", State::Execute, None)];
        let progress = Progress::new(&plan, 1, PLAIN, false, false);
        assert_eq!(progress.describe(1, &node("a", State::Executed, Some(2.5))), "[1/1] executed  a  2.5 s");
        assert_eq!(progress.describe(1, &node("a", State::Cached, Some(2.5))), "[1/1] cached    a");
    }
}
