//! `aip call`.

use std::{io::Read as _, time::Duration};

use aip_types::{
    Action, ActionId, ActionMode, AipVersion, CapabilityId, Envelope, MessageBody, MessageId, Timestamp, limits,
};
use anyhow::{Context as _, anyhow};
use serde_json::Value;

use super::{CALL_WITHIN, FleetArgs, actions::await_end, tagged, text};
use crate::{
    failure::Failure,
    output::{Output, short},
};

/// Calls a capability and shows how it ended.
///
/// The exit code is 0 when the action completed, or was accepted and nobody waits for it; 1 when it was refused or failed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CallArgs {
    /// Id of the capability, such as cap:demo:echo.
    capability: String,
    /// Input as JSON; `-` reads it from standard input.
    #[arg(long, default_value = "{}")]
    input: String,
    /// Idempotency key: repeating the call with it does nothing twice.
    #[arg(long)]
    key: Option<String>,
    /// Return when the action is accepted (`--mode async`).
    #[arg(long = "async", conflicts_with = "mode")]
    is_async: bool,
    /// Wait for the end of an action that was only accepted.
    #[arg(long)]
    wait: bool,
    /// How the result comes: sync, async or streaming [default: what the capability's contract says].
    #[arg(long, value_parser = mode)]
    mode: Option<ActionMode>,
    /// Milliseconds until the action expires.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    timeout_ms: Option<u64>,
    #[command(flatten)]
    fleet: FleetArgs,
}

fn mode(text: &str) -> Result<ActionMode, String> {
    ActionMode::from_wire(text).ok_or_else(|| {
        let known: Vec<&str> = ActionMode::ALL.iter().map(|mode| mode.as_str()).collect();
        format!("one of {} is wanted", known.join(", "))
    })
}

/// Runs the command.
pub(crate) async fn call(args: &CallArgs, output: Output) -> Result<(), Failure> {
    let input = input(&args.input)?;
    let fleet = args.fleet.open()?;
    let mut action = Action::new(
        ActionId::generate(aip_service::now(), aip_bus::random()),
        CapabilityId::new(args.capability.clone()),
        input,
    );
    action.idempotency_key.clone_from(&args.key);
    action.mode = if args.is_async { Some(ActionMode::Async) } else { args.mode };
    action.timeout_ms = args.timeout_ms;
    let within =
        Duration::from_millis(args.timeout_ms.unwrap_or(limits::ACTION_TIMEOUT_MS_DEFAULT)).saturating_add(CALL_WITHIN);
    let mut body = fleet.post(&["aip", "v1", "actions"], &request(action)?, within).await?;
    if let (true, Some(ack)) = (args.wait, body.get("ack")) {
        body = await_end(&fleet, text(ack, "action_id"), within).await?;
    }
    output.answer(&body, || lines(&body));
    outcome(&body)
}

/// The envelope that asks for an action.
pub(crate) fn request(action: Action) -> Result<Value, Failure> {
    let now = aip_service::now();
    let body = MessageBody::from(action);
    let envelope = Envelope {
        aip_version: AipVersion::V1_0,
        message_type: body.message_type(),
        message_id: MessageId::generate(now, aip_bus::random()),
        sent_at: Timestamp::from_millis(now),
        body,
        session_id: None,
        correlation_id: None,
        in_response_to: None,
        idempotency_key: None,
        from: None,
        to: None,
        trace: None,
        security: None,
        extensions: None,
    };
    Ok(serde_json::to_value(envelope).context("writing the envelope")?)
}

fn input(text: &str) -> Result<Value, Failure> {
    let usage = |fault: &dyn std::fmt::Display| Failure::Usage(format!("--input is no JSON: {fault}"));
    if text != "-" {
        return serde_json::from_str(text).map_err(|fault| usage(&fault));
    }
    let bound = u64::try_from(limits::ENVELOPE_BYTES_MAX).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    std::io::stdin().take(bound.saturating_add(1)).read_to_end(&mut bytes).context("reading standard input")?;
    if bytes.len() > limits::ENVELOPE_BYTES_MAX {
        return Err(Failure::Usage("the input is longer than an envelope may be".to_owned()));
    }
    serde_json::from_slice(&bytes).map_err(|fault| usage(&fault))
}

fn lines(body: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(ack) = body.get("ack") {
        lines.push(format!("action  {}", text(ack, "action_id")));
        lines.push(format!("ack     {}", text(ack, "status")));
    }
    if let Some(status) = body.get("action_status") {
        lines.extend(super::status_lines(status));
    }
    if let Some(result) = body.get("action_result") {
        lines.extend(result_lines(result));
    }
    lines
}

/// An action result for people.
pub(super) fn result_lines(result: &Value) -> Vec<String> {
    let mut lines =
        vec![format!("action  {}", text(result, "action_id")), format!("status  {}", text(result, "status"))];
    if let Some(output) = result.get("output") {
        lines.push(format!("output  {}", short(output)));
    }
    if let Some(error) = result.get("error") {
        lines.push(format!("error   {}: {}", text(error, "code"), text(error, "message")));
    }
    lines
}

/// Whether the action is where the caller wanted it.
fn outcome(body: &Value) -> Result<(), Failure> {
    if let Some(ack) = body.get("ack") {
        return match text(ack, "status") {
            "rejected" => Err(anyhow!("the action was rejected").into()),
            _ => Ok(()),
        };
    }
    let ended = match body.get("action_status") {
        Some(status) => text(status, "state"),
        None => text(tagged(body, "action_result")?, "status"),
    };
    match ended {
        "completed" | "pending_approval" => Ok(()),
        other => Err(anyhow!("the action ended as {other}").into()),
    }
}
