//! `check --effective`: the policy as the gate has it, and behind it, in the form of tollgate.yaml, what holds besides: the rails and the
//! operator's bounds on payments.

use tollgate_policy::Limits;
use tollgate_policy::effective::{Indent, Writer, effective, scalar};

use super::operator::Operator;
use crate::cli::CliError;
use crate::gate::payment::ChallengeRule;
use crate::gate::payment::rate::RateConfig;
use crate::gate::payment::terms::{DEFAULT_CLOCK_SKEW, DEFAULT_MAX_AMOUNT, DEFAULT_MAX_TIMEOUT, Terms};
use crate::gate::rail::list::{Kind, List};
use crate::serve::{PolicyPaths, StartError};
use crate::settings::units::format_duration;
use crate::signer::config::Agent;
use crate::x402::enabled::{ContractWallets, Enabled};

const TOP: Indent = Indent::NONE;

/// YAML documents: each policy, then the operator's part.
pub(super) fn document(policies: &[PolicyPaths], operator: &Operator) -> Result<String, CliError> {
    let mut text = String::new();
    for paths in policies {
        let sources = paths.read()?;
        text += &effective(&sources, Limits::default()).unwrap_or_default();
        text += "---\n";
    }
    text += &besides(operator)?;
    Ok(text)
}

fn besides(operator: &Operator) -> Result<String, CliError> {
    let mut writer = Writer::default();
    writer.note(TOP, "What holds besides the policy, in the form of tollgate.yaml");
    rails(&mut writer, operator)?;
    payments(&mut writer, operator)?;
    Ok(writer.finish())
}

/// Hosts as tollgate.yaml lists them; what has no form there is a comment.
fn rails(writer: &mut Writer, operator: &Operator) -> Result<(), CliError> {
    let list = List::built_in().map_err(StartError::Rails)?;
    let (one, two) = (TOP.deeper(), TOP.deeper().deeper());
    writer.line(TOP, "rails:", "always shut; a policy can't open one");
    writer.line(one, "hosts:", "");
    for entry in &list.hosts {
        let comment = format!("built in: {} ({})", what(entry.kind), entry.source);
        writer.line(two, format!("- {}", scalar(&entry.host)), comment);
    }
    let own = operator.origin();
    for host in &operator.config.rails.hosts {
        writer.line(two, format!("- {}", scalar(host)), &own);
    }
    let networks: Vec<String> = operator.config.rails.addresses.iter().map(|network| scalar(network)).collect();
    let comment = if networks.is_empty() { "default" } else { &own };
    writer.line(one, format!("addresses: [{}]", networks.join(", ")), comment);
    for label in &list.labels {
        let text = format!("built in: every name with the label `{}` ({})", label.label, label.source);
        writer.note(one, &text);
    }
    for path in &list.paths {
        let host = path.host.as_deref().unwrap_or("any host");
        let text = format!(
            "built in: {} {} on {host}: {} ({})",
            path.method,
            path.path,
            what(path.kind),
            path.source
        );
        writer.note(one, &text);
    }
    for method in &list.methods {
        writer.note(one, &format!("built in: JSON-RPC method {} ({})", method.name, method.source));
    }
    for scheme in &list.schemes {
        writer.note(one, &format!("built in: Authorization: {} ({})", scheme.scheme, scheme.source));
    }
    for header in &list.headers {
        writer.note(one, &format!("built in: header {} ({})", header.name, header.source));
    }
    Ok(())
}

fn what(kind: Kind) -> &'static str {
    match kind {
        Kind::Facilitator => "a facilitator",
        Kind::Broadcast => "takes signed transactions",
        Kind::Transfer => "moves money by its own API",
        Kind::Signer => "signs with a key it keeps",
    }
}

