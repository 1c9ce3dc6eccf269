//! Bad input, in a table: each row names its binding and the one answer. Nothing is stored for it but an audit line.

use std::{path::Path, time::Duration};

use aip_crypto::SigningKey;
use aip_types::limits;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use crate::{
    caller::{Answer, End, TenantUser, action, body_of, code_of, envelope, read},
    harness::{Fleet, Plan},
};

/// What a row expects of one binding.
#[derive(Clone, Copy, Debug)]
enum Expect {
    /// HTTP status and code.
    Http(u16, &'static str),
    /// The same over HTTP and NATS.
    Both(u16, &'static str),
}

struct Row {
    name: &'static str,
    text: String,
    expect: Expect,
    /// JSON Pointer in the error's details, where one is promised.
    pointer: Option<&'static str>,
}

fn row(name: &'static str, document: &Value, expect: Expect, pointer: Option<&'static str>) -> Row {
    Row { name, text: document.to_string(), expect, pointer }
}

/// A good request, to be spoiled.
fn good() -> Value {
    envelope(json!({ "action": action("cap:demo:echo", None, json!({ "text": "hello" })) }))
}

fn with(pointer: &str, value: Value) -> Value {
    let mut document = good();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    document.pointer_mut(parent).unwrap()[name] = value;
    document
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

fn sent(offset_ms: i64) -> Value {
    let at = aip_types::Millis(aip_service::now().0.saturating_add_signed(offset_ms));
    with("/sent_at", json!(aip_types::Timestamp::from_millis(at)))
}

/// Rows whose answer does not depend on who asks.
fn form() -> Vec<Row> {
    use Expect::{Both, Http};
    let raw = |name, text: String, expect| Row { name, text, expect, pointer: None };
    let padded = |bytes: usize| {
        let text = good().to_string();
        let pad = " ".repeat(bytes.saturating_sub(text.len()));
        text + &pad
    };
    let mut two_bodies = good();
    two_bodies["body"]["cancel"] = json!({ "target": { "action": "act_x" } });
    let mut twice = good().to_string();
    twice.insert_str(1, "\"aip_version\":\"1.0\",");
    vec![
        raw("not JSON", "{\"aip_version\":".to_owned(), Both(400, "aip.envelope.not_json")),
        raw("nothing", String::new(), Both(400, "aip.envelope.not_json")),
        raw("two documents", format!("{0}{0}", good()), Both(400, "aip.envelope.not_json")),
        raw("1 MiB + 1 byte", padded(limits::ENVELOPE_BYTES_MAX + 1), Both(413, "aip.envelope.too_large")),
        raw("a member twice", twice, Both(400, "aip.envelope.duplicate_member")),
        row("depth 65", &with("/body/action/input", nested(62)), Both(400, "aip.envelope.too_deep"), None),
        row(
            "depth 64 is not too deep",
            &with("/body/action/input", nested(61)),
            Both(400, "aip.capability.input_invalid"),
            None,
        ),
        row(
            "unknown member of the envelope",
            &with("/nope", json!(1)),
            Both(400, "aip.envelope.invalid"),
            Some("/nope"),
        ),
        row(
            "unknown member of the action",
            &with("/body/action/nope", json!(1)),
            Both(400, "aip.envelope.invalid"),
            Some("/body/action/nope"),
        ),
        row(
            "unknown member deep inside",
            &with("/body/action/identity", json!({"tenant": {"id": "demo", "nope": 1}})),
            Both(400, "aip.envelope.invalid"),
            Some("/body/action/identity/tenant/nope"),
        ),
        row(
            "a type that is not the body's",
            &with("/message_type", json!("aip.discovery.v1.manifest_request")),
            Both(400, "aip.envelope.type_mismatch"),
            None,
        ),
        row("two bodies", &two_bodies, Both(400, "aip.envelope.invalid"), None),
        row("no body", &with("/body", json!({})), Both(400, "aip.envelope.invalid"), None),
        row(
            "empty message_id",
            &with("/message_id", json!("")),
            Both(400, "aip.envelope.invalid"),
            Some("/message_id"),
        ),
        row(
            "unknown message type",
            &with("/message_type", json!("aip.core.v9.dream")),
            Both(400, "aip.message.unsupported"),
            None,
        ),
        row(
            "aip_version 2.0",
            &with("/aip_version", json!("2.0")),
            Both(400, "aip.envelope.unsupported_version"),
            None,
        ),
        row("an array", &json!([good()]), Both(400, "aip.envelope.invalid"), None),
        row(
            "a type that nobody answers",
            &envelope(json!({"heartbeat": {"sequence": 1}})),
            Http(400, "aip.message.unsupported"),
            None,
        ),
    ]
}

/// Rows about the request itself.
fn request() -> Vec<Row> {
    use Expect::{Both, Http};
    let body = |capability: &str, key, input| envelope(json!({ "action": action(capability, key, input) }));
    let claims = |tenant: &str| with("/body/action/identity", json!({ "tenant": { "id": tenant } }));
    vec![
        row("unknown capability", &body("cap:demo:nope", None, json!({})), Both(404, "aip.capability.not_found"), None),
        row(
            "capability of others",
            &body("cap:secret:x", None, json!({})),
            Both(404, "aip.capability.not_found"),
            None,
        ),
        row(
            "input without its member",
            &body("cap:demo:sum", None, json!({})),
            Both(400, "aip.capability.input_invalid"),
            None,
        ),
        row(
            "input of another type",
            &body("cap:demo:sum", None, json!({"numbers": [1, "2"]})),
            Both(400, "aip.capability.input_invalid"),
            Some("/body/action/input/numbers/1"),
        ),
        row(
            "null input",
            &body("cap:demo:echo", None, Value::Null),
            Both(400, "aip.action.input_null"),
            Some("/body/action/input"),
        ),
        row(
            "unsupported mode",
            &with("/body/action/mode", json!("streaming")),
            Both(400, "aip.action.mode_unsupported"),
            Some("/body/action/mode"),
        ),
        row(
            "timeout 0",
            &with("/body/action/timeout_ms", json!(0)),
            Both(400, "aip.action.timeout_invalid"),
            Some("/body/action/timeout_ms"),
        ),
        row(
            "timeout of a century",
            &with("/body/action/timeout_ms", json!(3_155_760_000_000_u64)),
            Both(400, "aip.action.timeout_invalid"),
            Some("/body/action/timeout_ms"),
        ),
        row(
            "no key where one is required",
            &body("cap:demo:note:append", None, json!({"text": "x"})),
            Both(400, "aip.idempotency.key_required"),
            Some("/body/action/idempotency_key"),
        ),
        row(
            "a callback that nobody serves",
            &with("/body/action/callback", json!({"profile": "aip.native.http.v1", "target": "https://example.com/"})),
            Both(400, "aip.action.context_unsupported"),
            Some("/body/action/callback"),
        ),
        row("expired sent_at", &sent(-301_000), Both(401, "aip.replay.window"), Some("/sent_at")),
        row("future sent_at", &sent(35_000), Both(401, "aip.replay.window"), Some("/sent_at")),
        row(
            "another sender",
            &with("/from", json!({"id": "service:other-client", "kind": "service"})),
            Both(401, "aip.auth.actor_mismatch"),
            None,
        ),
        row("another tenant", &claims("other"), Both(403, "aip.auth.tenant_mismatch"), None),
        row(
            "a wait past its bound",
            &envelope(json!({"action_status_request": {"action_id": "act_1", "wait_ms": 30_001}})),
            Http(400, "aip.query.invalid"),
            None,
        ),
        row(
            "an action that never was",
            &envelope(json!({"action_status_request": {"action_id": "act_never"}})),
            Http(404, "aip.action.not_found"),
            None,
        ),
        row(
            "a chain that never was",
            &envelope(json!({"receipt_query_request": {"chain_id": "action:act_never"}})),
            Http(404, "aip.receipt.not_found"),
            None,
        ),
        row(
            "a wrong cursor",
            &envelope(json!({"action_events_request": {"action_id": "act_never", "cursor": "e1-0-0-0"}})),
            Http(404, "aip.action.not_found"),
            None,
        ),
    ]
}

async fn ask_http(fleet: &Fleet, text: &str) -> Answer {
    let request = fleet.http().within(Duration::from_secs(20)).request(reqwest::Method::POST, "/aip/v1/messages");
    read(request.header("content-type", "application/aip+json").body(text.to_owned())).await.unwrap()
}

async fn ask_nats(user: &TenantUser, text: &str) -> Value {
    let subject = user.subject(aip_types::MessageType::Action);
    body_of(&user.ask_on(&subject, text.to_owned()).await.unwrap())
}

fn pointer_of(body: &Value) -> Option<&str> {
    body.pointer("/error/error/details/pointer").and_then(Value::as_str)
}

/// Every message that the fleet keeps, audit lines and the liveness of connectors apart.
async fn stored(fleet: &Fleet) -> u64 {
    let page = fleet.monitor("/jsz?acc=AIP&streams=1").await;
    let streams = page["account_details"][0]["stream_detail"].as_array().unwrap().clone();
    let counts =
        streams.iter().filter(|stream| !["AIP_AUDIT", "KV_AIP_LIVENESS"].contains(&stream["name"].as_str().unwrap()));
    counts.map(|stream| stream["state"]["last_seq"].as_u64().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_bad_request_has_its_one_answer_and_leaves_nothing() {
    let fleet = Fleet::start(Plan::default()).await;
    let user = fleet.nats_user().await;
    let before = stored(&fleet).await;
    for Row { name, text, expect, pointer } in form().into_iter().chain(request()) {
        let (Expect::Http(status, code) | Expect::Both(status, code)) = expect;
        let answer = ask_http(&fleet, &text).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{name} over HTTP: {}", answer.text);
        assert!(pointer.is_none() || pointer_of(&answer.body()) == pointer, "{name} over HTTP: {}", answer.text);
        if let Expect::Both(_, code) = expect {
            let body = ask_nats(&user, &text).await;
            assert_eq!(code_of(&body), code, "{name} over NATS: {body}");
            assert!(pointer.is_none() || pointer_of(&body) == pointer, "{name} over NATS: {body}");
        }
    }
    assert_eq!(stored(&fleet).await, before, "a refused request was stored");
    let padded = good().to_string();
    let padded = format!("{padded}{}", " ".repeat(limits::ENVELOPE_BYTES_MAX - padded.len()));
    assert_eq!(ask_http(&fleet, &padded).await.status, 200, "1 MiB is not too large");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_is_what_was_proved_and_nothing_else() {
    let fleet = Fleet::start(Plan::default()).await;
    let post = |client: crate::caller::Http, document: Value| async move {
        client.post("/aip/v1/messages", &document).await.unwrap()
    };
    let refused = |answer: &Answer| (answer.status, answer.code());

    let answer = post(fleet.stranger(), good()).await;
    assert_eq!(refused(&answer), (401, "aip.auth.required".to_owned()));
    let answer = post(fleet.stranger().with_token("guessed"), good()).await;
    assert_eq!(refused(&answer), (401, "aip.auth.token_invalid".to_owned()));
    let selected = envelope(json!({"action_status_request": {"action_id": "act_1", "tenant_id": "demo"}}));
    let answer = post(fleet.http_other(), selected).await;
    assert_eq!(refused(&answer), (403, "aip.auth.tenant_mismatch".to_owned()));

    // An HTTP client's context header is not an edge's: the token says who it is.
    let forged = fleet.http().request(reqwest::Method::POST, "/aip/v1/messages");
    let forged = forged.header("AIP-Context", r#"{"principal":"service:other-client","method":"token"}"#);
    let answer = read(forged.header("content-type", "application/json").body(good().to_string())).await.unwrap();
    let document: Value = serde_json::from_str(&answer.text).unwrap();
    assert_eq!((answer.status, document["to"]["id"].as_str()), (200, Some("service:demo-client")));

    let user = fleet.nats_user().await;
    for (name, value, expected) in [
        ("AIP-Context", r#"{"principal":"service:other-client","method":"token"}"#, "aip.auth.context_refused"),
        ("aip-context", "{}", "aip.auth.context_refused"),
        ("Nats-Request-Info", r#"{"acc":"TENANT_other","user":"UFORGED"}"#, ""),
    ] {
        let mut headers = async_nats::HeaderMap::new();
        headers.insert(name, value);
        let subject = user.subject(aip_types::MessageType::Action);
        let answer = user.client().request_with_headers(subject, headers, good().to_string().into()).await.unwrap();
        let text = String::from_utf8_lossy(&answer.payload).into_owned();
        assert_eq!(code_of(&body_of(&text)), expected, "{name}: {text}");
        let document: Value = serde_json::from_str(&text).unwrap();
        let to = document["envelope"]["to"]["id"].as_str();
        assert!(!expected.is_empty() || to == Some("service:demo-client"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_stands_for_its_own_principal_once() {
    let fleet = Fleet::start(Plan::default()).await;
    let key = |name: &str| SigningKey::from_file_text(&std::fs::read_to_string(fleet.variable(name)).unwrap()).unwrap();
    let signed = |mut document: Value, key: &SigningKey| {
        aip_crypto::sign_envelope(&mut document, key).unwrap();
        document
    };
    let stranger = fleet.stranger().within(Duration::from_secs(20));
    let ask = async |document: &Value| stranger.post("/aip/v1/messages", document).await.unwrap();

    let once = signed(good(), &key("AIP_SIGNING_KEY"));
    assert_eq!(ask(&once).await.status, 200);
    let again = ask(&once).await;
    assert_eq!((again.status, again.code()), (401, "aip.replay.duplicate".to_owned()));

    let mut moved = signed(good(), &key("AIP_SIGNING_KEY"));
    moved["body"]["action"]["input"] = json!({ "text": "other" });
    let answer = ask(&moved).await;
    assert_eq!((answer.status, answer.code()), (401, "aip.auth.signature_invalid".to_owned()));

    let unknown = SigningKey::from_seed(&[7; 32]).unwrap();
    let answer = ask(&signed(good(), &unknown)).await;
    assert_eq!((answer.status, answer.code()), (401, "aip.auth.did_unbound".to_owned()));

    // Its token says one principal, its signature another.
    let answer = fleet.http().post("/aip/v1/messages", &signed(good(), &key("AIP_SIGNING_KEY_OTHER"))).await.unwrap();
    assert_eq!((answer.status, answer.code()), (401, "aip.auth.did_unbound".to_owned()));
    let text = fleet.nats_user().await.ask(&signed(good(), &key("AIP_SIGNING_KEY_OTHER"))).await.unwrap();
    assert_eq!(code_of(&body_of(&text)), "aip.auth.did_unbound");

    // Signed over NATS by the same principal: fine, once.
    let once = signed(good(), &key("AIP_SIGNING_KEY"));
    let user = fleet.nats_user().await;
    assert_eq!(code_of(&body_of(&user.ask(&once).await.unwrap())), "");
    assert_eq!(code_of(&body_of(&user.ask(&once).await.unwrap())), "aip.replay.duplicate");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_http_binding_says_what_is_wrong_with_a_request() {
    use reqwest::Method;
    let fleet = Fleet::start(Plan::default()).await;
    let http = fleet.http();
    for (name, method, path, media_type, status, code) in [
        ("no such path", Method::GET, "/aip/v1/nope", "application/json", 404, "aip.http.not_found"),
        ("a wrong method", Method::PUT, "/aip/v1/manifest", "application/json", 405, "aip.http.method_not_allowed"),
        ("a wrong media type", Method::POST, "/aip/v1/messages", "text/plain", 415, "aip.media.unsupported"),
        (
            "an unknown query member",
            Method::GET,
            "/aip/v1/actions/act_1?nope=1",
            "application/json",
            400,
            "aip.query.invalid",
        ),
        (
            "a bad number",
            Method::GET,
            "/aip/v1/actions/act_1?wait_ms=soon",
            "application/json",
            400,
            "aip.query.invalid",
        ),
        ("limit 0", Method::GET, "/aip/v1/actions/act_1/events?limit=0", "application/json", 400, "aip.query.invalid"),
        (
            "limit 1001",
            Method::GET,
            "/aip/v1/actions/act_1/events?limit=1001",
            "application/json",
            400,
            "aip.query.invalid",
        ),
        ("not an action", Method::POST, "/aip/v1/actions", "application/json", 400, "aip.message.unsupported"),
    ] {
        let text = envelope(json!({ "manifest_request": {} })).to_string();
        let request = http.request(method, path).header("content-type", media_type).body(text);
        let answer = read(request).await.unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{name}: {}", answer.text);
    }
    let answer = fleet.stranger().get("/aip/v1/manifest").await.unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (401, "aip.auth.required"));
    for media_type in ["application/aip+json", "application/json", "application/vnd.x+json; charset=utf-8"] {
        let request = http.request(Method::POST, "/aip/v1/messages").header("content-type", media_type);
        let answer = read(request.body(good().to_string())).await.unwrap();
        assert_eq!(answer.status, 200, "{media_type}: {}", answer.text);
        assert!(
            answer.media_type.starts_with(media_type.split(';').next().unwrap()),
            "{media_type}: {}",
            answer.media_type
        );
    }
}

/// A user of one tenant, on the bare wire: what no client library sends.
async fn bare(fleet: &Fleet, seed: &Path) -> BufReader<TcpStream> {
    let seed = std::fs::read_to_string(seed).unwrap();
    let user = nkeys::KeyPair::from_seed(seed.trim()).unwrap();
    let address = fleet.variable("NATS_URL").trim_start_matches("nats://").to_owned();
    let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    let info: Value = serde_json::from_str(line.trim_start_matches("INFO ")).unwrap();
    let signature = URL_SAFE_NO_PAD.encode(user.sign(info["nonce"].as_str().unwrap().as_bytes()).unwrap());
    let options = json!({ "nkey": user.public_key(), "sig": signature, "headers": true, "verbose": false });
    stream.write_all(format!("CONNECT {options}\r\nPING\r\n").as_bytes()).await.unwrap();
    while !line.starts_with("PONG") {
        line.clear();
        assert_ne!(stream.read_line(&mut line).await.unwrap(), 0, "the server closed: {line}");
        assert!(!line.starts_with("-ERR"), "{line}");
    }
    stream
}

/// The client library drops a connection over a malformed header line; it must not be the one that the fleet lives on.
#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_header_does_not_reach_other_callers() {
    let mut fleet = Fleet::start(Plan::default()).await;
    let mut hostile = bare(&fleet, Path::new(fleet.variable("AIP_NATS_CREDS_OTHER"))).await;
    let user = fleet.nats_user_other().await;
    let http = fleet.http();
    for round in 0..20 {
        for message_type in [aip_types::MessageType::Action, aip_types::MessageType::ActionStatusRequest] {
            let block = "NATS/1.0\r\nno colon\r\n\r\n";
            let subject = user.subject(message_type);
            let frame = format!("HPUB {subject} _INBOX.x {0} {1}\r\n{block}{{}}\r\n", block.len(), block.len() + 2);
            hostile.write_all(frame.as_bytes()).await.unwrap();
        }
        hostile.flush().await.unwrap();
        let note = action("cap:demo:note:append", Some(&format!("k{round}")), json!({ "text": "x" }));
        let answer = http.post("/aip/v1/actions", &envelope(json!({ "action": note }))).await.unwrap();
        assert_eq!(answer.status, 200, "round {round}: {}", answer.text);
    }
    for name in ["admission", "scheduler"] {
        assert!(fleet.process(name).logged().contains("-front"), "{name} has a connection for strangers");
    }
}

/// What the server says to one line of the client's.
async fn said(stream: &mut BufReader<TcpStream>, line: &str) -> String {
    stream.write_all(format!("{line}\r\nPING\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    loop {
        let mut line = String::new();
        assert_ne!(stream.read_line(&mut line).await.unwrap(), 0, "the server closed: {answer}");
        if line.starts_with("PONG") {
            return answer;
        }
        answer.push_str(&line);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_refuses_what_a_user_may_not_touch() {
    let fleet = Fleet::start(Plan { rogue: true, ..Plan::default() }).await;
    let prefix = fleet.variable("AIP_NATS_SUBJECT").to_owned();
    let tenant = Path::new(fleet.variable("AIP_NATS_CREDS")).to_path_buf();
    let connector = fleet.dir().join("keys").join("connector-demo.nk");
    for (who, seed, line) in [
        ("a tenant, its own correlation stream", &tenant, format!("PUB {prefix}.stream.corr_mine 0\r\n")),
        ("a tenant, another's correlation stream", &tenant, "PUB aips.other.corr_theirs 0\r\n".to_owned()),
        ("a tenant, the journal", &tenant, "PUB aipj.00.action.demo.act_1.queued 0\r\n".to_owned()),
        ("a tenant, the JetStream API", &tenant, "PUB $JS.API.INFO 0\r\n".to_owned()),
        ("a tenant, another tenant's subject", &tenant, "PUB aipn.other.aip_core_v1_action 0\r\n".to_owned()),
        ("a tenant, live copies", &tenant, "SUB aipl.> 1".to_owned()),
        ("a tenant, another's work", &tenant, "SUB aipw.> 1".to_owned()),
        ("a connector, another's work", &connector, "SUB aipw.rogue.> 1".to_owned()),
        ("a connector, another's control", &connector, "SUB aipx.rogue.> 1".to_owned()),
        ("a connector, another's inbox", &connector, "SUB _INBOX_admission.> 1".to_owned()),
        ("a connector, every inbox", &connector, "SUB _INBOX.> 1".to_owned()),
        ("a connector, another's reports", &connector, "PUB aipr.rogue.begin 0\r\n".to_owned()),
        ("a connector, the journal", &connector, "PUB aipj.00.action.demo.act_1.completed 0\r\n".to_owned()),
    ] {
        let answer = said(&mut bare(&fleet, seed).await, &line).await;
        assert!(answer.to_lowercase().contains("permissions violation"), "{who}: {answer}");
    }
}

/// What a handler may do wrong costs its own action, at most: AIP 1.0 §11.7, §13.6.
#[tokio::test(flavor = "multi_thread")]
async fn a_connector_that_breaks_its_promises_settles_nothing_wrong() {
    const WITHIN: Duration = Duration::from_secs(90);
    let fleet = Fleet::start(Plan { rogue: true, ..Plan::default() }).await;
    let http = fleet.http();
    let call = async |vice: &str| http.run(&action(&format!("cap:rogue:{vice}"), None, json!({})), WITHIN).await;
    let End::Result(invalid) = call("invalid-output").await else { panic!("no result") };
    assert_eq!(
        (&invalid["status"], &invalid["error"]["code"]),
        (&json!("failed"), &json!("aip.capability.output_invalid"))
    );
    assert_eq!(call("twice").await.completed()["output"], json!({ "answer": "first" }));
    assert_eq!(call("stale").await.completed()["output"], json!({ "answer": "true" }));
    assert_eq!(call("silent").await, End::Unknown, "nobody knows what a silent handler did");
    let die = action("cap:rogue:die", None, json!({}));
    let path = format!("/aip/v1/actions/{}", die["id"].as_str().unwrap());
    // Its handler dies with its process, so a repeat of the call would hear that there is none.
    drop(http.post("/aip/v1/actions", &envelope(json!({ "action": die }))).await);
    let unknown = || async {
        let status = http.get_surely(&path, WITHIN).await.body();
        status["action_status"]["queued_state"] == "outcome_unknown" && status["action_status"]["state"] == "running"
    };
    aip_testkit::eventually(WITHIN, unknown).await;
}
