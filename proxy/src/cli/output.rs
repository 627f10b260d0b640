//! What a person or a script reads. A reader that went away (`tollgate check … | head`) is no reason to panic.

use std::fmt::Display;
use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};
use tollgate_policy::Style;

/// A line of the result.
pub(super) fn result(text: impl Display) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// The result as it is, without a line break behind it.
pub(super) fn verbatim(text: &str) {
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

/// Something that is wrong.
pub(super) fn error(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// How findings look on stderr: coloured on a terminal, unless `NO_COLOR` or `TERM=dumb` say otherwise.
pub(super) fn style() -> Style {
    // Colour is otherwise forced wherever `CI` is set, also on a terminal that shows the codes as they are.
    if std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb") {
        return Style::Plain;
    }
    match AutoStream::choice(&io::stderr()) {
        ColorChoice::Never => Style::Plain,
        _ => Style::Coloured,
    }
}