/// The bounds that every stanza narrows, as the payment rule has compiled them.
fn payments(writer: &mut Writer, operator: &Operator) -> Result<(), CliError> {
    let config = &operator.config.payments;
    let terms = Terms::operator(config).map_err(|mut errors| match errors.pop() {
        Some(error) => CliError::Start(StartError::Payments(error)),
        None => CliError::Usage("payments: unusable".to_owned()),
    })?;
    let one = TOP.deeper();
    let own = operator.origin();
    let origin = |given: bool, default: &str| if given { own.clone() } else { format!("default{default}") };
    writer.line(TOP, "payments:", "the bounds that a stanza narrows");
    let mut networks: Vec<String> = terms.assets().map(|allowed| allowed.asset.network.to_string()).collect();
    networks.dedup();
    let assets: Vec<String> = terms
        .assets()
        .map(|allowed| scalar(&format!("{}/{}", allowed.asset.network, allowed.asset.address)))
        .collect();
    let quoted = |texts: &[String]| texts.iter().map(|text| scalar(text)).collect::<Vec<_>>().join(", ");
    writer.line(
        one,
        format!("networks: [{}]", quoted(&networks)),
        origin(config.networks.is_some(), ""),
    );
    let comment = origin(config.assets.is_some(), ": the known assets of these networks");
    writer.line(one, format!("assets: [{}]", assets.join(", ")), comment);
    let amount = config.max_amount.as_deref().unwrap_or(DEFAULT_MAX_AMOUNT);
    writer.line(
        one,
        format!("max_amount: {}", scalar(amount)),
        origin(config.max_amount.is_some(), ""),
    );
    for (key, list, default) in [
        ("payees", &config.payees, ": any that the verdict service says GO to"),
        ("payers", &config.payers, ": any"),
    ] {
        writer.line(one, format!("{key}: [{}]", quoted(list)), origin(!list.is_empty(), default));
    }
    for pin in &config.pins {
        let text = format!("pin: {} {} pays {} exactly {}", pin.method, pin.url, pin.pay_to, pin.amount);
        writer.note(one, &format!("{text} ({own})"));
    }
    let pinned_only = config.pinned_only.unwrap_or_default();
    writer.line(one, format!("pinned_only: {pinned_only}"), origin(config.pinned_only.is_some(), ""));
    let Enabled {
        schemes,
        extensions,
        contract_wallets,
        placeholder: _,
    } = terms.enabled();
    let schemes: Vec<&str> = schemes.iter().map(|scheme| scheme.as_str()).collect();
    writer.line(
        one,
        format!("schemes: [{}]", schemes.join(", ")),
        origin(config.schemes.is_some(), ""),
    );
    let extensions: Vec<&str> = extensions.iter().map(|extension| extension.as_str()).collect();
    writer.line(
        one,
        format!("allow_extensions: [{}]", extensions.join(", ")),
        origin(config.allow_extensions.is_some(), ""),
    );
    for (key, holds, given) in [
        (
            "allow_smart_wallets",
            *contract_wallets == ContractWallets::Allowed,
            config.allow_smart_wallets,
        ),
        (
            "require_challenge",
            terms.challenge() == ChallengeRule::Required,
            config.require_challenge,
        ),
        ("allow_http_resource", terms.allows_http_resource(), config.allow_http_resource),
    ] {
        writer.line(one, format!("{key}: {holds}"), origin(given.is_some(), ""));
    }
    match config.screen_challenges {
        Some(screen) => writer.line(one, format!("screen_challenges: {screen}"), &own),
        None => writer.note(one, "screen_challenges: not given, so true where `verdict:` names somebody to ask"),
    }
    if let Some(rule) = terms.signer() {
        let agent = match rule.agent {
            Agent::Placeholder => "placeholder",
            Agent::ThrowawayKey => "throwaway-key",
        };
        writer.note(one, &format!("signed here after GO: by {}, agent: {agent} ({own})", rule.wallet));
    }
    times_and_memory(writer, operator);
    Ok(())
}

/// How long a payment is good for, how many may leave, and where they are remembered.
fn times_and_memory(writer: &mut Writer, operator: &Operator) {
    let (config, one, own) = (&operator.config.payments, TOP.deeper(), operator.origin());
    let origin = |given: bool| if given { own.clone() } else { "default".to_owned() };
    for (key, given, default) in [
        ("max_timeout", config.max_timeout, DEFAULT_MAX_TIMEOUT),
        ("clock_skew", config.clock_skew, DEFAULT_CLOCK_SKEW),
    ] {
        let duration = format_duration(given.unwrap_or(default));
        writer.line(one, format!("{key}: {duration}"), origin(given.is_some()));
    }
    let RateConfig { per_payee, window } = config.rate;
    writer.line(
        one,
        format!("rate: {{ per_payee: {per_payee}, window: {} }}", format_duration(window)),
        origin(config.rate != RateConfig::default()),
    );
    match &config.store {
        Some(store) => writer.line(one, format!("store: {}", scalar(&store.display().to_string())), &own),
        None => writer.note(one, "store: not given, so a restart forgets used payments"),
    }
}
