//! The command line.

use crate::terminal::ColorChoice;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use study_stacks::node::RoleChoice;

/// Reproducible network studies: one YAML file in, a report with intervals out; only what changed runs again.
#[derive(Debug, Parser)]
#[command(name = "study", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 ok; 1 a claim or validity check failed (results exist); 2 usage or invalid study; \
    3 the environment lacks something; 4 a stage failed; 5 the store is corrupt; 130 interrupted."
)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
    /// Colours; `auto` means on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub color: ColorChoice,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Plan, execute what is not cached, publish to results/<study>/
    Run(RunArgs),
    /// Every node with its state, the reason and an estimate of the cost; changes nothing
    Plan(RunArgs),
    /// What a node's key is made of, and what changed since it last ran
    Why(WhyArgs),
    /// Parse and check studies; all problems at once
    Check(CheckArgs),
    /// The graph of nodes, coloured by cache state
    Graph(GraphArgs),
    /// Look at a frame or file that a node made
    Show(ShowArgs),
    /// Render the report again from cached results
    Report(ReportArgs),
    /// The stage kinds of this build
    Kinds(KindsArgs),
    /// The JSON Schema of study files, for editors
    Schema,
    /// Turn foreign inputs into a part of a study, and say what they really do
    #[command(subcommand)]
    Import(ImportCommand),
    /// Look at and tidy up the store
    #[command(subcommand)]
    Cache(CacheCommand),
    /// What this machine can emulate and why not; removes what a crash left behind
    Doctor(DoctorArgs),
    /// Internal: one emulated role in a process of its own
    #[command(hide = true)]
    Node(NodeArgs),
}

/// A study and what is laid over it.
#[derive(Debug, Clone, Args)]
pub struct StudyArgs {
    /// The study file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Another value for one key, e.g. `bootstrap.resamples=2000`; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// Another seed
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// A variant that the study defines, e.g. `ci`
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
}

/// Where results are remembered.
#[derive(Debug, Clone, Args)]
pub struct StoreArgs {
    /// The store [default: STUDY_STORE, or .study]
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

impl StoreArgs {
    /// The folder that is meant.
    pub fn folder(&self) -> PathBuf {
        let from_environment = || std::env::var_os("STUDY_STORE").filter(|value| !value.is_empty()).map(PathBuf::from);
        self.store.clone().or_else(from_environment).unwrap_or_else(|| PathBuf::from(".study"))
    }
}

/// Which nodes; a node is named by its id, or by its stage.
#[derive(Debug, Clone, Default, Args)]
pub struct SelectArgs {
    /// Only this node; its inputs must be cached
    #[arg(long, value_name = "NODE")]
    pub only: Vec<String>,
    /// This node and what it needs
    #[arg(long, value_name = "NODE")]
    pub until: Vec<String>,
    /// Execute this node and all below it, cached or not
    #[arg(long, value_name = "NODE")]
    pub from: Vec<String>,
    /// Execute this node, cached or not
    #[arg(long, value_name = "NODE")]
    pub force: Vec<String>,
}

/// `run` and `plan`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Nodes and runs that are worked on at once [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Go on with independent nodes after a failure (the default)
    #[arg(long, conflicts_with = "fail_fast")]
    pub keep_going: bool,
    /// Stop at the first failure
    #[arg(long)]
    pub fail_fast: bool,
    /// Where results are published; the study gets a folder in it
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
    /// Warnings of lints and validity checks, and inconclusive claims, make exit code 1
    #[arg(long)]
    pub strict: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
    /// No progress and no answer, only errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more about each node
    #[arg(short, long)]
    pub verbose: bool,
    /// Plan only
    #[arg(long, short = 'n')]
    pub dry_run: bool,
}

/// `why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    /// The node
    #[arg(value_name = "NODE")]
    pub node: String,
    #[command(flatten)]
    pub store: StoreArgs,
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The study files
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Another value for one key; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// A variant that the studies define, e.g. `ci`
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Warnings make exit code 1
    #[arg(long)]
    pub strict: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
    /// Only problems
    #[arg(short, long)]
    pub quiet: bool,
}

/// Formats of `graph`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// Lines of text
    Ascii,
    /// For Graphviz
    Dot,
    /// For Markdown
    Mermaid,
    /// A picture
    Svg,
}

/// `graph`.
#[derive(Debug, Args)]
pub struct GraphArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    /// How to draw it
    #[arg(long, value_enum, default_value_t = GraphFormat::Ascii)]
    pub format: GraphFormat,
}

/// Formats of `show`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FrameFormat {
    /// Columns for people
    Table,
    /// Comma-separated values
    Csv,
    /// A list of records
    Json,
    /// A Parquet file
    Parquet,
}

/// `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    /// A node or stage, and one of its frames or files; without one, they are listed
    #[arg(value_name = "NODE[.FRAME]")]
    pub what: String,
    #[command(flatten)]
    pub store: StoreArgs,
    /// How to write the frame
    #[arg(long, value_enum, default_value_t = FrameFormat::Table)]
    pub format: FrameFormat,
    /// Rows shown of a table
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub rows: usize,
}

