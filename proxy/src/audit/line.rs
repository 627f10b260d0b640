//! How single fields of an event are written, without an allocation.
// serde hands every field over by reference.
#![allow(clippy::ref_option, clippy::ref_option_ref, clippy::trivially_copy_pass_by_ref)]

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::Serializer;
use time::OffsetDateTime;
use tollgate_policy::{Host, Reason};

struct Timestamp(OffsetDateTime);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, time) = (self.0.date(), self.0.time());
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            date.year(),
            u8::from(date.month()),
            date.day(),
            time.hour(),
            time.minute(),
            time.second(),
            time.millisecond()
        )
    }
}

pub(super) fn timestamp<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&Timestamp(OffsetDateTime::from(*time)))
}

pub(super) fn host<S: Serializer>(host: &Option<&Host>, serializer: S) -> Result<S::Ok, S::Error> {
    match host {
        Some(host) => serializer.collect_str(host),
        None => serializer.serialize_none(),
    }
}

pub(super) fn reason<S: Serializer>(reason: &Option<Reason>, serializer: S) -> Result<S::Ok, S::Error> {
    match reason {
        Some(reason) => serializer.serialize_str(reason.as_str()),
        None => serializer.serialize_none(),
    }
}

/// Three decimals: whole microseconds, so that the shortest spelling of the number is exact.
pub(super) fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    let micros = u32::try_from(duration.as_micros()).unwrap_or(u32::MAX);
    serializer.serialize_f64(f64::from(micros) / 1e3)
}
