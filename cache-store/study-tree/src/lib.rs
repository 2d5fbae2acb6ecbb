//! The spanned value tree between YAML text and typed parameters.
//!
//! Purpose: every problem of a study file is reported at its place, all at once. Derived serde stops at the first error
//! and loses positions under tagged enums, so text becomes a [`Node`] tree once (in `study-spec`), and each stage
//! kind decodes its own part with [`Decode`], reporting into a [`Cx`]. The macros [`params!`], [`choices!`] and
//! [`variants!`] derive decoding, the JSON Schema and the canonical document from one declaration.

mod cx;
mod decode;
mod diagnostic;
mod macros;
mod merge;
mod node;
mod reader;
mod suggest;

pub use cx::{Cx, FileRef, FileRequest, Sections};
pub use decode::{Decode, defaults, split_keys};
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use merge::{get_path, merge, set_path};
pub use node::{Entry, Node, Scalar, SourceMap, Span, Value};
pub use reader::MapReader;
pub use suggest::did_you_mean;

#[doc(hidden)]
pub use serde;
#[doc(hidden)]
pub use serde_json;
