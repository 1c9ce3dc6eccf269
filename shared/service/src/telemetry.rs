//! Logs. Fields, not sentences with values; never inputs, tokens or evidence.

use tracing_subscriber::EnvFilter;

/// Installs the log writer (to standard error). `json`: one JSON object a line. A second call changes nothing.
pub fn init_telemetry(json: bool, filter: &str) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let done = if json { builder.json().try_init() } else { builder.with_ansi(false).try_init() };
    drop(done);
}
