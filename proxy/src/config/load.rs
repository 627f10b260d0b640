//! From a file to a [`Config`].

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_saphyr::DuplicateKeyPolicy;
use tollgate_policy::{Limits, yaml};

use super::meaning::{self, Mistake};
use super::{Config, ConfigError, places};

/// No honest configuration is larger.
const LARGEST: u64 = 1 << 20;

impl Config {
    /// Reads a file. `None`: every default.
    pub fn load(path: Option<&Path>) -> Result<Self, ConfigError> {
        let Some(path) = path else {
            return Ok(Config::default());
        };
        let mut source = String::new();
        let unreadable = |error: std::io::Error| ConfigError::unreadable(path, &error);
        let read = File::open(path)
            .and_then(|file| file.take(LARGEST + 1).read_to_string(&mut source))
            .map_err(unreadable)?;
        if u64::try_from(read).unwrap_or(u64::MAX) > LARGEST {
            return Err(ConfigError::whole_file(
                path,
                "file-too-large",
                "the file is larger than 1 MiB".into(),
            ));
        }
        Config::parse(&source, path)
    }

    /// Parses `source` as the content of the file `path`, whose folder relative paths start from.
    pub fn parse(source: &str, path: &Path) -> Result<Self, ConfigError> {
        let blank = source
            .lines()
            .all(|line| line.trim_start().starts_with('#') || line.trim().is_empty());
        let mut config: Config = if blank {
            Config::default()
        } else {
            serde_saphyr::from_str_with_options(source, strict()).map_err(|error| ConfigError::from_yaml(path, source, &error))?
        };
        let base = path.parent().unwrap_or(Path::new(""));
        config.tls.resolve(base);
        config.audit.resolve(base);
        config.upstream.resolve(base);
        config.credentials.resolve(base);
        config.kill_switch.resolve(base);
        config.payments.resolve(base);
        config.limits.connect = config.upstream.connect_timeout;
        match meaning::first_mistake(&config) {
            None => Ok(config),
            Some(Mistake { pointer, message }) => {
                let place = places::of(source, &pointer, strict());
                Err(ConfigError::at(path, source, place, "invalid-value", message))
            }
        }
    }
}

/// A key given twice is an error: two readers would take different ones.
fn strict() -> serde_saphyr::Options {
    let limits = Limits {
        bytes: 1 << 20,
        nodes: 50_000,
        ..Limits::default()
    };
    yaml::strict(limits, DuplicateKeyPolicy::Error)
}
