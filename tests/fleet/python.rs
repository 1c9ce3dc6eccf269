//! The Python connector of `docs/connectors.md`, as it stands there, with a stock client (issue 4, done when 10).

use std::{path::Path, process::Stdio, time::Duration};

use serde_json::json;

use crate::{
    caller::action,
    harness::{Fleet, Plan},
    process::command,
};

const WITHIN: Duration = Duration::from_secs(60);
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/connector.py");

/// Where the client is installed, once for all runs.
async fn packages() -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nats-py-2.16.0");
    if !folder.join("nats").exists() {
        let arguments = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--target"];
        let mut pip = command(Path::new("python3"));
        let installed = pip.args(arguments).arg(&folder).arg("nats-py[nkeys]==2.16.0").status().await.unwrap();
        assert!(installed.success(), "nats-py cannot be installed");
    }
    folder.display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_connector_of_the_documentation_is_admitted_and_works() {
    let fleet = Fleet::start(Plan { guest: Some("hello"), ..Plan::default() }).await;
    let key = fleet.dir().join("keys").join("connector-hello.nk");
    let mut python = command(Path::new("python3"));
    python.env("PYTHONPATH", packages().await).arg(EXAMPLE).arg("hello").arg(key).arg(fleet.variable("NATS_URL"));
    let _connector = python.stdout(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    fleet.offers("cap:hello:send").await;

    let http = fleet.http();
    let read = action("cap:hello:hello", None, json!({ "who": "ada" }));
    let text = http.run(&read, WITHIN).await.completed()["output"]["text"].clone();
    assert_eq!(text, "hello ada, from service:demo-client");
    let sent = action("cap:hello:send", Some("k1"), json!({ "who": "bob" }));
    assert_eq!(http.run(&sent, WITHIN).await.completed()["output"], json!({ "sent": "bob", "key": "k1" }));
}
