//! Whole connections in virtual time.
#![allow(clippy::unwrap_used, missing_docs)]

mod equality;
mod flow_control;
mod hostile;
mod http;
mod loss;
mod no_loss;
mod parts;
mod qlog;
mod recovery;
mod reference;
mod support;
mod tail;
mod tls;
mod window;