/// `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Where results are published; the study gets a folder in it
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
    /// Open the report afterwards
    #[arg(long)]
    pub open: bool,
    /// No progress and no answer, only errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// `kinds`.
#[derive(Debug, Args)]
pub struct KindsArgs {
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// `import`.
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// Links from commands of tc: netem, tbf, htb
    Netem(NetemArgs),
    /// Links from the presets of well-known tools; without a name, their list
    Preset(PresetArgs),
}

/// Directions of `import netem`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShapedWay {
    /// Towards the viewer: they were run on the server's side
    Down,
    /// From the viewer: they were run on the viewer's side
    Up,
    /// They were run on both sides
    Both,
}

/// `import netem`.
#[derive(Debug, Args)]
pub struct NetemArgs {
    /// A script, `-` for standard input, or a command line itself
    #[arg(value_name = "INPUT", required = true)]
    pub input: Vec<String>,
    /// What the commands shape; tc shapes what a device sends, so one direction
    #[arg(long, value_enum, default_value_t = ShapedWay::Down)]
    pub direction: ShapedWay,
    /// A name for the link instead of the device's
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Warnings make exit code 1
    #[arg(long)]
    pub strict: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// `import preset`.
#[derive(Debug, Args)]
pub struct PresetArgs {
    /// The preset, e.g. `devtools_slow_4g`
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// `cache`.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// How much is stored
    Stats(CacheArgs),
    /// Read everything and compare digests
    Verify(VerifyArgs),
    /// Remove what is not needed any more
    Gc(GcArgs),
}

/// `cache stats` and `cache verify`.
#[derive(Debug, Args)]
pub struct CacheArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// `cache verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub cache: CacheArgs,
    /// Set aside what cannot be trusted, so that the next run makes it anew
    #[arg(long)]
    pub repair: bool,
}

/// `cache gc`.
#[derive(Debug, Args)]
pub struct GcArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    /// Say what would be removed; remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Results that were not used for so long, e.g. `30 d`
    #[arg(long, value_name = "AGE")]
    pub older_than: Option<String>,
    /// The oldest results until the store is as small, e.g. `10 GiB`
    #[arg(long, value_name = "SIZE")]
    pub max_size: Option<String>,
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Remove leftovers; touches nothing that `study` did not make
    #[arg(long)]
    pub clean: bool,
    /// The TUN device node
    #[arg(long, value_name = "FILE", default_value = "/dev/net/tun")]
    pub tun_node: PathBuf,
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// The role of `node`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Has every object
    Origin,
    /// A cache between edges and the origin
    Shield,
    /// A cache between clients and what is above it
    Edge,
    /// Fetches objects or plays a title
    Client,
}

impl From<Role> for RoleChoice {
    fn from(role: Role) -> Self {
        match role {
            Role::Origin => Self::Origin,
            Role::Shield => Self::Shield,
            Role::Edge => Self::Edge,
            Role::Client => Self::Client,
        }
    }
}

/// `node`.
#[derive(Debug, Args)]
pub struct NodeArgs {
    /// The role
    #[arg(value_enum, value_name = "ROLE")]
    pub role: Role,
    /// Settings in YAML or JSON; `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// One setting, e.g. `cache.size=64MiB`; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// The stack: `h2-hyper` or `h3-quinn`
    #[arg(long, value_name = "NAME")]
    pub stack: Option<String>,
    /// Congestion control of this end
    #[arg(long, value_name = "NAME")]
    pub congestion_control: Option<String>,
    /// The file with authority, certificate and key that all roles share; the first server makes it
    #[arg(long, value_name = "FILE")]
    pub credentials: Option<String>,
    /// Where a server listens; port 0 is any free one
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Where an edge or shield fetches what it has not
    #[arg(long, value_name = "ADDRESS")]
    pub upstream: Option<String>,
    /// The server of a client
    #[arg(long, value_name = "ADDRESS")]
    pub connect: Option<String>,
    /// End when the process with this number, which starts this one, ends
    #[arg(long, value_name = "PID")]
    pub parent: Option<u32>,
}

impl NodeArgs {
    /// The flags that are settings: how each is written, its key, and its value.
    pub fn flags(&self) -> impl Iterator<Item = (&'static str, &'static str, &str)> {
        let flags = [
            ("--stack", "stack", &self.stack),
            ("--congestion-control", "congestion_control", &self.congestion_control),
            ("--credentials", "credentials", &self.credentials),
            ("--listen", "listen", &self.listen),
            ("--upstream", "upstream", &self.upstream),
            ("--connect", "connect", &self.connect),
        ];
        flags.into_iter().filter_map(|(flag, key, value)| Some((flag, key, value.as_deref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_store_given_by_flag_is_taken_as_it_is() {
        let args = StoreArgs { store: Some(PathBuf::from("elsewhere")) };
        assert_eq!(args.folder(), PathBuf::from("elsewhere"));
    }
}
