//! An environment as text, for a shell, an env file or a program.

use super::{ClientEnvironment, Inherited, Variable};

/// How to write an environment down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `export NAME='value'` lines, for `eval "$(tollgate env)"` in a POSIX shell.
    Sh,
    /// `NAME=value` lines with comments, for env files (Docker, Compose, systemd, dotenv). A value is quoted only where it
    /// must be, because Docker takes quotes literally.
    Dotenv,
    /// One object of names and values.
    Json,
}

impl ClientEnvironment {
    /// The whole environment as text, newline at the end. Only a shell adds to what it inherits.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Sh => self.lines(sh_line),
            Format::Dotenv => self.lines(|v| format!("# {}\n{}={}\n", v.why, v.name, dotenv_quoted(&v.value))),
            Format::Json => {
                let variables = self.variables().iter();
                let object: serde_json::Map<_, _> = variables.map(|v| (v.name.into(), v.value.as_str().into())).collect();
                format!("{:#}\n", serde_json::Value::Object(object))
            }
        }
    }

    fn lines(&self, line: impl FnMut(&Variable) -> String) -> String {
        self.variables().iter().map(line).collect()
    }
}

fn sh_line(
    Variable {
        name, value, inherited, ..
    }: &Variable,
) -> String {
    let value = sh_quoted(value);
    match inherited {
        Inherited::Replaced => format!("export {name}={value}\n"),
        Inherited::AddedTo => format!("export {name}=\"${{{name}:+${name} }}\"{value}\n"),
    }
}

/// Within single quotes a POSIX shell takes everything literally but the single quote.
fn sh_quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

fn dotenv_quoted(value: &str) -> String {
    let bare = |c: char| c.is_alphanumeric() || "_-./:,@%+=".contains(c);
    if value.chars().all(bare) {
        return value.into();
    }
    if !value.contains('\'') {
        return format!("'{value}'");
    }
    let mut quoted = String::from('"');
    for c in value.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}
