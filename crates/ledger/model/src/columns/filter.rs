//! Filter expressions on any column: `%CPU>5`, `!COMMAND=sh`, `user=root`.
//!
//! The grammar is top's (`[!]FIELD{=,<,>}VALUE`) and a little more: `<=`, `>=`, `!=`. On text
//! `=` means "contains", as in top; `==` means equal. Several expressions must all hold.

use crate::columns::{self, Column, ColumnId, Context, Unit, UnknownColumn};
use crate::frame::value::{Datum, Value};
use crate::frame::{Row, RowKind};

/// Why a filter expression is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// The expression has no operator.
    #[error("filter '{0}' has no operator: write %CPU>5 or S=D")]
    NoOperator(String),
    /// The column does not exist.
    #[error(transparent)]
    UnknownColumn(#[from] UnknownColumn),
    /// The column needs a number, such as these.
    #[error("'{0}' is not a number: write {1}")]
    NotANumber(String, &'static str),
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
        let number = number(value, column.unit).filter(|n| n.is_finite());
        if textual && matches!(op, Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual) {
            return Err(FilterError::NotForText(column.title.into()));
        }
        if !textual {
            if number.is_none() {
                return Err(FilterError::NotANumber(value.into(), examples(column.unit)));
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
        self.holds(compared(self.column, row, context))
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

/// The value of a row that a filter on this column compares. A group of exited processes is shown
/// with their number, but compared by their name, as a living process is.
pub fn compared(column: &Column, row: &Row, context: &Context) -> Value {
    match (row.kind, column.id) {
        (RowKind::Exited, ColumnId::Command) => {
            Value::Known(Datum::Text(row.ident.comm.to_string()))
        }
        _ => (column.value)(row, context),
    }
}

/// Units that may follow a number in a column of this unit, in words; empty if none may.
pub fn units(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => ", with K, M, G or T for powers of 1024",
        Unit::Ns | Unit::Time => ", with ns, us, ms, s, m or h; without one ns",
        Unit::Count => ", with k or M for thousands or millions",
        Unit::Pct => ", with or without %",
        Unit::Int | Unit::Id | Unit::Text => "",
    }
}

/// Numbers in a column of this unit, in a few words: an error has the room of a question.
fn examples(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "5 (bytes), 100M or 0.5G",
        Unit::Ns | Unit::Time => "5 (ns), 5ms, 0.5s or 2h",
        Unit::Count => "5, 2k or 0.5M",
        Unit::Pct => "5, 0.5 or 5%",
        Unit::Int | Unit::Id | Unit::Text => "one, such as 5",
    }
}

/// A number with the unit that may follow it, in the column's unit.
fn number(text: &str, unit: Unit) -> Option<f64> {
    // Of a number such as 1e3, the letter is no unit.
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let at = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+')))?;
    let (figure, word) = (text[..at].parse::<f64>().ok()?, text[at..].trim());
    let factor = match (unit, word) {
        (Unit::Bytes, "K" | "k" | "KiB") => f64::from(1 << 10),
        (Unit::Bytes, "M" | "MiB") => f64::from(1 << 20),
        (Unit::Bytes, "G" | "GiB") => f64::from(1 << 30),
        (Unit::Bytes, "T" | "TiB") => 1024.0 * f64::from(1 << 30),
        (Unit::Bytes, "B") | (Unit::Ns | Unit::Time, "ns") => 1.0,
        (Unit::Ns | Unit::Time, "us" | "µs") => 1e3,
        (Unit::Ns | Unit::Time, "ms") => 1e6,
        (Unit::Ns | Unit::Time, "s") => 1e9,
        (Unit::Ns | Unit::Time, "m" | "min") => 60e9,
        (Unit::Ns | Unit::Time, "h") => 3600e9,
        (Unit::Count, "k" | "K") => 1e3,
        (Unit::Count, "M") => 1e6,
        (Unit::Pct | Unit::Count | Unit::Int | Unit::Id, "%") => 1.0,
        _ => return None,
    };
    Some(figure * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_may_follow_a_number() {
        for (text, value, stays) in [
            ("res>100M", Datum::Bytes((100 << 20) + 1), true),
            ("res>100M", Datum::Bytes(100 << 20), false),
            ("res >= 1.5 GiB", Datum::Bytes(3 << 29), true),
            ("lat_ns>5ms", Datum::Ns(5_000_001), true),
            ("lat_ns>5ms", Datum::Ns(5_000_000), false),
            ("time<2h", Datum::Ns(7_199_999_999_999), true),
            ("vcx>=2k", Datum::Count(2000), true),
            ("%CPU>5%", Datum::Pct(5.1), true),
            ("%CPU>1e1", Datum::Pct(10.1), true),
        ] {
            let filter = Filter::parse(text).expect("a filter");
            assert_eq!(filter.holds(Value::Known(value)), stays, "{text}");
        }
        for bad in ["res>1ms", "%CPU>5M", "lat_ns>5G", "pid>1k", "res>M", "vcx>5 ms"] {
            let refused = Filter::parse(bad).expect_err("it is refused").to_string();
            assert!(refused.contains("is not a number"), "{bad}: {refused}");
        }
    }

    /// The numbers that an error names are numbers of the column.
    #[test]
    fn examples_are_numbers() {
        for column in columns::COLUMNS.iter().filter(|column| column.unit != Unit::Text) {
            let words = examples(column.unit).replace(" (bytes)", "").replace(" (ns)", "");
            let all = words.trim_start_matches("one, such as ").replace(" or ", ", ");
            for example in all.split(", ") {
                let text = format!("{}>{example}", column.name);
                assert!(Filter::parse(&text).is_ok(), "{text}");
            }
        }
    }

    #[test]
    fn a_filter_parses_or_its_error_says_why() {
        assert!(Filter::parse("%CPU>5").is_ok());
        assert!(Filter::parse("! command = sh").is_ok());
        assert_eq!(Filter::parse("cpu"), Err(FilterError::NoOperator("cpu".into())));
        let unknown = Filter::parse("x=1").map_err(|e| e.to_string());
        assert!(unknown.is_err_and(|e| e.starts_with("no column 'x'")));
        let refused = Filter::parse("%CPU>a").map_err(|e| e.to_string());
        assert!(refused.is_err_and(|e| e == "'a' is not a number: write 5, 0.5 or 5%"));
        assert_eq!(Filter::parse("USER<b"), Err(FilterError::NotForText("USER".into())));
    }
}
