//! What a Blackwall service is told of an outcome: `POST {url}/v1/report-outcome`.

use bytes::Bytes;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::verdict::report::{PaymentOutcome, Report};

#[derive(Serialize)]
struct Told<'a> {
    receipt_id: &'a str,
    report_token: &'a str,
    outcome: PaymentOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_amount: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settlement_tx: Option<String>,
}

/// The request body; wiped when the request is over, because it holds the token.
pub(super) fn body(report: &Report) -> Bytes {
    let told = Told {
        receipt_id: report.receipt_id.as_str(),
        report_token: report.token.expose(),
        outcome: report.outcome,
        observed_amount: report.amount.as_deref(),
        settlement_tx: report.transaction.map(|transaction| transaction.to_string()),
    };
    // Strings only: serialising them cannot fail. An empty body would be refused by the service.
    Bytes::from_owner(Zeroizing::new(serde_json::to_vec(&told).unwrap_or_default()))
}

#[cfg(test)]
mod tests;
