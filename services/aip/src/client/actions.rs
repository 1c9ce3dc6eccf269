//! `aip actions`: what became of an action.

use std::time::Duration;

use aip_types::limits;
use anyhow::anyhow;
use serde_json::{Value, json};

use super::{CALL_WITHIN, Fleet, FleetArgs, call::result_lines, tagged, text};
use crate::{
    failure::Failure,
    output::{Output, short},
};

/// Reads an action (where it stands, its result, its events), or asks for it to be stopped.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum ActionsCommand {
    /// Where an action stands.
    Get(ReadArgs),
    /// The result of an action.
    Result(ReadArgs),
    /// What happened to an action, in order.
    Events(EventsArgs),
    /// Asks for an action to be stopped. It is stopped when its state says so.
    Cancel(CancelArgs),
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CancelArgs {
    /// Id of the action.
    id: String,
    /// Why, for people.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    fleet: FleetArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReadArgs {
    /// Id of the action.
    id: String,
    /// Milliseconds to wait for a change, at most 30000.
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..=limits::WAIT_MS_MAX))]
    wait_ms: Option<u64>,
    #[command(flatten)]
    fleet: FleetArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct EventsArgs {
    /// Id of the action.
    id: String,
    /// Where to go on: the cursor of an earlier page.
    #[arg(long)]
    cursor: Option<String>,
    /// Events in one page.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::LIST_PAGE_MAX)))]
    limit: Option<u32>,
    /// Show the chunks of its stream too.
    #[arg(long)]
    chunks: bool,
    #[command(flatten)]
    fleet: FleetArgs,
}

/// Runs the command.
pub(crate) async fn actions(command: &ActionsCommand, output: Output) -> Result<(), Failure> {
    let (body, lines) = match command {
        ActionsCommand::Get(args) => {
            let body = read(&args.fleet.open()?, &args.id, None, args.wait_ms, &[("include_result", "true")]).await?;
            let lines = status_lines(tagged(&body, "action_status")?);
            (body, lines)
        }
        ActionsCommand::Result(args) => {
            let body = read(&args.fleet.open()?, &args.id, Some("result"), args.wait_ms, &[]).await?;
            let lines = result_lines(tagged(&body, "action_result")?);
            (body, lines)
        }
        ActionsCommand::Events(args) => {
            let limit = args.limit.map(|limit| limit.to_string());
            let mut query = vec![("include_chunks", if args.chunks { "true" } else { "false" })];
            query.extend(args.cursor.as_deref().map(|cursor| ("cursor", cursor)));
            query.extend(limit.as_deref().map(|limit| ("limit", limit)));
            let body = read(&args.fleet.open()?, &args.id, Some("events"), None, &query).await?;
            let lines = event_lines(tagged(&body, "action_events")?);
            (body, lines)
        }
        ActionsCommand::Cancel(args) => {
            let wish = args.reason.as_ref().map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
            let path = ["aip", "v1", "actions", &args.id, "cancel"];
            let body = args.fleet.open()?.post(&path, &wish, CALL_WITHIN).await?;
            let ack = tagged(&body, "ack")?;
            let mut lines =
                vec![format!("action  {}", text(ack, "action_id")), format!("cancel  {}", text(ack, "status"))];
            lines.extend(ack.get("reason").and_then(Value::as_str).map(|reason| format!("reason  {reason}")));
            (body, lines)
        }
    };
    output.answer(&body, || lines);
    Ok(())
}

async fn read(
    fleet: &Fleet,
    id: &str,
    part: Option<&str>,
    wait_ms: Option<u64>,
    query: &[(&str, &str)],
) -> Result<Value, Failure> {
    let wait = wait_ms.map(|wait_ms| wait_ms.to_string());
    let mut query = query.to_vec();
    query.extend(wait.as_deref().map(|wait| ("wait_ms", wait)));
    let mut path = vec!["aip", "v1", "actions", id];
    path.extend(part);
    fleet.get(&path, &query, CALL_WITHIN.saturating_add(Duration::from_millis(wait_ms.unwrap_or(0)))).await
}

/// Waits until an action is terminal or parked; returns its status with its result.
pub(crate) async fn await_end(fleet: &Fleet, id: &str, within: Duration) -> Result<Value, Failure> {
    const WAIT_MS: u64 = 10_000;
    let until = aip_service::since_start().checked_add(within);
    loop {
        let body = read(fleet, id, None, Some(WAIT_MS), &[("include_result", "true")]).await?;
        let state = text(tagged(&body, "action_status")?, "state");
        if ["completed", "failed", "cancelled", "expired", "dead_lettered", "pending_approval"].contains(&state) {
            return Ok(body);
        }
        if until.is_none_or(|until| until <= aip_service::since_start()) {
            return Err(anyhow!("the action {id} is still {state}").into());
        }
    }
}

/// An action status for people.
pub(crate) fn status_lines(status: &Value) -> Vec<String> {
    let mut lines =
        vec![format!("action  {}", text(status, "action_id")), format!("state   {}", text(status, "state"))];
    for (label, member) in [("call    ", "capability_id"), ("started ", "started_at"), ("updated ", "updated_at")] {
        if let Some(value) = status.get(member).and_then(Value::as_str) {
            lines.push(format!("{label}{value}"));
        }
    }
    if let Some(result) = status.get("result") {
        lines.extend(result_lines(result).into_iter().skip(1)); // its first line names the action again
    }
    lines
}

fn event_lines(events: &Value) -> Vec<String> {
    let all = |member: &str| events.get(member).and_then(Value::as_array).into_iter().flatten();
    let mut lines: Vec<String> = all("events")
        .map(|event| {
            let data = event.get("data").map(short).unwrap_or_default();
            format!("{}  {}  {data}", text(event, "occurred_at"), text(event, "kind"))
        })
        .collect();
    lines.extend(all("chunks").map(|chunk| format!("chunk {}", short(chunk))));
    if let Some(cursor) = events.get("cursor").and_then(Value::as_str) {
        lines.push(format!("cursor  {cursor}"));
    }
    lines
}
