//! Study text to a checked, expanded plan.
//!
//! Purpose: everything that can be wrong with a study is said here, all at once, with file, line, column and what to do;
//! what comes out can be executed without another look at the text. The path of a text:
//!
//! 1. `yaml`: text to a tree of spanned values.
//! 2. `report`, `variant`, `sets`: the implicit report stage, the `ci` block and `--set` change the tree as an edit would.
//! 3. `study`: the keys of the top level and the named definitions.
//! 4. `like`, `stage`, `needs`, `matrix`: the keys that every stage has.
//! 5. `cells`: each stage's kind decodes its own part, once per matrix cell.
//! 6. `frames`, `order`, `shape`: which frames go where, in which order, over which cells.
//! 7. `plan`: the nodes; `lint`: what is right and still looks like a mistake.
//!
//! Nothing here reads files, clocks or the environment, and no stage kind is named except through the registry
//! (`report` is the exception: a study without one gets it).
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod axes;
mod cells;
mod document;
mod expect;
mod frames;
mod keys;
mod like;
mod lint;
mod load;
mod matrix;
mod needs;
mod order;
mod overlay;
mod plan;
mod report;
mod schema;
mod sets;
mod shape;
mod stage;
mod study;
mod variant;
mod yaml;

pub use document::Document;
pub use expect::mismatches;
pub use load::{Loaded, Options, load};
pub use plan::{InputBinding, PlannedNode, Study};
pub use schema::schema;
