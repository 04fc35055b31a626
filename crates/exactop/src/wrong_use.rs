//! Errors of the command line as one line: the argument, and the nearest right one or the help.

use crate::failure::Failure;
use crate::options::needs;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::Error;
use exactop_model::text::did_you_mean::nearest;
use std::ffi::OsString;

/// Longer lists of commands are not printed in a line.
const LISTED: usize = 12;

/// Turns clap's error about `args` into one line; `help` is the command line that prints the help.
/// `below`: commands that may follow at this place.
pub fn from_clap(error: &Error, args: &[OsString], help: &str, below: &[String]) -> Failure {
    let see = format!("see '{help}'");
    let remedy = |near: Option<String>| {
        near.map_or_else(|| see.clone(), |near| format!("did you mean '{near}'?"))
    };
    // A command after an option conflicts with the option.
    let found = first(error, ContextKind::InvalidArg)
        .or_else(|| first(error, ContextKind::InvalidSubcommand));
    let value = first(error, ContextKind::InvalidValue).filter(|value| !value.is_empty());
    let line = match (error.kind(), found) {
        (ErrorKind::UnknownArgument, Some(arg)) if arg.starts_with('-') => {
            format!("no option '{arg}': {}", remedy(first(error, ContextKind::SuggestedArg)))
        }
        (ErrorKind::UnknownArgument, Some(arg)) => {
            match needs::required_option(crate::help::command(), args) {
                Some(option) => format!("unexpected argument '{arg}': write it after {option}"),
                None => format!("unexpected argument '{arg}': {see}"),
            }
        }
        (ErrorKind::MissingRequiredArgument, Some(_)) => needs::unmet(crate::help::command(), args)
            .unwrap_or_else(|| {
                format!("{} missing: {see}", all(error, ContextKind::InvalidArg).join(", "))
            }),
        (ErrorKind::ArgumentConflict, Some(arg)) => {
            match all(error, ContextKind::PriorArg).first() {
                Some(prior) if *prior != arg => {
                    format!("{arg} conflicts with {prior}: leave one out")
                }
                _ => format!("{arg} occurs twice: give it once"),
            }
        }
        (ErrorKind::InvalidValue, Some(arg)) => match value {
            None => format!("no value for '{arg}': give one; {see}"),
            Some(value) => {
                let known = all(error, ContextKind::ValidValue).join(", ");
                let near = first(error, ContextKind::SuggestedValue);
                let near = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
                format!("invalid value '{value}' for '{arg}': write one of {known}{near}")
            }
        },
        (ErrorKind::ValueValidation, Some(arg)) => {
            // The parsers of options say what to write.
            let why = std::error::Error::source(error).map(ToString::to_string);
            let (value, why) = (value.unwrap_or_default(), why.unwrap_or_else(|| see.clone()));
            format!("invalid value '{value}' for '{arg}': {why}")
        }
        _ => commands(error, &see, below).unwrap_or_else(|| {
            let text = error.to_string();
            let what = text.split("\n\n").next().unwrap_or_default();
            format!("{}: {see}", what.trim_start_matches("error: "))
        }),
    };
    Failure::usage(line)
}

/// The line for a missing or unknown command.
fn commands(error: &Error, see: &str, below: &[String]) -> Option<String> {
    let listed = || format!("choose one of {}", below.join(", "));
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand
            if !below.is_empty() =>
        {
            Some(format!("no command: {}", listed()))
        }
        ErrorKind::InvalidSubcommand => {
            let found = first(error, ContextKind::InvalidSubcommand)?;
            let near = nearest(&found, below.iter().map(String::as_str));
            let remedy = match near {
                Some(near) => format!("did you mean '{near}'?"),
                None if below.len() > LISTED => see.into(),
                None => listed(),
            };
            Some(format!("no command '{found}': {remedy}"))
        }
        _ => None,
    }
}

/// The texts of a kind in the error's context.
fn all(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

fn first(error: &Error, kind: ContextKind) -> Option<String> {
    all(error, kind).into_iter().next()
}
