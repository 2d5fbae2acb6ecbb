//! Both stacks over loopback: what they do, not how fast. Nothing here asserts a time.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod edges;
mod faults;
mod flights;
mod readbacks;
mod sessions;
mod transfers;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use study_stacks::{Client, Connection, Credentials, Listener, Readback, Server, Service, StackChoice, StackSettings};
use study_transport::CongestionControl;
use study_units::Bytes;

/// The name in the certificate.
const NAME: &str = "server.study";
const ANY: &str = "127.0.0.1:0";

fn any() -> SocketAddr {
    ANY.parse().unwrap()
}

fn settings(stack: StackChoice) -> StackSettings {
    let timeouts = Duration::from_secs(20);
    StackSettings {
        connect_timeout: timeouts,
        idle_timeout: timeouts,
        ..StackSettings::equal(stack, CongestionControl::Cubic, Bytes::new(100_000))
    }
}

fn credentials() -> Credentials {
    Credentials::new(&[NAME], 3_000).unwrap()
}

fn run<T>(work: impl Future<Output = T>) -> T {
    study_stacks::runtime().unwrap().block_on(work)
}

fn origin() -> Arc<Service> {
    Service::origin(Duration::ZERO)
}

/// A server on a free port of loopback. Must be called on a runtime.
fn serve(settings: &StackSettings, credentials: &Credentials, service: Arc<Service>) -> Server {
    let listener = Listener::bind(settings, any()).unwrap();
    Server::start(listener, settings.clone(), credentials, service).unwrap()
}

async fn connect(settings: &StackSettings, credentials: &Credentials, server: SocketAddr) -> Connection {
    Client::new(settings.clone(), credentials.trust()).unwrap().connect(server, NAME).await.unwrap()
}

/// The row of a setting.
fn row<'r>(rows: &'r [Readback], setting: &str) -> &'r Readback {
    rows.iter().find(|row| row.setting == setting).unwrap_or_else(|| panic!("no row `{setting}` in {rows:#?}"))
}

/// Both stacks.
fn each(test: impl Fn(StackChoice)) {
    StackChoice::ALL.iter().copied().for_each(test);
}
