//! A plain HTTP/1.1 client: what is on the wire is what the test wrote.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

const WITHIN: Duration = Duration::from_secs(40);

/// One connection.
pub struct Client {
    stream: BufReader<TcpStream>,
}

/// One answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The code of an error envelope.
    pub fn code(&self) -> String {
        let envelope = self.json();
        assert_eq!(envelope["message_type"], "aip.core.v1.error", "a full envelope is wanted: {envelope}");
        envelope["body"]["error"]["error"]["code"].as_str().unwrap().to_owned()
    }
}

impl Client {
    pub async fn connect(address: SocketAddr) -> Self {
        Self { stream: BufReader::new(TcpStream::connect(address).await.unwrap()) }
    }

    /// Sends a request whose length is told, and reads its answer.
    pub async fn send(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let length = body.len().to_string();
        let mut all = headers.to_vec();
        if !body.is_empty() || method == "POST" {
            all.push(("content-length", &length));
        }
        self.raw(method, target, &all, body).await
    }

    /// Sends exactly these bytes after the head, and reads the answer.
    pub async fn raw(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut head = format!("{method} {target} HTTP/1.1\r\nhost: test\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.stream.write_all(head.as_bytes()).await.unwrap();
        self.stream.write_all(body).await.unwrap();
        timeout(WITHIN, self.answer()).await.unwrap()
    }

    async fn answer(&mut self) -> Answer {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.unwrap();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {line:?}")).parse().unwrap();
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).await.unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.unwrap();
        Answer { status, headers, body }
    }
}
