//! Callers of a fleet, as strangers write them: JSON by hand, over HTTP and NATS, with short patience and the same key again.

use std::{path::Path, time::Duration};

use aip_types::{
    MessageType,
    sse::{Decoder, ServerEvent},
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

/// How long a caller waits for one answer before it asks again.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);
/// Bytes of one server-sent event.
const EVENT_BYTES_MAX: usize = 2 << 20;
const AGAIN: Duration = Duration::from_millis(50);

/// An HTTP client: one base URL, one token or none.
#[derive(Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    url: String,
    token: Option<String>,
    within: Duration,
}

/// What came back.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) media_type: String,
    pub(crate) text: String,
}

impl Answer {
    /// The tagged body: of an envelope, in a wrapper or not, or the document itself.
    pub(crate) fn body(&self) -> Value {
        body_of(&self.text)
    }

    /// Its error's code; empty where it is none.
    pub(crate) fn code(&self) -> String {
        code_of(&self.body())
    }
}

/// The tagged body of an answer.
pub(crate) fn body_of(text: &str) -> Value {
    let mut document: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    for layer in ["envelope", "body"] {
        document = document.get_mut(layer).map(Value::take).unwrap_or(document);
    }
    document
}

/// The code of a tagged body that is an error; empty where it is none.
pub(crate) fn code_of(body: &Value) -> String {
    body.pointer("/error/error/code").and_then(Value::as_str).unwrap_or_default().to_owned()
}

impl Http {
    pub(crate) fn new(url: &str) -> Self {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { client, url: url.to_owned(), token: None, within: PATIENCE }
    }

    /// The same client with another token.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    /// The same client with another patience.
    pub(crate) fn within(&self, within: Duration) -> Self {
        Self { within, ..self.clone() }
    }

    /// A request to fill: for what [`Self::get`] and [`Self::post`] do not do.
    pub(crate) fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.url)).timeout(self.within);
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub(crate) fn get(&self, path: &str) -> impl Future<Output = reqwest::Result<Answer>> + use<> {
        read(self.request(reqwest::Method::GET, path))
    }

    /// Posts a document as `application/json`.
    pub(crate) fn post(&self, path: &str, document: &Value) -> impl Future<Output = reqwest::Result<Answer>> + use<> {
        let request = self.request(reqwest::Method::POST, path).header("content-type", "application/json");
        read(request.body(document.to_string()))
    }

    /// Reads until the fleet answers at all: it may be dead, or say that it is busy.
    pub(crate) async fn get_surely(&self, path: &str, within: Duration) -> Answer {
        let asked = async {
            loop {
                match self.get(path).await {
                    Ok(answer) if answer.status < 500 && answer.status != 429 => return answer,
                    Ok(_) | Err(_) => sleep(AGAIN).await,
                }
            }
        };
        timeout(within, asked).await.unwrap_or_else(|_| panic!("no answer to GET {path} within {within:?}"))
    }

    /// Calls an action until it has an end, with the same id and key each time.
    pub(crate) async fn run(&self, action: &Value, within: Duration) -> End {
        let until = Instant::now() + within;
        let mut last = String::new();
        while Instant::now() < until {
            let answered = self.post("/aip/v1/actions", &envelope(json!({ "action": action }))).await;
            let pause = match answered {
                Ok(answer) => match End::of(&answer.body()) {
                    Some(end) => return end,
                    None => {
                        last = answer.text;
                        AGAIN
                    }
                },
                Err(fault) => {
                    last = format!("{fault:?}");
                    AGAIN
                }
            };
            sleep(pause).await;
        }
        panic!("{} has no end within {within:?}; last: {last}", action["id"]);
    }
}

/// One server-sent event.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) id: String,
    pub(crate) event: String,
    pub(crate) envelope: Value,
}

impl Told {
    /// The number of its chunk.
    pub(crate) fn chunk(&self) -> Option<u64> {
        self.envelope.pointer("/body/stream_chunk/sequence").and_then(Value::as_u64)
    }

    /// The kind of its event.
    pub(crate) fn kind(&self) -> Option<&str> {
        self.envelope.pointer("/body/action_events/events/0/kind").and_then(Value::as_str)
    }
}

