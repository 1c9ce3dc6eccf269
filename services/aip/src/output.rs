//! The only place that writes to the terminal. A reader that hangs up is no failure.

use std::io::{self, Write as _};

use aip_types::ProtocolError;
use serde_json::{Value, json};

use crate::failure::Failure;

/// Where answers go, and in which form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    json: bool,
}

impl Output {
    /// `json`: documents and nothing else on standard output.
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// One line for people.
    pub(crate) fn line(self, text: impl AsRef<str>) {
        if !self.json {
            drop(writeln!(io::stdout().lock(), "{}", text.as_ref()));
        }
    }

    /// An answer: the document in JSON form, its lines for people otherwise.
    pub(crate) fn answer(self, document: &Value, lines: impl FnOnce() -> Vec<String>) {
        if self.json {
            drop(writeln!(io::stdout().lock(), "{document}"));
        } else {
            lines().iter().for_each(|line| self.line(line));
        }
    }

    /// One line of a protocol between programs: the same in both forms, and gone out when this returns.
    pub(crate) fn reply(self, text: &str) -> io::Result<()> {
        let mut to = io::stdout().lock();
        writeln!(to, "{text}")?;
        to.flush()
    }

    /// Why a command failed, on standard error.
    pub(crate) fn failure(self, failure: &Failure) {
        let mut to = io::stderr().lock();
        drop(match failure {
            Failure::Refused(error) if self.json => writeln!(to, "{}", json!({ "error": error })),
            Failure::Refused(error) => writeln!(to, "{}", refusal(error)),
            Failure::Failed(fault) | Failure::Settings(fault) => writeln!(to, "error: {}", chain(fault)),
            Failure::Invalid => Ok(()),
            Failure::Usage(text) => writeln!(to, "error: {text}"),
        });
    }
}

fn refusal(error: &ProtocolError) -> String {
    let mut text = format!("refused: {}\n  {}", error.code, error.message);
    if let Some(details) = &error.details {
        text.push_str(&format!("\n  details: {details}"));
    }
    if let Some(retry_after_ms) = error.retry_after_ms {
        text.push_str(&format!("\n  try again in {retry_after_ms} ms"));
    }
    text
}

/// The error and its causes. Many adapters repeat their cause in their own text: a cause that was just said is left out.
fn chain(fault: &anyhow::Error) -> String {
    let mut text = fault.to_string();
    for cause in fault.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(&format!("\n  because: {cause}"));
        }
    }
    text
}

/// A value on one line, cut at a length that fits a terminal.
pub(crate) fn short(value: &Value) -> String {
    const CHARS_MAX: usize = 300;
    let text = value.to_string();
    let mut cut: String = text.chars().take(CHARS_MAX).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}
