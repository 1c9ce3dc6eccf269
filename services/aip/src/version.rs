//! `aip version`: what this binary is, and by which schemas it judges.

use serde_json::{Value, json};

use crate::output::Output;

/// Prints the version.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct VersionArgs {
    /// Also the digest of every schema file. Equal totals mean equal files (`docs/schemas.md`).
    #[arg(long, short)]
    verbose: bool,
}

/// Runs the command.
pub(crate) fn version(args: &VersionArgs, output: Output) {
    let version = env!("CARGO_PKG_VERSION");
    let digests = aip_schema::digests();
    let files = || digests.files.iter().map(|(name, digest)| ((*name).to_owned(), json!(digest)));
    let mut document = json!({ "version": version, "aip_version": "1.0", "schemas_sha256": digests.total });
    if args.verbose
        && let Some(members) = document.as_object_mut()
    {
        members.insert("schemas".to_owned(), Value::Object(files().collect()));
    }
    output.answer(&document, || {
        let mut lines = vec![format!("aip {version}, AIP 1.0"), format!("schemas {}", digests.total)];
        if args.verbose {
            lines.extend(digests.files.iter().map(|(name, digest)| format!("  {digest}  {name}")));
        }
        lines
    });
}
