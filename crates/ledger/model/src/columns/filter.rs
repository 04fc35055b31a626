//! Filter expressions on any column: `%CPU>5`, `!COMMAND=sh`, `user=root`.
//!
//! The grammar is top's (`[!]FIELD{=,<,>}VALUE`) and a little more: `<=`, `>=`, `!=`. On text
//! `=` means "contains", as in top; `==` means equal. Several expressions must all hold.

use crate::columns::{self, Column, Context, Unit, UnknownColumn};
use crate::frame::value::{Datum, Value};
use crate::frame::Row;

/// Why a filter expression is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// The expression has no operator.
    #[error("filter '{0}' has no operator: write COLUMN=TEXT, COLUMN>NUMBER …")]
    NoOperator(String),
    /// The column does not exist.
    #[error(transparent)]
    UnknownColumn(#[from] UnknownColumn),
    /// The column needs a number.
    #[error("'{0}' is not a number: write one, such as 5 or 0.5")]
    NotANumber(String),
    /// `<` and `>` do not apply to a text column.
    #[error("'{0}' is text: use = == or !=")]
    NotForText(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    Contains,
}

/// One filter expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    text: String,
    column: &'static Column,
    op: Op,
    negated: bool,
    value: String,
    number: Option<f64>,
}

const OPERATORS: &[(&str, Op)] = &[
    ("<=", Op::LessEqual),
    (">=", Op::GreaterEqual),
    ("!=", Op::NotEqual),
    ("==", Op::Equal),
    ("<", Op::Less),
    (">", Op::Greater),
    ("=", Op::Contains),
];

impl Filter {
    /// Parses an expression.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        let text = text.trim();
        let (negated, body) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let at = body.find(['<', '>', '=', '!']).filter(|&at| at > 0);
        let found = at.and_then(|at| {
            let op = OPERATORS.iter().find(|(sign, _)| body[at..].starts_with(sign))?;
            Some((at, op))
        });
        let Some((at, (sign, op))) = found else {
            return Err(FilterError::NoOperator(text.into()));
        };
        let (name, value) = (body[..at].trim(), body[at + sign.len()..].trim());
        Filter::checked(text, columns::find(name)?, *op, negated, value)
    }

    fn checked(
        text: &str,
        column: &'static Column,
        mut op: Op,
        negated: bool,
        value: &str,
    ) -> Result<Filter, FilterError> {
        let textual = column.unit == Unit::Text;
        let number = value.trim_end_matches('%').parse::<f64>().ok().filter(|n| n.is_finite());
        if textual && matches!(op, Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual) {
            return Err(FilterError::NotForText(column.title.into()));
        }
        if !textual {
            if number.is_none() {
                return Err(FilterError::NotANumber(value.into()));
            }
            if op == Op::Contains {
                op = Op::Equal;
            }
        }
        Ok(Filter { text: text.into(), column, op, negated, value: value.into(), number })
    }

    /// The expression as the user wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The column of the expression; the source must read what this column needs.
    pub fn column(&self) -> &'static Column {
        self.column
    }

    /// True if the row stays. A missing value satisfies only a negated expression.
    pub fn keeps(&self, row: &Row, context: &Context) -> bool {
        self.holds((self.column.value)(row, context))
    }

    /// True if a row with this value in the column stays.
    pub fn holds(&self, value: Value) -> bool {
        let holds = match value {
            Value::Missing(_) => false,
            Value::Known(Datum::Text(text)) => match self.op {
                Op::Contains => text.contains(&self.value),
                Op::NotEqual => text != self.value,
                _ => text == self.value,
            },
            value => value.number().zip(self.number).is_some_and(|(a, b)| self.compare(a, b)),
        };
        holds != self.negated
    }

    fn compare(&self, a: f64, b: f64) -> bool {
        match self.op {
            Op::Less => a < b,
            Op::LessEqual => a <= b,
            Op::Greater => a > b,
            Op::GreaterEqual => a >= b,
            Op::Equal | Op::Contains => a == b,
            Op::NotEqual => a != b,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_parses_or_its_error_says_why() {
        assert!(Filter::parse("%CPU>5").is_ok());
        assert!(Filter::parse("! command = sh").is_ok());
        assert_eq!(Filter::parse("cpu"), Err(FilterError::NoOperator("cpu".into())));
        let unknown = Filter::parse("x=1").map_err(|e| e.to_string());
        assert!(unknown.is_err_and(|e| e.starts_with("no column 'x'")));
        assert_eq!(Filter::parse("%CPU>a"), Err(FilterError::NotANumber("a".into())));
        assert_eq!(Filter::parse("USER<b"), Err(FilterError::NotForText("USER".into())));
    }
}
