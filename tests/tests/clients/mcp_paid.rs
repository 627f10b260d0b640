//! The x402 SDK's MCP client buys from its MCP server, over each of MCP's HTTP transports: GO delivers and settles once, anything else is
//! neither signed for nor seen by the seller.

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_tests::authority::Authority;
use tollgate_tests::payment::{self, Wallet};
use tollgate_tests::policy::{self, Entry, HOST};
use tollgate_tests::real_clients::{Server, answers, behind, program};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};

use super::shops::{Screening, about_the_payee};

/// What the server answers by, and where it is asked.
const TRANSPORTS: [(&str, &str); 3] = [("json", "/mcp"), ("events", "/mcp"), ("sse", "/sse")];

struct Tools {
    facilitator: Server,
    servers: Vec<Server>,
    authority: Authority,
    files: TempDir,
}

/// What the agent was told, and what the facilitator knows of it.
struct Sale {
    /// The first call's.
    answer: Value,
    /// The further calls'.
    more: Vec<Value>,
    settled: usize,
    /// How often the seller showed one of the agent's payments to the facilitator.
    shown: usize,
}

impl Tools {
    fn open() -> Self {
        let authority = Authority::default();
        let files = TempDir::new().unwrap();
        let (leaf, key) = authority.leaf_pem(&[HOST, "127.0.0.1"]);
        let path = |name: &str| files.path().join(name).to_str().unwrap().to_owned();
        let (leaf_path, key_path) = (path("leaf.pem"), path("key.pem"));
        std::fs::write(&leaf_path, leaf).unwrap();
        std::fs::write(&key_path, key).unwrap();
        std::fs::write(path("ca.pem"), authority.pem()).unwrap();
        let facilitator = Server::start("sellers/facilitator.py", &[]);
        let port = facilitator.port.to_string();
        let start = |transport| Server::start("sellers/mcp_paid.py", &[&port, &leaf_path, &key_path, transport]);
        let servers = std::thread::scope(|scope| {
            let starting: Vec<_> = TRANSPORTS
                .iter()
                .map(|(transport, _)| scope.spawn(move || start(transport)))
                .collect();
            starting.into_iter().map(|server| server.join().unwrap()).collect()
        });
        Self {
            facilitator,
            servers,
            authority,
            files,
        }
    }

    async fn gate(&self, mood: Mood, screening: Screening) -> (Tollgate, VerdictPeer) {
        let peer = VerdictPeer::start(mood).await;
        (self.setup(&peer, screening).start(), peer)
    }

    fn setup(&self, peer: &VerdictPeer, screening: Screening) -> Setup {
        let ports: Vec<u16> = self.servers.iter().map(|server| server.port).collect();
        // The first by the operations in its bodies, the others by their heads: what a payment is does not depend on that.
        let mcp = &[
            "path: /mcp",
            "protocol: mcp",
            "enforcement: enforce",
            "mcp: { allow_all_known_mcp_methods: true }",
        ];
        let rest = &["protocol: rest", "enforcement: enforce", "access: full"];
        let entry = |name, ports, lines| Entry {
            name,
            host: HOST,
            ports,
            lines,
        };
        let policy = policy::document(&[entry("calls", &ports[..1], mcp), entry("tools", &ports[1..], rest)]);
        let screened = json!({ "payments": { "require_challenge": true, "screen_challenges": screening == Screening::On } });
        let setup = Setup::new(policy).local_host().trust(&self.authority);
        setup.config(payment::settings()).config(screened).config(peer.settings())
    }

    /// Lets an agent with a new wallet buy once over the transport of this number.
    async fn buy(&self, number: usize, gate: Option<&Tollgate>) -> Sale {
        self.buy_at_once(number, gate, 1).await
    }

    /// The same so many times at once.
    async fn buy_at_once(&self, number: usize, gate: Option<&Tollgate>, times: u32) -> Sale {
        let wallet = Wallet::default();
        let mut command = program("agents/pay_mcp.py");
        command.env("EVM_KEY", wallet.key_hex());
        let host = if let Some(gate) = gate {
            behind(&mut command, gate);
            HOST
        } else {
            command.env("SSL_CERT_FILE", self.files.path().join("ca.pem"));
            "127.0.0.1"
        };
        command.arg(format!("https://{host}:{}{}", self.servers[number].port, TRANSPORTS[number].1));
        command.arg(times.to_string());
        let mut more = answers(command).await;
        let of_this_agent = |document: Value| {
            let entries = document.as_array().unwrap().clone();
            let payer = |entry: &Value| {
                entry["payer"]
                    .as_str()
                    .is_some_and(|payer| payer.eq_ignore_ascii_case(&wallet.address))
            };
            entries.iter().filter(|entry| payer(entry)).count()
        };
        Sale {
            answer: more.remove(0),
            more,
            settled: of_this_agent(self.facilitator.document("/ledger").await),
            shown: of_this_agent(self.facilitator.document("/calls").await),
        }
    }

