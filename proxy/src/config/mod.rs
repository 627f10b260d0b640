//! `tollgate.yaml`: the operator's file.

pub mod units;
