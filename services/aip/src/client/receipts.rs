//! `aip receipts`: the evidence of an action, checked without the fleet's help.

use std::path::PathBuf;

use aip_crypto::{ChainFault, verify_chain_value};
use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};

use super::{CALL_WITHIN, Fleet, FleetArgs, tagged, text};
use crate::{failure::Failure, output::Output};

/// Reads and verifies receipt chains.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum ReceiptsCommand {
    /// The receipts of a chain.
    Get(ChainArgs),
    /// Recomputes every hash, every link and the root of a chain; exit code 1 when one is wrong.
    Verify(VerifyArgs),
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ChainArgs {
    /// Id of the chain, such as action:act_1; or of the action alone.
    chain: String,
    #[command(flatten)]
    fleet: FleetArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// Id of the chain, such as action:act_1, or of the action alone. With --file: the name that the chain must have.
    #[arg(required_unless_present = "file")]
    chain: Option<String>,
    /// Verify this document, as `receipts get --json` wrote it, and ask nobody.
    #[arg(long)]
    file: Option<PathBuf>,
    #[command(flatten)]
    fleet: FleetArgs,
}

/// Runs the command.
pub(crate) async fn receipts(command: &ReceiptsCommand, output: Output) -> Result<(), Failure> {
    match command {
        ReceiptsCommand::Get(args) => {
            let body = fetch(&args.fleet.open()?, &args.chain).await?;
            let chain = tagged(&body, "receipt_chain")?;
            output.answer(&body, || verified(chain).0);
            Ok(())
        }
        ReceiptsCommand::Verify(args) => verify(args, output).await,
    }
}

async fn verify(args: &VerifyArgs, output: Output) -> Result<(), Failure> {
    let body = match (&args.file, &args.chain) {
        (Some(path), _) => from_file(path)?,
        (None, chain) => fetch(&args.fleet.open()?, chain.as_deref().unwrap_or_default()).await?,
    };
    let chain = tagged(&body, "receipt_chain")?;
    let id = text(chain, "chain_id");
    if let Some(wanted) = args.chain.as_deref().map(chain_id).filter(|wanted| wanted != id) {
        return Err(anyhow!("this is the chain {id}, not {wanted}").into());
    }
    let (lines, fault) = verified(chain);
    let report = json!({
        "chain_id": id,
        "receipts": receipts_of(chain).len(),
        "root_hash": chain.get("root_hash"),
        "ok": fault.is_none(),
        "fault": fault.map(|fault| json!({ "receipt": fault.index, "rule": fault.kind.to_string() })),
    });
    output.answer(&report, || lines);
    match fault {
        None if receipts_of(chain).is_empty() => Err(anyhow!("the chain {id} is empty").into()),
        None => Ok(()),
        Some(fault) => Err(anyhow!(fault).context(format!("the chain {id} does not hold")).into()),
    }
}

/// Asks the fleet for a chain.
pub(crate) async fn fetch(fleet: &Fleet, chain: &str) -> Result<Value, Failure> {
    fleet.get(&["aip", "v1", "receipts", &chain_id(chain)], &[], CALL_WITHIN).await
}

/// A chain is named `<kind>:<id>`; a text without a kind names an action.
fn chain_id(text: &str) -> String {
    if text.contains(':') { text.to_owned() } else { format!("action:{text}") }
}

/// The chain in a file, alone, tagged, or in an envelope.
fn from_file(path: &PathBuf) -> Result<Value, Failure> {
    let text = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let mut document: Value =
        serde_json::from_slice(&text).with_context(|| format!("{} is no JSON", path.display()))?;
    let body = document.get_mut("body").map(Value::take).unwrap_or(document);
    Ok(if body.get("receipts").is_some() { json!({ "receipt_chain": body }) } else { body })
}

/// One line a receipt with its verdict, one for the root; and the first fault.
pub(crate) fn verified(chain: &Value) -> (Vec<String>, Option<ChainFault>) {
    let fault = verify_chain_value(chain).err();
    let bad = fault.map_or(usize::MAX, |fault| fault.index);
    let verdict = |index: usize| match index.cmp(&bad) {
        std::cmp::Ordering::Less => "ok".to_owned(),
        std::cmp::Ordering::Equal => fault.map(|fault| format!("FAULT: {}", fault.kind)).unwrap_or_default(),
        std::cmp::Ordering::Greater => "not trusted".to_owned(),
    };
    let receipts = receipts_of(chain);
    let mut lines: Vec<String> = receipts
        .iter()
        .enumerate()
        .map(|(index, receipt)| {
            let (kind, hash) = (text(receipt, "receipt_type"), text(receipt, "hash"));
            format!("receipt {index}  {kind:<22} {}  {hash}  {}", text(receipt, "occurred_at"), verdict(index))
        })
        .collect();
    lines.push(format!("root       {}  {}", text(chain, "root_hash"), verdict(receipts.len())));
    (lines, fault)
}

fn receipts_of(chain: &Value) -> &[Value] {
    chain.get("receipts").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
