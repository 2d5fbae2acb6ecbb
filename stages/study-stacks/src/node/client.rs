//! The client: a list of paths, or a title.

use super::{ClientParams, EndParams, LOOK, NodeEnd, NodeError, Out, SERVER_NAME, TitleParams, play, told};
use crate::clock;
use crate::credentials::Credentials;
use crate::driver::{Client, Connection, FetchRecord};
use crate::error::StackError;
use crate::payload::ObjectId;
use crate::settings::StackSettings;
use futures_util::stream::{FuturesOrdered, StreamExt};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use study_cdn::catalog::Title;
use study_cdn::player::SessionSummary;

pub(super) async fn run(
    end: &EndParams,
    role: &ClientParams,
    out: Out<'_>,
    stop: &AtomicBool,
) -> Result<NodeEnd, NodeError> {
    let settings = StackSettings { depth: role.depth, ..end.settings()? };
    let trust = Credentials::read(Path::new(&end.credentials))?.trust();
    let title = role.title.as_ref().map(TitleParams::title).transpose().map_err(refused)?;
    let client = Client::new(settings, trust)?;
    client.prime(role.connect.0, SERVER_NAME).await?;
    let connection = client.connect(role.connect.0, SERVER_NAME).await?;
    let times = connection.times();
    out(&json!({
        "event": "connected", "role": "client", "stack": end.stack.name(), "address": role.connect.0,
        "started_ns": times.started_ns, "transport_ns": times.transport_ns, "ready_ns": times.ready_ns,
        "process": std::process::id(),
    }))?;
    let mut failed = 0;
    let work = async {
        match (&role.title, title) {
            (Some(params), Some(title)) => played(&connection, params, title, out, &mut failed).await,
            _ => fetched(&connection, &role.paths, out, &mut failed).await.map(|()| None),
        }
    };
    let session = tokio::select! {
        session = work => Some(session?),
        () = told(stop) => None,
    };
    out(&json!({
        "event": "end", "failed": failed, "stopped": session.is_none(), "session": session.flatten(),
        "handshake": connection.handshake(), "readbacks": connection.readbacks(), "counters": connection.counters(),
    }))?;
    connection.close();
    // QUIC tells its peer by a packet, which leaves when the runtime looks again.
    tokio::time::sleep(LOOK).await;
    Ok(match (stop.load(std::sync::atomic::Ordering::Acquire), failed) {
        (true, _) => NodeEnd::Stopped,
        (false, 0) => NodeEnd::Well,
        (false, failed) => NodeEnd::Failed(failed),
    })
}

/// Settings that were not decoded, and so not checked.
fn refused(reason: String) -> StackError {
    StackError::Setting { stack: "client", setting: "title", asked: "a title".to_owned(), reason }
}

/// A row of a transfer.
fn row(record: &FetchRecord) -> Value {
    let error = record.error.as_ref().map(|error| json!({ "code": error.code(), "message": error.to_string() }));
    json!({
        "event": "fetch", "path": record.path, "requested_ns": record.requested_ns, "sent_ns": record.sent_ns,
        "headers_ns": record.headers_ns, "first_byte_ns": record.first_byte_ns, "last_byte_ns": record.last_byte_ns,
        "bytes": record.bytes, "verified": record.verified, "status": record.status, "headers": record.headers,
        "text": record.text, "error": error,
    })
}

async fn fetched(
    connection: &Connection,
    paths: &[String],
    out: &mut dyn FnMut(&Value) -> Result<(), NodeError>,
    failed: &mut u64,
) -> Result<(), NodeError> {
    let mut all: FuturesOrdered<_> = paths.iter().map(|path| connection.fetch(path)).collect();
    while let Some(record) = all.next().await {
        *failed += u64::from(!record.is_complete());
        out(&row(&record))?;
    }
    Ok(())
}

async fn played(
    connection: &Connection,
    params: &TitleParams,
    title: Arc<Title>,
    out: &mut dyn FnMut(&Value) -> Result<(), NodeError>,
    failed: &mut u64,
) -> Result<Option<Value>, NodeError> {
    let mut player = params.player(Arc::clone(&title), clock::now()).map_err(refused)?;
    let path = |segment: usize, rung: usize| {
        let [segment_number, rung_number] = [segment, rung].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let id = ObjectId { title: params.number, segment: segment_number, rung: rung_number };
        id.path(title.sizes(segment)[rung])
    };
    let mut said = Ok(());
    let summary = play(connection, &mut player, params.pacing, path, |segment, record, player| {
        *failed += u64::from(!record.is_complete());
        let mut row = row(record);
        let kept = &player.records()[segment];
        row["segment"] = segment.into();
        row["rung"] = kept.rung.into();
        row["buffer_before_ms"] = kept.buffer_before.as_millis_f64().into();
        row["buffer_after_ms"] = kept.buffer_after.as_millis_f64().into();
        row["stall_us"] = kept.stall.as_micros().into();
        if said.is_ok() {
            said = out(&row);
        }
        said.is_ok()
    })
    .await;
    said?;
    Ok(Some(session(&summary)))
}

fn session(summary: &SessionSummary) -> Value {
    json!({
        "startup_us": summary.startup.map(study_units::SimDuration::as_micros), "stalls": summary.stall_count,
        "stall_us": summary.stall.as_micros(), "played_us": summary.played.as_micros(), "wall_us": summary.wall.as_micros(),
        "mean_bitrate_kbit_s": summary.mean_bitrate_kbit_s, "switches": summary.switches, "segments": summary.segments,
        "bytes": summary.bytes, "completed": summary.completed,
    })
}
