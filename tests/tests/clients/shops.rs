//! Paid shops for the x402 clients: the SDKs' own sellers, a facilitator on paper, and a proxy that asks a verdict peer.

use std::collections::HashMap;

use serde_json::Value;
use tollgate_tests::authority::Authority;
use tollgate_tests::payment::{self, PAYEE, Wallet};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::real_clients::{Server, answers, behind, program};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};

/// Whether the gate judges what a 402 asks for before the agent sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screening {
    On,
    Off,
}

/// How a seller is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

/// The sellers of [`Shops`].
const SELLERS: [Place; 4] = [
    ("sellers/flask_v2.py", Scheme::Https),
    ("sellers/express_v2.mjs", Scheme::Https),
    ("sellers/plain_v1.py", Scheme::Https),
    ("sellers/plain_v1.py", Scheme::Http),
];

/// A seller of [`SELLERS`].
pub(crate) type Place = (&'static str, Scheme);

/// An agent, and the sellers that it buys from at once.
pub(crate) type Deal = (&'static str, &'static [Place]);

pub(crate) const FLASK: Place = SELLERS[0];
pub(crate) const EXPRESS: Place = SELLERS[1];
pub(crate) const PLAIN: Place = SELLERS[2];
pub(crate) const CLEARTEXT: Place = SELLERS[3];

/// Deals that work without a proxy: every SDK that pays over HTTP.
pub(crate) const DEALS: [Deal; 6] = [
    ("agents/pay_requests.py", &[FLASK, PLAIN, CLEARTEXT]),
    ("agents/pay_httpx.py", &[EXPRESS]),
    ("agents/pay_fetch_v2.mjs", &[EXPRESS, FLASK]),
    ("agents/pay_axios.mjs", &[EXPRESS, FLASK]),
    ("agents/pay_mppx.mjs", &[EXPRESS]),
    ("agents/pay_fetch_v1.mjs", &[PLAIN, CLEARTEXT]),
];

pub(crate) struct Shops {
    facilitator: Server,
    sellers: Vec<Server>,
    authority: Authority,
    files: tempfile::TempDir,
}

/// What an agent was told, and what the facilitator knows of it.
pub(crate) struct Sale {
    /// One for each seller.
    pub(crate) answers: Vec<Value>,
    /// Settlements of this agent's payments.
    pub(crate) settled: usize,
    /// How often a seller showed one of its payments to the facilitator.
    pub(crate) shown: usize,
}

impl Shops {
    pub(crate) fn open() -> Self {
        let authority = Authority::default();
        let files = tempfile::TempDir::new().unwrap();
        let (leaf, key) = authority.leaf_pem(&[HOST, "127.0.0.1"]);
        let path = |name: &str| files.path().join(name).to_str().unwrap().to_owned();
        let (leaf_path, key_path) = (path("leaf.pem"), path("key.pem"));
        std::fs::write(&leaf_path, leaf).unwrap();
        std::fs::write(&key_path, key).unwrap();
        std::fs::write(path("ca.pem"), authority.pem()).unwrap();
        let facilitator = Server::start("sellers/facilitator.py", &[]);
        let port = facilitator.port.to_string();
        let start = |&(seller, scheme): &(&str, Scheme)| match scheme {
            Scheme::Https => Server::start(seller, &[&port, &leaf_path, &key_path]),
            Scheme::Http => Server::start(seller, &[&port]),
        };
        // Interpreters take their time to start; let them do so side by side.
        let sellers = std::thread::scope(|scope| {
            let starting: Vec<_> = SELLERS.iter().map(|seller| scope.spawn(move || start(seller))).collect();
            starting.into_iter().map(|seller| seller.join().unwrap()).collect()
        });
        Self {
            facilitator,
            sellers,
            authority,
            files,
        }
    }

    /// The proxy in front of the shops, asking a peer in this mood.
    pub(crate) async fn gate(&self, mood: Mood, screening: Screening) -> (Tollgate, VerdictPeer) {
        self.gate_with(mood, screening, serde_json::json!({})).await
    }

    /// The same with more settings.
    pub(crate) async fn gate_with(&self, mood: Mood, screening: Screening, more: Value) -> (Tollgate, VerdictPeer) {
        let peer = VerdictPeer::start(mood).await;
        let ports: Vec<u16> = self.sellers.iter().map(|seller| seller.port).collect();
        let setup = Setup::new(policy::open(&ports)).local_host().trust(&self.authority);
        let screened = screening == Screening::On;
        let asked = serde_json::json!({ "payments": { "require_challenge": true, "screen_challenges": screened } });
        let gate = setup
            .config(payment::settings())
            .config(asked)
            .config(more)
            .config(peer.settings())
            .start();
        (gate, peer)
    }

    /// Lets an agent with a new wallet buy `/paid` of each of its sellers, through the proxy if there is one.
    pub(crate) async fn deal(&self, deal: Deal, gate: Option<&Tollgate>) -> Sale {
        let wallet = Wallet::default();
        self.deal_for(deal, gate, &wallet, &wallet.address).await
    }

    /// Lets an agent buy with this key, where `payer` is who pays in the end.
    pub(crate) async fn deal_for(&self, (agent, places): Deal, gate: Option<&Tollgate>, wallet: &Wallet, payer: &str) -> Sale {
        let mut command = program(agent);
        command
            .env("EVM_KEY", wallet.key_hex())
            .env("PAYER", tollgate_tests::payment::checksummed(payer));
        let host = if let Some(gate) = gate {
            behind(&mut command, gate);
            HOST
        } else {
            for name in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"] {
                command.env(name, self.files.path().join("ca.pem"));
            }
            "127.0.0.1"
        };
        for place in places {
            let number = SELLERS.iter().position(|known| known == place).unwrap();
            let scheme = if place.1 == Scheme::Https { "https" } else { "http" };
            command.arg(format!("{scheme}://{host}:{}/paid", self.sellers[number].port));
        }
        let answers = answers(command).await;
        assert_eq!(answers.len(), places.len(), "{agent}: an answer from each seller");
        let of_this_agent = |document: Value| {
            let entries = document.as_array().unwrap().clone();
            entries
                .iter()
                .filter(|entry| entry["payer"].as_str().is_some_and(|shown| shown.eq_ignore_ascii_case(payer)))
                .count()
        };
        Sale {
            answers,
            settled: of_this_agent(self.facilitator.document("/ledger").await),
            shown: of_this_agent(self.facilitator.document("/calls").await),
        }
    }

    /// What the sellers complained about.
    pub(crate) fn complaints(&self) -> String {
        self.sellers.iter().map(Server::stderr).collect()
    }
}

/// A peer that says this about the shops' payee and HOLD about everybody else.
pub(crate) fn about_the_payee(says: Says) -> Mood {
    Mood::Honest(HashMap::from([(PAYEE.to_ascii_lowercase(), says)]))
}
