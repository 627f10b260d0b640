//! Challenges in JSON-RPC answers: what goes on to the client asks for nothing that was not kept, and for all that was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::x402::carriers::answer::{self, Posed};
use tollgate::x402::challenge::Asked;

fn kept(posed: &[Posed], keep: impl Fn(usize, &Asked) -> bool) -> Vec<Vec<Asked>> {
    let of = |(number, one): (usize, &Posed)| one.challenge.asked().filter(|asked| keep(number, asked)).cloned().collect();
    posed.iter().enumerate().map(of).collect()
}

fuzz_target!(|input: &[u8]| {
    let [choice, text @ ..] = input else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Ok(posed) = answer::challenges(text) else { return };
    if posed.is_empty() {
        return;
    }
    assert!(answer::may_ask(text.as_bytes()), "it would have passed unread");
    for one in &posed {
        let _ = (one.carrier(None), answer::id_of(text.as_bytes()));
    }
    let keep = |number: usize, asked: &Asked| match choice % 3 {
        0 => true,
        1 => false,
        _ => (number + asked.pay_to.as_bytes().iter().map(|byte| usize::from(*byte)).sum::<usize>()).is_multiple_of(2),
    };
    let written = answer::only(text, &posed, keep).expect("what was found can be written again");
    let again = answer::challenges(&written).expect("it can be read again");
    assert_eq!(kept(&posed, keep), kept(&again, |_, _| true), "{written}");
    assert!(
        again.iter().all(|one| one.challenge.options.iter().all(Option::is_some)),
        "an option that nobody judged"
    );
    assert_eq!(
        posed.iter().map(|one| &one.id).collect::<Vec<_>>(),
        again.iter().map(|one| &one.id).collect::<Vec<_>>()
    );
});
