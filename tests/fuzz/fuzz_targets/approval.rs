//! Signed EVM transactions that give an allowance: read in one way or not at all.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::x402::extensions::approval;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = approval::read(text);
    }
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if let Ok(approval) = approval::read(&format!("0x02{hex}")) {
        let again = approval::read(&format!("0x02{hex}")).expect("it could be read");
        assert_eq!(approval.sender, again.sender);
        assert!(approval::read(&format!("0x02{hex}00")).is_err());
    }
});
