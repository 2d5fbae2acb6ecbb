//! The trace of one typical session: the median-startup client of the first run in the first arm, in every arm.

use super::node::Rows;
use std::collections::BTreeMap;
use study_stage::StageError;

/// One segment of the sampled session in one arm.
pub(super) struct TracePoint {
    pub(super) arm: usize,
    pub(super) run: i64,
    pub(super) client: i64,
    pub(super) segment: i64,
    /// When its last byte came, seconds after the viewer's arrival.
    pub(super) time_s: f64,
    /// Buffer after it, seconds; `None` when it is not on record.
    pub(super) buffer_s: Option<f64>,
    /// Rung, kbit/s; `None` when it is not on record.
    pub(super) bitrate_kbit_s: Option<i64>,
}

/// Run and client of the session to show.
fn typical(sessions: &Rows<'_>) -> Result<Option<(i64, i64)>, StageError> {
    let Some(run) = sessions.runs.iter().min().copied() else { return Ok(None) };
    let (clients, startup) = (sessions.ints("client")?, sessions.column("startup_us")?);
    let mut candidates: Vec<(i64, i64)> = (0..sessions.len())
        .filter(|row| sessions.arms[*row] == 0 && sessions.runs[*row] == run)
        // Never started is slowest.
        .map(|row| (startup.int(row).unwrap_or(i64::MAX), clients[row]))
        .collect();
    candidates.sort_unstable();
    // The lower median is a session that exists.
    Ok(candidates.len().checked_sub(1).map(|last| (run, candidates[last / 2].1)))
}

/// The segments of the sampled session in every arm. A segment that never came has no point.
pub(super) fn sample_session(
    node: &str,
    sessions: &Rows<'_>,
    segments: &Rows<'_>,
) -> Result<Vec<TracePoint>, StageError> {
    let Some((run, client)) = typical(sessions)? else { return Ok(Vec::new()) };
    let (session_clients, arrivals) = (sessions.ints("client")?, sessions.column("arrival_us")?);
    let arrival: BTreeMap<usize, i64> = (0..sessions.len())
        .filter(|row| sessions.runs[*row] == run && session_clients[*row] == client)
        .filter_map(|row| Some((sessions.arms[row], arrivals.int(row)?)))
        .collect();
    let (clients, numbers) = (segments.ints("client")?, segments.ints("segment")?);
    let (requested, ttlb) = (segments.column("requested_us")?, segments.column("ttlb_us")?);
    let (buffer, rung) = (segments.column("buffer_after_ms")?, segments.column("rung_kbit_s")?);
    let mut points = Vec::new();
    for row in (0..segments.len()).filter(|row| segments.runs[*row] == run && clients[*row] == client) {
        let arm = segments.arms[row];
        let Some(arrived) = arrival.get(&arm) else {
            return Err(StageError::failed(format!(
                "node `{node}`: client `{client}` of run `{run}` has segments but no session in one arm"
            )));
        };
        let (Some(asked), Some(took)) = (requested.int(row), ttlb.int(row)) else { continue };
        points.push(TracePoint {
            arm,
            run,
            client,
            segment: numbers[row],
            time_s: (asked + took - arrived) as f64 / 1e6,
            buffer_s: buffer.float(row).map(|ms| ms / 1000.0),
            bitrate_kbit_s: rung.int(row),
        });
    }
    points.sort_by_key(|point| (point.arm, point.segment));
    Ok(points)
}
