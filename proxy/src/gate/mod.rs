//! The rules.

pub mod payment;
pub mod rail;
