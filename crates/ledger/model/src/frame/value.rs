//! A value as a view gets it: known, or missing with the reason.

/// Reason why a value is missing. A screen shows `-`, JSON has `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The source in use does not measure it.
    Source,
    /// The kernel does not permit this user to read it.
    NotPermitted,
    /// The task had exited before the source could read it.
    Vanished,
    /// No tick of the kernel's sampling clock has hit the task yet.
    NoTick,
    /// The value does not apply to this kind of row.
    NotApplicable,
    /// Not read, because no view asked for it.
    NotRead,
    /// The counter ran backwards in this window.
    Backwards,
}

impl Missing {
    /// The reason in words.
    pub const fn reason(self) -> &'static str {
        match self {
            Missing::Source => "the source in use cannot give it",
            Missing::NotPermitted => "not permitted for this user",
            Missing::Vanished => "the task was gone before it could be read",
            Missing::NoTick => "no tick of the kernel's sampling clock has hit the task yet",
            Missing::NotApplicable => "does not apply to this kind of row",
            Missing::NotRead => "not read: no view asked for it",
            Missing::Backwards => "the counter ran backwards in this window",
        }
    }
}

/// A known value in its unit.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub enum Datum {
    /// Nanoseconds.
    Ns(u64),
    /// Events or things.
    Count(u64),
    /// Per cent.
    Pct(f64),
    /// A number with a fraction: CPUs, a mean.
    Real(f64),
    Bytes(u64),
    /// A signed number without unit (nice, priority).
    Int(i64),
    /// Text, escaped for the terminal.
    Text(String),
}

impl Datum {
    /// The value as a whole number, if it is one.
    fn whole(&self) -> Option<i128> {
        match self {
            Datum::Ns(n) | Datum::Count(n) | Datum::Bytes(n) => Some((*n).into()),
            Datum::Int(i) => Some((*i).into()),
            Datum::Pct(_) | Datum::Real(_) | Datum::Text(_) => None,
        }
    }
}

/// A known or missing value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Known.
    Known(Datum),
    /// Missing.
    Missing(Missing),
}

impl Value {
    /// A value from raw bytes of the system, escaped.
    pub fn text(text: impl AsRef<[u8]>) -> Value {
        Value::Known(Datum::Text(crate::text::escape::escape(text.as_ref())))
    }

    /// A known count, or missing with this reason.
    pub fn count(count: Option<u64>, missing: Missing) -> Value {
        count.map_or(Value::Missing(missing), |n| Value::Known(Datum::Count(n)))
    }

    /// Known nanoseconds, or missing with this reason.
    pub fn ns(ns: Option<u64>, missing: Missing) -> Value {
        ns.map_or(Value::Missing(missing), |n| Value::Known(Datum::Ns(n)))
    }

    /// `part` in per cent of `whole`. Missing if `part` is missing or `whole` is 0.
    pub fn share(part: Option<u64>, whole: u64, missing: Missing) -> Value {
        match part {
            Some(part) if whole > 0 => Value::Known(Datum::Pct(part as f64 * 100.0 / whole as f64)),
            Some(_) => Value::Missing(Missing::NotApplicable),
            None => Value::Missing(missing),
        }
    }

    /// The change from `then` to `self`. Whole numbers differ exactly.
    pub fn change_since(&self, then: &Value) -> Value {
        let (now, then) = match (self, then) {
            (Value::Missing(why), _) | (_, Value::Missing(why)) => return Value::Missing(*why),
            (Value::Known(now), Value::Known(then)) => (now, then),
        };
        let change = match now.whole().zip(then.whole()) {
            Some((now, then)) => i64::try_from(now - then).ok().map(Datum::Int),
            None => self
                .number()
                .zip(Value::Known(then.clone()).number())
                .map(|(now, then)| Datum::Real(now - then)),
        };
        change.map_or(Value::Missing(Missing::NotApplicable), Value::Known)
    }

    /// The change from nothing to this value.
    pub fn change_since_nothing(&self) -> Value {
        self.change_since(&Value::Known(Datum::Int(0)))
    }

    /// The change from this value to nothing.
    pub fn change_to_nothing(&self) -> Value {
        Value::Known(Datum::Int(0)).change_since(self)
    }

    /// The value as a number, for sorting and comparing.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Known(Datum::Ns(n) | Datum::Count(n) | Datum::Bytes(n)) => Some(*n as f64),
            Value::Known(Datum::Pct(n) | Datum::Real(n)) => Some(*n),
            Value::Known(Datum::Int(i)) => Some(*i as f64),
            _ => None,
        }
    }
}
