//! `aip healthcheck`: for containers, which have no other client.

use std::time::Duration;

use anyhow::anyhow;
use serde_json::json;

use super::Fleet;
use crate::{failure::Failure, output::Output};

/// Asks a service whether it is ready; exit code 0 when it is.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct HealthArgs {
    /// URL of the HTTP edge, or of a service's operations port (its AIP_OPS_LISTEN).
    #[arg(env = "AIP_URL", default_value = "http://127.0.0.1:8080")]
    url: String,
}

/// Runs the command.
pub(crate) async fn health(args: &HealthArgs, output: Output) -> Result<(), Failure> {
    const WITHIN: Duration = Duration::from_secs(5);
    let answer = Fleet::new(&args.url, None)?.ask(&["readyz"], &[], WITHIN).await?;
    let is_ready = answer.is_success();
    output.answer(&json!({ "ready": is_ready, "status": answer.status }), || {
        vec![if is_ready { "ready" } else { "not ready" }.to_owned()]
    });
    if is_ready { Ok(()) } else { Err(anyhow!("status {}", answer.status).into()) }
}