    fn complaints(&self) -> String {
        self.servers.iter().map(Server::stderr).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_mcp_client_pays_for_a_tool_on_go_and_signs_nothing_otherwise() {
    let tools = Tools::open();
    let bought = json!({ "text": "sunny in Oslo", "error": false, "paid": true, "settled": true, "signed": 1 });
    for (number, transport) in TRANSPORTS.iter().enumerate() {
        // Shows that a refusal below is the proxy's doing, and a delivery not the proxy's absence.
        let sale = tools.buy(number, None).await;
        assert_eq!((&sale.answer, sale.settled), (&bought, 1), "{transport:?}\n{}", tools.complaints());
    }
    let (gate, peer) = tools.gate(about_the_payee(Says::Go), Screening::On).await;
    for (number, transport) in TRANSPORTS.iter().enumerate() {
        let sale = tools.buy(number, Some(&gate)).await;
        assert_eq!(
            (&sale.answer, sale.settled),
            (&bought, 1),
            "{transport:?}\n{}\n{}",
            tools.complaints(),
            gate.stderr()
        );
        let questions = peer.questions().split_off(number * 2);
        assert_eq!(questions.len(), 2, "{transport:?}: asked about the offer, and about the payment");
        assert!(questions.iter().all(|question| question.claim["resource"] == "mcp://tool/weather"));
    }
    for (mood, reason) in [
        (about_the_payee(Says::Hold), "verdict_hold"),
        (about_the_payee(Says::Stop), "verdict_stop"),
        (Mood::Dead, "verdict_unavailable"),
    ] {
        let (gate, _peer) = tools.gate(mood, Screening::On).await;
        for (number, transport) in TRANSPORTS.iter().enumerate() {
            let sale = tools.buy(number, Some(&gate)).await;
            assert!(sale.answer["exception"].is_string(), "{transport:?} {reason}: {}", sale.answer);
            assert_eq!(
                sale.answer["signed"], 0,
                "{transport:?} {reason}: something was signed: {}",
                sale.answer
            );
            assert_eq!((sale.shown, sale.settled), (0, 0), "{transport:?} {reason}");
            if transport.0 != "json" {
                assert!(
                    sale.answer["message"].as_str().unwrap().contains(reason),
                    "{transport:?}: {}",
                    sale.answer
                );
            }
        }
        gate.audited(json!({ "decision": "deny", "reason_code": reason, "path": "/sse", "method": "GET" }))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_was_signed_unscreened_never_reaches_the_mcp_server() {
    let tools = Tools::open();
    let (gate, _peer) = tools.gate(about_the_payee(Says::Hold), Screening::Off).await;
    for (number, transport) in TRANSPORTS.iter().enumerate() {
        let sale = tools.buy(number, Some(&gate)).await;
        assert!(sale.answer["exception"].is_string(), "{transport:?}: {}", sale.answer);
        assert_eq!(
            (&sale.answer["signed"], sale.shown, sale.settled),
            (&json!(1), 0, 0),
            "{transport:?}"
        );
    }
    let refused = gate.metric("tollgate_payments_total", &[("reason_code", "verdict_hold")]).await;
    assert!((refused - 3.0).abs() < f64::EPSILON, "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_calls_at_once_and_one_after_a_restart_are_each_paid_once() {
    let tools = Tools::open();
    let peer = VerdictPeer::start(about_the_payee(Says::Go)).await;
    let store = json!({ "payments": { "store": tools.files.path().join("payments.redb") } });
    let start = || tools.setup(&peer, Screening::On).config(store.clone()).start();
    let sold = |signed| json!({ "text": "sunny in Oslo", "error": false, "paid": true, "settled": true, "signed": signed });
    let mut gate = start();
    for (number, transport) in TRANSPORTS.iter().enumerate() {
        let sale = tools.buy_at_once(number, Some(&gate), 2).await;
        let said = format!("{transport:?}\n{}\n{}", tools.complaints(), gate.stderr());
        assert_eq!((&sale.answer, sale.settled), (&sold(2), 2), "{said}");
        assert_eq!(sale.more, [sold(2)], "{said}");
    }
    gate.signal(rustix::process::Signal::TERM);
    gate.ended().await;
    let gate = start();
    for (number, transport) in TRANSPORTS.iter().enumerate() {
        let sale = tools.buy(number, Some(&gate)).await;
        assert_eq!(
            (&sale.answer, sale.settled),
            (&sold(1), 1),
            "{transport:?}\n{}\n{}",
            tools.complaints(),
            gate.stderr()
        );
    }
    assert_eq!(peer.questions().len(), TRANSPORTS.len() * 6, "about each offer and each payment");
}
