//! Bucket bounds, in seconds.

/// Whole requests: from a cached answer on loopback to a long model call.
pub(super) const REQUEST: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0,
];

/// Our own time: the usual tens of microseconds apart, and far enough up to show a fault.
pub(super) const OVERHEAD: &[f64] = &[
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0,
];

/// The verdict service: a few milliseconds on loopback, tens with signer recovery, seconds when it is crowded or far.
pub(super) const VERDICT: &[f64] = &[
    0.000_1, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0,
];
