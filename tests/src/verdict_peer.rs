//! A verdict service that speaks the recorded shapes of Blackwall (`vectors/blackwall/`): HTTP/1.0, one request per connection.
//! It answers by payee or misbehaves on purpose, and records every question.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use crate::wire::H1;

/// How the peer answers.
#[derive(Debug, Clone)]
pub enum Mood {
    /// By payee (lower case); payees it does not know get the recorded HOLD of unknown ones.
    Honest(HashMap<String, Says>),
    /// The same answer to everything.
    Always(Says),
    /// Nothing listens.
    Dead,
    /// Takes the question and hangs up.
    HangsUp,
    /// Answers GO, but only after this long.
    Slow(Duration),
    /// These bytes, whatever was asked.
    Bytes(String),
}

/// A recorded answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// 200 GO.
    Go,
    /// 200 HOLD.
    Hold,
    /// 200 STOP, hard.
    Stop,
    /// 200 STOP, by judgment.
    SoftStop,
    /// 402 with a challenge.
    WantsMoney,
    /// 503.
    Unavailable,
    /// 400.
    BadRequest,
}

impl Says {
    fn recorded(self) -> &'static str {
        match self {
            Says::Go => include_str!("../vectors/blackwall/001-go-warm-fair.json"),
            Says::Hold => include_str!("../vectors/blackwall/005-hold-unknown-payee.json"),
            Says::Stop => include_str!("../vectors/blackwall/004-stop-sanctioned.json"),
            Says::SoftStop => include_str!("../vectors/blackwall/009-stop-gouged-8x.json"),
            Says::WantsMoney => include_str!("../vectors/blackwall/150-billing-402.json"),
            Says::Unavailable => include_str!("../vectors/blackwall/038-bad-context-history-junk-503.json"),
            Says::BadRequest => include_str!("../vectors/blackwall/019-bad-missing-amount.json"),
        }
    }

    /// The recorded answer's document.
    pub fn document(self) -> Value {
        serde_json::from_str::<Value>(self.recorded()).unwrap()["response"]["body"].clone()
    }

    /// The recorded answer as bytes.
    pub fn bytes(self) -> String {
        let vector: Value = serde_json::from_str(self.recorded()).unwrap();
        let response = &vector["response"];
        let body = response["body"].to_string();
        let mut text = format!("{}\r\n", response["status_line"].as_str().unwrap());
        for (name, value) in response["headers"].as_object().unwrap() {
            let value = if name == "Content-Length" {
                body.len().to_string()
            } else {
                value.as_str().unwrap().to_owned()
            };
            text += &format!("{name}: {value}\r\n");
        }
        format!("{text}\r\n{body}")
    }
}

/// A 200 with this document.
pub fn ok(document: &Value) -> String {
    let body = document.to_string();
    format!(
        "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The answer to a report.
const RECORDED: &str =
    "HTTP/1.0 202 Accepted\r\nContent-Type: application/json\r\nContent-Length: 21\r\nConnection: close\r\n\r\n{\"status\":\"recorded\"}";

/// One question as it came.
#[derive(Debug, Clone)]
pub struct Question {
    /// Request line and fields.
    pub head: String,
    /// The claim.
    pub claim: Value,
}

/// A listening peer; ends with this value.
pub struct VerdictPeer {
    /// Where it listens, or would.
    pub address: SocketAddr,
    heard: Arc<Heard>,
    mood: Arc<Mutex<Mood>>,
    task: Option<JoinHandle<()>>,
}

/// What came, by what it was for.
#[derive(Default)]
struct Heard {
    questions: Mutex<Vec<Question>>,
    reports: Mutex<Vec<Value>>,
    /// Reports are read and never answered.
    silent: AtomicBool,
}

impl VerdictPeer {
    /// Starts in this mood.
    pub async fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::<Heard>::default();
        let dead = matches!(mood, Mood::Dead);
        let mood = Arc::new(Mutex::new(mood));
        let task = (!dead).then(|| tokio::spawn(serve(listener, Arc::clone(&heard), Arc::clone(&mood))));
        Self {
            address,
            heard,
            mood,
            task,
        }
    }

    /// A peer that says this to everything.
    pub async fn says(says: Says) -> Self {
        Self::start(Mood::Always(says)).await
    }

    /// Changes its mood.
    pub fn turn(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// Reads reports from now on and never answers them.
    pub fn leave_reports_unanswered(&self) {
        self.heard.silent.store(true, Ordering::SeqCst);
    }

    /// The `verdict` section that asks this peer, with the patience of a busy machine.
    pub fn settings(&self) -> Value {
        self.settings_with("5s")
    }

    /// The same with another patience.
    pub fn settings_with(&self, timeout: &str) -> Value {
        json!({ "verdict": { "backend": "blackwall", "url": format!("http://{}", self.address), "timeout": timeout } })
    }

    /// What was asked so far.
    pub fn questions(&self) -> Vec<Question> {
        self.heard.questions.lock().unwrap().clone()
    }

    /// What it was told of outcomes so far.
    pub fn reports(&self) -> Vec<Value> {
        self.heard.reports.lock().unwrap().clone()
    }
}

impl Drop for VerdictPeer {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

async fn serve(listener: TcpListener, log: Arc<Heard>, mood: Arc<Mutex<Mood>>) {
    let mut running = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (log, mood) = (Arc::clone(&log), Arc::clone(&mood));
        running.spawn(async move {
            let mut peer = H1::new(Box::new(stream));
            let Ok(head) = peer.read_head().await else { return };
            let (body, _, _) = peer.read_body(crate::answer::Framing::Length, &head).await;
            let claim: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
            if head.first_line.starts_with("POST /v1/report-outcome ") {
                log.reports.lock().unwrap().push(claim);
                if log.silent.load(Ordering::SeqCst) {
                    while !peer.some_bytes().await.is_empty() {}
                } else {
                    let _ = peer.try_send(RECORDED).await;
                }
                return;
            }
            let lines: Vec<String> = head.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            log.questions.lock().unwrap().push(Question {
                head: format!("{}\n{}", head.first_line, lines.join("\n")),
                claim: claim.clone(),
            });
            let mood = mood.lock().unwrap().clone();
            let bytes = match mood {
                Mood::Dead | Mood::HangsUp => return,
                Mood::Bytes(bytes) => bytes,
                Mood::Always(says) => says.bytes(),
                Mood::Slow(span) => {
                    tokio::time::sleep(span).await;
                    Says::Go.bytes()
                }
                Mood::Honest(payees) => {
                    let payee = claim["counterparty"].as_str().unwrap_or_default().to_ascii_lowercase();
                    payees.get(&payee).copied().unwrap_or(Says::Hold).bytes()
                }
            };
            let _ = peer.try_send(bytes).await;
        });
        while running.try_join_next().is_some() {}
    }
}
