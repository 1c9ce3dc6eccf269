//! The program as people and scripts use it: exit codes, keys, whole fleets, and what survives their death.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{Receiver, sync_channel},
    thread,
    time::Duration,
};

use aip_testkit::{Scratch, eventually};
use serde_json::Value;

const WITHIN: Duration = Duration::from_secs(60);

fn aip() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aip"));
    for name in ["AIP_TOKEN", "AIP_URL", "AIP_CONFIG", "AIP_NKEY_FILE", "AIP_LOG"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    aip().args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The variables of a fleet's `env` file, as a shell reads them.
fn variables(dir: &Path) -> BTreeMap<String, String> {
    let script = ". \"$1\" && env -0";
    let sourced = Command::new("sh").args(["-c", script, "sh"]).arg(dir.join("env")).env_clear().output().unwrap();
    assert!(sourced.status.success(), "{}", said(&sourced));
    let text = String::from_utf8(sourced.stdout).unwrap();
    text.split('\0')
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Every process whose command line names this text.
fn processes(text: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).filter(|line| line.contains(text)).collect()
}

fn port(url: &str) -> String {
    url.rsplit_once(':').unwrap().1.to_owned()
}

fn signal(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
}

/// A running `aip up` on free ports.
struct Up {
    child: Child,
    dir: PathBuf,
    env: BTreeMap<String, String>,
}

impl Up {
    fn start(dir: &Path) -> Self {
        let mut command = aip();
        command.args(["up", "--port", "0", "--nats-port", "0", "--dir"]).arg(dir);
        let log = fs::OpenOptions::new().create(true).append(true).open(dir.with_extension("log")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let lines = lines(child.stdout.take().unwrap());
        loop {
            match lines.recv_timeout(WITHIN) {
                Ok(line) if line == "ready" => break,
                Ok(_) => {}
                Err(_) => panic!("not ready: {:?}", child.kill()),
            }
        }
        Self { child, dir: dir.to_owned(), env: variables(dir) }
    }

    fn call(&self, arguments: &[&str]) -> Output {
        aip().args(arguments).envs(&self.env).output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.call(&[&["--json"], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn note(&self, key: &str) -> String {
        let answer = self.json(&["call", "cap:demo:note:append", "--input", r#"{"text":"x"}"#, "--key", key]);
        assert_eq!(answer.pointer("/action_result/status").unwrap(), "completed", "{answer}");
        answer.pointer("/action_result/action_id").unwrap().as_str().unwrap().to_owned()
    }

    fn nats_pid(&self) -> String {
        fs::read_to_string(self.dir.join("nats").join("pid")).unwrap()
    }

    fn stop(mut self) {
        signal("-TERM", &self.child.id().to_string());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The lines of a child, read by a thread so that waiting for one can end.
fn lines(from: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (to, lines) = sync_channel(1_000);
    thread::spawn(move || BufReader::new(from).lines().map_while(Result::ok).for_each(|line| drop(to.send(line))));
    lines
}

#[test]
fn exit_codes_tell_usage_configuration_and_failure_apart() {
    let scratch = Scratch::new();
    let file = scratch.write("chain.json", r#"{"receipt_chain":{"chain_id":"action:a","receipts":[{"hash":"00"}]}}"#);
    let bad_toml = scratch.write("aip.toml", "trust_domain = 1");
    let (file, bad_toml) = (file.to_str().unwrap(), bad_toml.to_str().unwrap());
    let nowhere = ["--url", "http://127.0.0.1:1"];
    let table: [(&[&str], i32, &str); 14] = [
        (&["--version"], 0, "aip 0."),
        (&["up", "--help"], 0, "ready"),
        (&[], 2, "Usage"),
        (&["frobnicate"], 2, "frobnicate"),
        (&["call", "cap:demo:echo", "--input", "{"], 2, "--input is no JSON"),
        (&["call", "cap:demo:echo", "--mode", "later"], 2, "sync"),
        (&["call", "cap:demo:echo", "--token", "s3cret"], 2, "--token"),
        (&["manifest", nowhere[0], nowhere[1]], 1, "no connection to 127.0.0.1:1"),
        (&["manifest", "--url", "https://example.org"], 64, "http://"),
        (&["serve", "admission", "--nkey-file", "/none", "--config", "/none/aip.toml"], 64, "/none/aip.toml"),
        (&["serve", "admission", "--nkey-file", "/none", "--config", bad_toml], 64, "invalid type"),
        (&["nats-server", "--nats-server", "/bin/true"], 64, "/bin/true"),
        (&["nats-server"], 0, "nats-server"),
        (&["receipts", "verify", "--file", file], 1, "FAULT: hash does not match the receipt"),
    ];
    for (arguments, code, text) in table {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(text), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn keys_are_made_once_and_for_their_owner_only() {
    let scratch = Scratch::new();
    let dir = scratch.path().join("fleet");
    let at = dir.to_str().unwrap();
    let keys = |more: &[&str]| run(&[&["keys", "--dir", at], more].concat());
    assert!(keys(&["--rogue"]).status.success());
    let folder = |path: &Path| -> BTreeMap<PathBuf, String> {
        let files = fs::read_dir(path).unwrap().flatten().map(|entry| entry.path()).filter(|path| path.is_file());
        files.map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect()
    };
    let (first, seeds) = (folder(&dir), folder(&dir.join("keys")));
    for name in ["bootstrap", "admission", "scheduler", "edge-http", "observer", "bench", "operator"] {
        assert!(seeds.contains_key(&dir.join("keys").join(format!("{name}.nk"))), "{name}");
    }
    for name in ["demo-client.nk", "other-client.nk", "demo-client.did", "connector-demo.nk", "connector-rogue.nk"] {
        assert!(seeds.contains_key(&dir.join("keys").join(name)), "{name}");
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for path in first.keys().chain(seeds.keys()) {
        assert_eq!(mode(path), 0o600, "{}", path.display());
    }
    assert_eq!((mode(&dir), mode(&dir.join("keys"))), (0o700, 0o700));

    let env = variables(&dir);
    let secrets =
        seeds.values().map(|seed| seed.trim()).chain(["AIP_TOKEN", "AIP_TOKEN_OTHER"].map(|name| env[name].as_str()));
    for secret in secrets {
        let config = [first[&dir.join("aip.toml")].as_str(), first[&dir.join("nats.conf")].as_str()];
        assert!(secret.len() >= 43 && !config.iter().any(|text| text.contains(secret)));
    }
    let printed = keys(&[]);
    assert!(printed.status.success() && !said(&printed).contains(&env["AIP_TOKEN"]));
    assert_eq!((folder(&dir), folder(&dir.join("keys"))), (first, seeds), "a second run changes nothing");

    fs::remove_file(dir.join("env")).unwrap();
    let lost = keys(&[]);
    assert_eq!(lost.status.code(), Some(64), "{}", said(&lost));
}

#[tokio::test]
async fn a_check_shows_a_verified_action_and_leaves_nothing() {
    let scratch = Scratch::new();
    let text = scratch.path().to_str().unwrap();
    let check = |arguments: &[&str]| aip().args(arguments).env("TMPDIR", text).output().unwrap();
    let people = check(&["up", "--check"]);
    assert_eq!(people.status.code(), Some(0), "{}", said(&people));
    for expected in ["state   completed", "receipt 0", "verified offline", "one over NATS: act_"] {
        assert!(said(&people).contains(expected), "{expected}: {}", said(&people));
    }
    let json = check(&["--json", "up", "--check"]);
    assert_eq!(json.status.code(), Some(0), "{}", said(&json));
    let document: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(document.pointer("/action_status/state").unwrap(), "completed");
    assert_eq!(aip_crypto::verify_chain_value(document.get("receipt_chain").unwrap()), Ok(()));
    eventually(WITHIN, async || processes(text).is_empty()).await;
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn two_fleets_live_side_by_side_and_know_only_their_own() {
    let scratch = Scratch::new();
    let start = |name: &str| Up::start(&scratch.path().join(name));
    let (one, two) = thread::scope(|scope| {
        let other = scope.spawn(|| start("two"));
        (start("one"), other.join().unwrap())
    });
    let action = one.note("k1");
    assert_eq!(one.note("k1"), action, "a repeated key answers with the first action");
    assert_ne!(two.note("k1"), action);
    let absent = two.call(&["actions", "get", &action]);
    assert_eq!(absent.status.code(), Some(1));
    assert!(said(&absent).contains("aip.action.not_found"), "{}", said(&absent));
    let stranger = aip()
        .args(["manifest", "--url", &one.env["AIP_URL"]])
        .env("AIP_TOKEN", &two.env["AIP_TOKEN"])
        .output()
        .unwrap();
    assert!(said(&stranger).contains("aip.auth."), "{}", said(&stranger));

    let again = run(&["up", "--port", "0", "--nats-port", "0", "--dir", one.dir.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(64), "{}", said(&again));
    assert!(said(&again).contains("in use"), "{}", said(&again));
    let (http, nats) = (port(&one.env["AIP_URL"]), port(&one.env["NATS_URL"]));
    let three = scratch.path().join("three");
    for taken in [["--port", &http, "--nats-port", "0"], ["--port", "0", "--nats-port", &nats]] {
        let refused = aip().arg("up").args(taken).arg("--dir").arg(&three).output().unwrap();
        assert_eq!(refused.status.code(), Some(64), "{}", said(&refused));
        assert!(said(&refused).contains("choose another port"), "{}", said(&refused));
    }
    let dir = one.dir.clone();
    one.stop();
    assert_eq!(processes(dir.to_str().unwrap()), Vec::<String>::new());
    let later = Up::start(&dir);
    assert_eq!(later.json(&["actions", "get", &action]).pointer("/action_status/state").unwrap(), "completed");
    assert_eq!(later.note("k1"), action);
    later.stop();
    two.stop();
}

#[test]
fn reading_commands_show_documents_and_receipts_are_checked_offline() {
    let scratch = Scratch::new();
    let up = Up::start(&scratch.path().join("fleet"));
    assert!(up.call(&["healthcheck"]).status.success());
    let manifest = up.json(&["manifest"]);
    assert!(manifest.pointer("/manifest/capabilities/0/id").is_some(), "{manifest}");
    let refused = up.call(&["call", "cap:demo:echo", "--input", r#"{"txt":1}"#]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("aip.capability.input_invalid"), "{}", said(&refused));
    let ended = up.json(&["call", "cap:demo:slow", "--input", r#"{"seconds":0.2}"#, "--async", "--wait"]);
    assert_eq!(ended.pointer("/action_status/result/status").unwrap(), "completed");

    let action = up.note("k");
    assert_eq!(up.json(&["actions", "result", &action]).pointer("/action_result/output/key").unwrap(), "k");
    assert!(up.json(&["actions", "events", &action]).pointer("/action_events/events/1").is_some());
    assert_eq!(up.json(&["receipts", "verify", &action]).get("ok").unwrap(), true);
    let chain = up.json(&["receipts", "get", &action]).to_string();
    for (text, code) in [(chain.clone(), 0), (chain.replacen("policy_decision", "action_accepted", 1), 1)] {
        let file = scratch.write("chain.json", &text);
        let verified = run(&["--json", "receipts", "verify", "--file", file.to_str().unwrap()]);
        assert_eq!(verified.status.code(), Some(code), "{}", said(&verified));
    }
    let token_file = scratch.write("token", &format!("{}\n", up.env["AIP_TOKEN_OTHER"]));
    let foreign = up.call(&["actions", "get", &action, "--token-file", token_file.to_str().unwrap()]);
    assert!(said(&foreign).contains("aip.action.not_found"), "{}", said(&foreign));
    up.stop();
}

#[tokio::test]
async fn what_is_killed_comes_back_and_orphans_end() {
    let scratch = Scratch::new();
    let dir = scratch.path().join("fleet");
    let text = dir.to_str().unwrap();
    let connectors = || processes(text).into_iter().filter(|line| line.contains("serve connector")).collect::<Vec<_>>();
    let mut up = Up::start(&dir);
    let first = up.nats_pid();
    signal("-KILL", &first);
    eventually(WITHIN, async || up.nats_pid() != first).await;
    let note = ["call", "cap:demo:note:append", "--key", "after the server"];
    eventually(WITHIN, async || up.call(&note).status.success()).await; // until then a typed transport error is an answer
    let children =
        Command::new("pgrep").args(["-P", &up.child.id().to_string(), "-f", "serve connector"]).output().unwrap();
    signal("-KILL", String::from_utf8(children.stdout).unwrap().trim());
    let action = up.note("after the connector");

    up.child.kill().unwrap();
    up.child.wait().unwrap();
    eventually(WITHIN, async || connectors().is_empty()).await;
    let orphan = up.nats_pid();
    assert!(!processes(text).is_empty(), "the server of a killed fleet stays");
    let later = Up::start(&dir);
    assert_ne!(later.nats_pid(), orphan);
    assert_eq!(processes(text).iter().filter(|line| line.contains("--ports_file_dir")).count(), 1);
    assert_eq!(later.note("after the connector"), action);
    later.stop();
}

/// The first valid and the first invalid envelope of a fixture, with the finding of the second.
fn judged(body: &str) -> (String, String, Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/fixtures").join(format!("{body}.json"));
    let fixture: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let invalid = &fixture["invalid"][0];
    (fixture["valid"][0]["envelope"].to_string(), invalid["envelope"].to_string(), invalid.clone())
}

#[test]
fn documents_are_judged_with_every_finding() {
    let scratch = Scratch::new();
    let (valid, invalid, finding) = judged("delegation_request");
    let file = scratch.path().join("document.json");
    let judge = |text: &str, flags: &[&str]| {
        fs::write(&file, text).unwrap();
        let output = run(&[flags, &["validate", file.to_str().unwrap()]].concat());
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(judge(&valid, &[]), (Some(0), "valid (envelope)\n".to_owned(), String::new()));
    let text = |member: &str| finding[member].as_str().unwrap().to_owned();
    let line = format!("invalid (envelope)\n{}\t{}\t{}\n", text("pointer"), text("rule"), text("code"));
    assert_eq!(judge(&invalid, &[]), (Some(1), line, String::new()));

    let bare = serde_json::from_str::<Value>(&invalid).unwrap()["body"].to_string();
    let (code, told, _) = judge(&bare, &["--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        (code, &told["form"], &told["valid"]),
        (Some(1), &Value::from("body delegation_request"), &Value::from(false))
    );
    assert_eq!(told["findings"][0]["pointer"], text("pointer").strip_prefix("/body").unwrap());

    let manifest = r#"{"manifest_version":"1","agent":{"id":"a","kind":"agent"},"profiles":[]}"#;
    let lines = "/manifest_version\tmanifest_version\taip.manifest.rejected\n/profiles\tmanifest_profiles\taip.manifest.rejected\n";
    assert_eq!(judge(manifest, &[]).1, format!("invalid (manifest)\n{lines}"));
    assert_eq!(run(&["validate", "/nowhere/document.json"]).status.code(), Some(2));
}

#[test]
fn envelopes_are_judged_line_by_line_as_they_come() {
    let (valid, invalid, finding) = judged("delegation_request");
    let mut child = aip().args(["validate", "--lines"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    let answers = lines(child.stdout.take().unwrap());
    let refused = format!("invalid {} {}", finding["code"].as_str().unwrap(), finding["pointer"].as_str().unwrap());
    for (line, answer) in
        [(valid.as_str(), "valid"), (invalid.as_str(), refused.as_str()), ("", "invalid aip.envelope.not_json")]
    {
        writeln!(to, "{line}").unwrap();
        assert_eq!(answers.recv_timeout(WITHIN).unwrap(), answer, "{line}");
    }
    for _ in 0..64 {
        to.write_all(&[b' '; 65_536]).unwrap();
    }
    writeln!(to, "\n{valid}").unwrap();
    assert_eq!(answers.recv_timeout(WITHIN).unwrap(), "invalid aip.envelope.too_large");
    assert_eq!(answers.recv_timeout(WITHIN).unwrap(), "valid");
    drop(to);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