impl Http {
    /// Follows a stream until it ends, breaks, or `on` has enough. An answer that is no stream is an error.
    pub(crate) async fn follow(
        &self,
        path: &str,
        last_id: Option<&str>,
        mut on: impl FnMut(Told) -> bool,
    ) -> Result<(), String> {
        let mut request = self.request(reqwest::Method::GET, path).header("accept", "text/event-stream");
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        let mut response = request.send().await.map_err(|fault| fault.to_string())?;
        let media = response.headers().get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
        if response.status() != 200 || media != "text/event-stream" {
            return Err(response.status().as_u16().to_string());
        }
        let mut decoder = Decoder::new(EVENT_BYTES_MAX);
        while let Some(piece) = response.chunk().await.map_err(|fault| fault.to_string())? {
            let mut events = Vec::new();
            decoder.feed(&piece, &mut events).map_err(|fault| fault.to_string())?;
            for ServerEvent { id, event, data } in events {
                let told =
                    Told { id, event, envelope: serde_json::from_str(&data).map_err(|fault| fault.to_string())? };
                if !on(told) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Sends a request and reads the whole answer.
pub(crate) async fn read(request: reqwest::RequestBuilder) -> reqwest::Result<Answer> {
    let mut response = request.send().await?;
    let status = response.status().as_u16();
    let media_type = response.headers().get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = media_type.to_owned();
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(Answer { status, media_type, text: String::from_utf8_lossy(&bytes).into_owned() })
}

/// How a call ended for its caller.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum End {
    /// The action's result.
    Result(Value),
    /// Nobody knows whether it took effect.
    Unknown,
    /// A refusal that another try does not change.
    Refused(Value),
}

impl End {
    /// `None`: ask again (AIP 1.0 §19.2: temporary and transport errors, and acks of work that goes on).
    pub(crate) fn of(body: &Value) -> Option<Self> {
        if let Some(result) = body.get("action_result") {
            return Some(Self::Result(result.clone()));
        }
        let error = body.pointer("/error/error")?;
        match error.get("category").and_then(Value::as_str) {
            Some("temporary" | "transport") => None,
            _ if code_of(body) == "aip.action.outcome_unknown" => Some(Self::Unknown),
            _ => Some(Self::Refused(error.clone())),
        }
    }

    /// The result of a call that must have completed.
    #[track_caller]
    pub(crate) fn completed(self) -> Value {
        match self {
            Self::Result(result) if result["status"] == "completed" => result,
            other @ (Self::Result(_) | Self::Unknown | Self::Refused(_)) => panic!("not completed: {other:?}"),
        }
    }
}

/// A message of the type that its body names, sent now, with an id of its own.
pub(crate) fn envelope(body: Value) -> Value {
    let key = body.as_object().and_then(|body| body.keys().next()).expect("a tagged body");
    let message_type = MessageType::from_body_key(key).expect("a known body");
    json!({
        "aip_version": "1.0",
        "message_type": message_type.as_str(),
        "message_id": format!("msg_{}", aip_bus::nonce()),
        "sent_at": aip_types::Timestamp::from_millis(aip_service::now()),
        "body": body,
    })
}

/// A new action's id.
pub(crate) fn new_id() -> String {
    format!("act_{}", aip_bus::nonce())
}

/// An action with a new id.
pub(crate) fn action(capability: &str, key: Option<&str>, input: Value) -> Value {
    let mut action = json!({ "id": new_id(), "capability_id": capability, "input": input });
    if let Some(key) = key {
        action["idempotency_key"] = json!(key);
    }
    action
}

/// A user of a tenant's account, with a stock client.
#[derive(Clone)]
pub(crate) struct TenantUser {
    client: async_nats::Client,
    prefix: String,
}

impl TenantUser {
    /// Connects with the seed in a file. `prefix`: the canonical subjects without their last token.
    pub(crate) async fn connect(url: &str, seed: &Path, prefix: &str) -> Self {
        let seed = std::fs::read_to_string(seed).unwrap().trim().to_owned();
        let options = async_nats::ConnectOptions::with_nkey(seed).retry_on_initial_connect();
        let client = options.connect(url).await.unwrap();
        Self { client, prefix: prefix.to_owned() }
    }

    /// The connection, for what no caller should do.
    pub(crate) fn client(&self) -> &async_nats::Client {
        &self.client
    }

    /// The canonical subject of a message type.
    pub(crate) fn subject(&self, message_type: MessageType) -> String {
        format!("{}.{}", self.prefix, message_type.subject_token())
    }

    /// Asks on the subject of the message's type; the answer as it came.
    pub(crate) async fn ask(&self, envelope: &Value) -> Result<String, async_nats::RequestError> {
        self.ask_on(&self.subject_of(envelope), envelope.to_string()).await
    }

    /// The canonical subject of a message.
    pub(crate) fn subject_of(&self, envelope: &Value) -> String {
        let name = envelope["message_type"].as_str().unwrap();
        self.subject(MessageType::from_wire(name).expect("a known type"))
    }

    /// Asks on any subject with any text.
    pub(crate) async fn ask_on(&self, subject: &str, text: String) -> Result<String, async_nats::RequestError> {
        let answer = self.client.request(subject.to_owned(), text.into()).await?;
        Ok(String::from_utf8_lossy(&answer.payload).into_owned())
    }
}
