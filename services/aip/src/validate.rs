//! `aip validate`: judges documents by the schemas and rules that the services judge by (`docs/rules.md`). Needs no fleet.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
};

use aip_schema::{Fault, Form, inspect, receive};
use aip_types::{ErrorCode, limits};
use anyhow::Context as _;
use serde_json::json;

use crate::{failure::Failure, output::Output};

/// Checks an envelope, a manifest or a bare body, and prints everything that is wrong with it.
///
/// Exit codes: 0 valid, 1 invalid, 2 the file cannot be read.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ValidateArgs {
    /// The document [default: standard input, as `-`].
    file: Option<PathBuf>,
    /// Read one envelope a line and answer each with one line: `valid`, or `invalid <code> <pointer>`. Exit code 0.
    #[arg(long)]
    lines: bool,
}

/// Runs the command.
pub(crate) fn validate(args: &ValidateArgs, output: Output) -> Result<(), Failure> {
    let path = args.file.as_deref().filter(|path| *path != Path::new("-"));
    let unreadable = |fault: io::Error| {
        let name = path.map_or_else(|| "standard input".to_owned(), |path| path.display().to_string());
        Failure::Usage(format!("reading {name}: {fault}"))
    };
    let mut source: Box<dyn BufRead> = match path {
        Some(path) => Box::new(BufReader::new(File::open(path).map_err(unreadable)?)),
        None => Box::new(io::stdin().lock()),
    };
    if args.lines {
        return lines(&mut source, unreadable, |line| output.reply(line));
    }
    let mut text = Vec::new();
    source.take(bytes_max().saturating_add(1)).read_to_end(&mut text).map_err(unreadable)?;
    document(&text, output)
}

fn document(text: &[u8], output: Output) -> Result<(), Failure> {
    let inspected = inspect(text);
    let form = match inspected.form {
        Form::Envelope => "envelope".to_owned(),
        Form::Body(kind) => format!("body {}", kind.body_key()),
        Form::Manifest => "manifest".to_owned(),
    };
    let findings = inspected.findings;
    let member = |fault: &Fault| json!({ "pointer": fault.pointer, "rule": fault.rule, "code": fault.code.as_str() });
    let told: Vec<_> = findings.iter().map(member).collect();
    output.answer(&json!({ "valid": findings.is_empty(), "form": form, "findings": told }), || {
        let verdict = if findings.is_empty() { "valid" } else { "invalid" };
        let mut lines = vec![format!("{verdict} ({form})")];
        let line = |fault: &Fault| format!("{}\t{}\t{}", shown(&fault.pointer), fault.rule, fault.code);
        lines.extend(findings.iter().map(line));
        lines
    });
    if findings.is_empty() { Ok(()) } else { Err(Failure::Invalid) }
}

/// Answers every line, also an empty one. A reader that hangs up ends it.
fn lines(
    source: &mut impl BufRead,
    unreadable: impl Fn(io::Error) -> Failure,
    mut reply: impl FnMut(&str) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read =
            source.by_ref().take(bytes_max().saturating_add(1)).read_until(b'\n', &mut line).map_err(&unreadable)?;
        if read == 0 {
            return Ok(());
        }
        let verdict = if line.pop_if(|byte| *byte == b'\n').is_some() || line.len() <= limits::ENVELOPE_BYTES_MAX {
            receive(&line).map_or_else(|fault| invalid(&fault), |_| "valid".to_owned())
        } else {
            source.skip_until(b'\n').map_err(&unreadable)?;
            invalid(&Fault::new(ErrorCode::TooLarge, "", "document_bytes_max"))
        };
        match reply(&verdict) {
            Err(fault) if fault.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            replied => replied.context("writing the answers")?,
        }
    }
}

fn invalid(fault: &Fault) -> String {
    let text = format!("invalid {} {}", fault.code, shown(&fault.pointer));
    text.trim_end().to_owned()
}

/// A pointer on one line: it may hold received member names, and those any character.
fn shown(pointer: &str) -> String {
    let mut text = String::with_capacity(pointer.len());
    for character in pointer.chars() {
        if character.is_control() {
            text.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            text.push(character);
        }
    }
    text
}

/// Bytes of the longest envelope.
fn bytes_max() -> u64 {
    u64::try_from(limits::ENVELOPE_BYTES_MAX).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(input: &[u8]) -> Vec<String> {
        let mut answers = Vec::new();
        let unreadable = |fault: io::Error| Failure::Usage(fault.to_string());
        lines(&mut BufReader::with_capacity(7, input), unreadable, |line| {
            answers.push(line.to_owned());
            Ok(())
        })
        .unwrap();
        answers
    }

    const ENVELOPE: &str = r#"{"aip_version":"1.0","message_type":"aip.core.v1.heartbeat","message_id":"m","sent_at":"2026-11-29T12:00:00Z","body":{"heartbeat":{"sequence":1}}}"#;

    fn padded(bytes: usize) -> Vec<u8> {
        let mut text = ENVELOPE.as_bytes().to_vec();
        text.resize(bytes, b' ');
        text
    }

    #[test]
    fn every_line_has_one_answer_whatever_is_in_it() {
        assert_eq!(answers(b""), Vec::<String>::new());
        assert_eq!(
            answers(b"\n{}\nx"),
            [
                "invalid aip.envelope.not_json",
                "invalid aip.envelope.invalid /aip_version",
                "invalid aip.envelope.not_json",
            ]
        );
        // A pointer is made of the sender's names, and stays on its line.
        let named = ENVELOPE.replacen('{', r#"{"a\nb":1,"#, 1);
        assert_eq!(answers(named.as_bytes()), ["invalid aip.envelope.invalid /a\\u000ab"]);
    }

    #[test]
    fn a_line_at_the_bound_is_judged_and_a_longer_one_is_skipped() {
        let max = limits::ENVELOPE_BYTES_MAX;
        let long = "invalid aip.envelope.too_large";
        for (bytes, verdict) in [(max, "valid"), (max + 1, long), (3 * max, long)] {
            let mut input = padded(bytes);
            assert_eq!(answers(&input), [verdict], "{bytes}");
            input.push(b'\n');
            input.extend(padded(200));
            assert_eq!(answers(&input), [verdict, "valid"], "{bytes}");
        }
    }
}
