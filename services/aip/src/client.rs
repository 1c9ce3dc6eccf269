//! The commands that call a fleet over HTTP. They hold no meaning: documents go out and are shown as they come back.

mod actions;
mod call;
mod health;
mod manifest;
mod receipts;

use std::{path::PathBuf, time::Duration};

use aip_egress::{Answer, Call, Client};
use aip_types::ProtocolError;
use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use serde_json::Value;

use crate::failure::Failure;

pub(crate) use actions::{ActionsCommand, actions};
pub(crate) use call::{CallArgs, call};
pub(crate) use health::{HealthArgs, health};
pub(crate) use manifest::{ManifestArgs, manifest};
pub(crate) use receipts::{ReceiptsCommand, receipts};
pub(crate) use {
    actions::status_lines,
    call::request as action_request,
    receipts::{fetch as fetch_chain, verified},
};

/// Time for a call that waits for nothing.
pub(crate) const CALL_WITHIN: Duration = Duration::from_secs(15);
const MEDIA_TYPE: &str = "application/aip+json";

/// Which fleet, and as whom. The token comes from AIP_TOKEN or from a file, never from the command line.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FleetArgs {
    /// URL of the fleet's HTTP edge.
    #[arg(long, env = "AIP_URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    /// File with the bearer token; AIP_TOKEN otherwise.
    #[arg(long)]
    token_file: Option<PathBuf>,
}

impl FleetArgs {
    pub(crate) fn open(&self) -> Result<Fleet, Failure> {
        let token = match &self.token_file {
            Some(path) => {
                let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()));
                Some(text.map_err(Failure::Settings)?)
            }
            None => token_from_environment(),
        };
        Fleet::new(&self.url, token.as_deref().map(str::trim).filter(|token| !token.is_empty()))
    }
}

#[expect(clippy::disallowed_methods, reason = "a flag would show the token to everybody on the machine")]
fn token_from_environment() -> Option<String> {
    std::env::var("AIP_TOKEN").ok()
}

/// A fleet that can be called.
#[derive(Clone, Debug)]
pub(crate) struct Fleet {
    client: Client,
    url: String,
}

impl Fleet {
    pub(crate) fn new(url: &str, token: Option<&str>) -> Result<Self, Failure> {
        let client = Client::new(url).with_context(|| format!("the URL {url}")).map_err(Failure::Settings)?;
        let client = match token {
            Some(token) => client.with_bearer(token).map_err(Failure::settings)?,
            None => client,
        };
        Ok(Self { client, url: url.to_owned() })
    }

    /// Reads a resource; a refusal is a failure.
    pub(crate) async fn get(&self, path: &[&str], query: &[(&str, &str)], within: Duration) -> Result<Value, Failure> {
        let answer = self.ask(path, query, within).await?;
        document(&answer)
    }

    /// Reads a resource, whatever the status.
    pub(crate) async fn ask(&self, path: &[&str], query: &[(&str, &str)], within: Duration) -> Result<Answer, Failure> {
        let answer = self.client.get(Call { path, query, within }).await;
        Ok(answer.with_context(|| format!("asking {}", self.url))?)
    }

    /// Posts an envelope and returns the body of the envelope that answers it.
    pub(crate) async fn post(&self, path: &[&str], envelope: &Value, within: Duration) -> Result<Value, Failure> {
        document(&self.post_text(path, envelope.to_string(), within).await?)
    }

    /// Posts an envelope as it is written, whatever the status.
    pub(crate) async fn post_text(&self, path: &[&str], envelope: String, within: Duration) -> Result<Answer, Failure> {
        let call = Call { path, query: &[], within };
        let answer = self.client.post(call, MEDIA_TYPE, Bytes::from(envelope)).await;
        Ok(answer.with_context(|| format!("calling {}", self.url))?)
    }
}

fn document(answer: &Answer) -> Result<Value, Failure> {
    match body_of(&answer.body) {
        Ok(_) | Err(Failure::Failed(_)) if !answer.is_success() => {
            Err(anyhow!("status {} and no AIP document; is this the URL of a fleet?", answer.status).into())
        }
        body => body,
    }
}

/// The tagged body of an answer, whether it stands alone, in an envelope, or in the wrapper of NATS. A refusal is a failure.
pub(crate) fn body_of(answer: &[u8]) -> Result<Value, Failure> {
    let mut document: Value = serde_json::from_slice(answer).context("the answer is no JSON")?;
    for layer in ["envelope", "body"] {
        document = document.get_mut(layer).map(Value::take).unwrap_or(document);
    }
    match document.pointer("/error/error").or_else(|| document.get("error")) {
        Some(error) => {
            let error: ProtocolError =
                serde_json::from_value(error.clone()).context("the answer's error is no AIP error")?;
            Err(error.into())
        }
        None => Ok(document),
    }
}

/// The member of a tagged body, which must be the one that was asked for.
fn tagged<'a>(body: &'a Value, key: &str) -> Result<&'a Value, Failure> {
    Ok(body.get(key).ok_or_else(|| anyhow!("the answer is no {key}"))?)
}

/// A text member, or a dash.
fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or("-")
}
