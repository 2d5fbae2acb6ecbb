//! Origin, shield and edge.

use super::{EdgeParams, EndParams, NodeEnd, NodeError, OriginParams, Out, RoleChoice, SERVER_NAME, told};
use crate::credentials::Credentials;
use crate::server::{EdgeSettings, Listener, Server, Service};
use crate::settings::StackSettings;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use study_units::{Bytes, SimDuration};

pub(super) async fn origin(
    end: &EndParams,
    role: &OriginParams,
    out: Out<'_>,
    stop: &AtomicBool,
) -> Result<NodeEnd, NodeError> {
    let settings = end.settings()?;
    // The socket first: a port that is taken must not leave a new file of credentials behind.
    let listener = Listener::bind(&settings, role.listen.0)?;
    let credentials = shared(end, role.certificate_chain)?;
    let service = Service::origin(time(role.processing));
    serve(RoleChoice::Origin, settings, listener, &credentials, service, out, stop).await
}

pub(super) async fn edge(
    which: RoleChoice,
    end: &EndParams,
    role: &EdgeParams,
    out: Out<'_>,
    stop: &AtomicBool,
) -> Result<NodeEnd, NodeError> {
    let settings = end.settings()?;
    let listener = Listener::bind(&settings, role.listen.0)?;
    let credentials = shared(end, role.certificate_chain)?;
    let upstream = EndParams {
        stack: role.upstream_stack.unwrap_or(end.stack),
        congestion_control: role.upstream_congestion_control.unwrap_or(end.congestion_control),
        ..end.clone()
    };
    let service = Service::edge(EdgeSettings {
        cache: role.cache.clone(),
        upstream: role.upstream.0,
        upstream_name: SERVER_NAME.to_owned(),
        upstream_settings: upstream.settings()?,
        trust: credentials.trust(),
        processing: time(role.processing),
    })?;
    serve(which, settings, listener, &credentials, service, out, stop).await
}

fn shared(end: &EndParams, chain: Bytes) -> Result<Credentials, NodeError> {
    Credentials::shared(Path::new(&end.credentials), &[SERVER_NAME], chain.get())
}

const fn time(duration: SimDuration) -> Duration {
    Duration::from_nanos(duration.as_nanos())
}

async fn serve(
    which: RoleChoice,
    settings: StackSettings,
    listener: Listener,
    credentials: &Credentials,
    service: Arc<Service>,
    out: Out<'_>,
    stop: &AtomicBool,
) -> Result<NodeEnd, NodeError> {
    let (stack, control) = (settings.stack, settings.congestion_control);
    let server = Server::start(listener, settings, credentials, service)?;
    out(&json!({
        "event": "ready", "role": which.name(), "stack": stack.name(), "congestion_control": control.name(),
        "address": server.address(), "name": SERVER_NAME, "chain_bytes": credentials.chain_bytes(),
        "process": std::process::id(),
    }))?;
    told(stop).await;
    let (stats, connections) = (server.stats(), server.connections());
    server.stop().await;
    out(&json!({ "event": "stats", "role": which.name(), "stats": stats, "connections": connections }))?;
    Ok(NodeEnd::Well)
}
