//! `aip manifest`.

use serde_json::Value;

use super::{CALL_WITHIN, FleetArgs, tagged, text};
use crate::{failure::Failure, output::Output};

/// Shows what the caller may call now.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ManifestArgs {
    #[command(flatten)]
    fleet: FleetArgs,
}

/// Runs the command.
pub(crate) async fn manifest(args: &ManifestArgs, output: Output) -> Result<(), Failure> {
    let body = args.fleet.open()?.get(&["aip", "v1", "manifest"], &[], CALL_WITHIN).await?;
    let manifest = tagged(&body, "manifest")?;
    output.answer(&body, || lines(manifest));
    Ok(())
}

fn lines(manifest: &Value) -> Vec<String> {
    let capabilities = manifest.get("capabilities").and_then(Value::as_array);
    let mut lines: Vec<String> = capabilities
        .into_iter()
        .flatten()
        .map(|one| {
            let description =
                one.get("description").or_else(|| one.get("name")).and_then(Value::as_str).unwrap_or_default();
            format!("{:<32} {:<10} {description}", text(one, "id"), text(one, "kind"))
        })
        .collect();
    if lines.is_empty() {
        lines.push("nothing can be called now".to_owned());
    }
    lines
}
