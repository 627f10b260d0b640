//! Several addresses of one host, tried side by side (RFC 8305, "happy eyeballs"): one that leads nowhere costs a quarter of a second, not the
//! whole time for connecting.
//!
//! In: the judged addresses, and how one is connected to. Out: the first connection. Attempts that lose are dropped before anything of a
//! request is sent on them.

use std::net::IpAddr;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;

/// How long an attempt has before the next one starts beside it (section 5: 250 ms is recommended).
const HEAD_START: Duration = Duration::from_millis(250);

/// Tries the candidates in their order, and gives back what the first one that works does; `None` where there is no candidate at all.
pub(super) async fn first<'c, C, T, E, F>(candidates: &'c [C], attempt: impl Fn(&'c C) -> F) -> Option<Result<T, E>>
where
    F: Future<Output = Result<T, E>>,
{
    let (only, mut waiting) = candidates.split_first()?;
    if waiting.is_empty() {
        return Some(attempt(only).await);
    }
    let mut running = FuturesUnordered::from_iter([attempt(only)]);
    loop {
        let lost = tokio::select! { biased;
            outcome = running.next() => match outcome {
                Some(Err(error)) => Some(error),
                done => return done,
            },
            () = tokio::time::sleep(HEAD_START), if !waiting.is_empty() => None,
        };
        match (waiting.split_first(), lost) {
            (Some((next, rest)), _) => {
                running.push(attempt(next));
                waiting = rest;
            }
            (None, Some(error)) if running.is_empty() => return Some(Err(error)),
            (None, _) => {}
        }
    }
}

/// The families taking turns, beginning with the first one's (section 4): a family without a route is left after one attempt.
pub(super) fn interleaved(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let begins_with_v6 = addresses.first().is_some_and(IpAddr::is_ipv6);
    let (first, second): (Vec<IpAddr>, Vec<IpAddr>) = addresses.into_iter().partition(|address| address.is_ipv6() == begins_with_v6);
    let mut second = second.into_iter();
    let mut all: Vec<IpAddr> = first
        .into_iter()
        .flat_map(|address| [Some(address), second.next()])
        .flatten()
        .collect();
    all.extend(second);
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::time::{Instant, sleep};

    use super::*;

    /// An attempt that ends after so many milliseconds, well or not.
    type Attempt = (u64, Result<&'static str, &'static str>);

    async fn raced(candidates: &[Attempt]) -> (Option<Result<&'static str, &'static str>>, u128) {
        let began = Instant::now();
        let outcome = first(candidates, |(time, outcome)| async move {
            sleep(Duration::from_millis(*time)).await;
            *outcome
        });
        (outcome.await, began.elapsed().as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_leads_nowhere_costs_a_head_start_and_no_more() {
        const NEVER: u64 = 60_000;
        for (candidates, expected, time) in [
            (vec![], None, 0),
            (vec![(5, Ok("a"))], Some(Ok("a")), 5),
            (vec![(5, Err("a"))], Some(Err("a")), 5),
            (vec![(5, Ok("a")), (1, Ok("b"))], Some(Ok("a")), 5),
            (vec![(5, Err("a")), (5, Ok("b"))], Some(Ok("b")), 10),
            (vec![(NEVER, Ok("a")), (5, Ok("b"))], Some(Ok("b")), 255),
            (vec![(NEVER, Ok("a")), (NEVER, Ok("b")), (5, Ok("c"))], Some(Ok("c")), 505),
            (vec![(300, Ok("a")), (100, Ok("b"))], Some(Ok("a")), 300),
            (vec![(NEVER, Ok("a")), (5, Err("b")), (5, Ok("c"))], Some(Ok("c")), 260),
            (vec![(600, Err("a")), (5, Err("b"))], Some(Err("a")), 600),
        ] {
            assert_eq!(raced(&candidates).await, (expected, time), "{candidates:?}");
        }
    }

    #[test]
    fn families_take_turns() {
        for (addresses, expected) in [
            ("", ""),
            ("192.0.2.1", "192.0.2.1"),
            ("::1 ::2 192.0.2.1 192.0.2.2", "::1 192.0.2.1 ::2 192.0.2.2"),
            ("192.0.2.1 ::1 ::2 ::3", "192.0.2.1 ::1 ::2 ::3"),
            ("192.0.2.1 192.0.2.2 192.0.2.3 ::1", "192.0.2.1 ::1 192.0.2.2 192.0.2.3"),
        ] {
            let parsed = addresses.split_whitespace().map(|address| address.parse().unwrap()).collect();
            let shown: Vec<String> = interleaved(parsed).iter().map(ToString::to_string).collect();
            assert_eq!(shown.join(" "), expected);
        }
    }
}
