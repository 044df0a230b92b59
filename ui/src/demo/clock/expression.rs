//! A small evaluator of arithmetic: `+ - * / % ^`, parentheses, a few functions and constants.

/// How deep an expression may nest; past it the evaluator would run out of stack.
const DEEPEST: u32 = 64;

/// The value of an expression.
///
/// The error names the column, in characters from 1.
pub(super) fn evaluate(text: &str) -> Result<f64, String> {
    let mut parser = Parser {
        signs: text.chars().collect(),
        at: 0,
        depth: 0,
    };
    let value = parser.sum()?;
    match parser.peek() {
        None if value.is_finite() => Ok(value),
        None => Err("the result is too large or undefined".into()),
        Some(sign) => Err(parser.wrong(&format!("`{sign}` is not expected here"))),
    }
}

/// As few digits as show the value to fifteen places: `0.1 + 0.2` is `0.3`.
pub(super) fn written(value: f64) -> String {
    let rounded: f64 = format!("{value:.14e}").parse().unwrap_or(value);
    let size = rounded.abs();
    if size != 0.0 && !(1e-9..1e15).contains(&size) {
        format!("{rounded:e}")
    } else {
        format!("{}", rounded + 0.0) // no minus before zero
    }
}

struct Parser {
    signs: Vec<char>,
    at: usize,
    depth: u32,
}

impl Parser {
    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        loop {
            match self.peek() {
                Some('+') => value += self.after_sign(Self::product)?,
                Some('-' | '−') => value -= self.after_sign(Self::product)?,
                _ => return Ok(value),
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.signed()?;
        loop {
            match self.peek() {
                Some('*' | '×' | '·') => value *= self.after_sign(Self::signed)?,
                Some(sign @ ('/' | '÷' | '%')) => {
                    let column = self.at + 1;
                    let by = self.after_sign(Self::signed)?;
                    if by == 0.0 {
                        return Err(format!("division by zero at column {column}"));
                    }
                    value = if sign == '%' { value % by } else { value / by };
                }
                _ => return Ok(value),
            }
        }
    }

    /// A sign binds weaker than a power: `-2^2` is `-4`.
    fn signed(&mut self) -> Result<f64, String> {
        match self.peek() {
            Some('-' | '−') => self.nested(|parser| Ok(-parser.after_sign(Self::signed)?)),
            Some('+') => self.nested(|parser| parser.after_sign(Self::signed)),
            _ => self.power(),
        }
    }

    /// From the right: `2^3^2` is `2^9`.
    fn power(&mut self) -> Result<f64, String> {
        let base = self.operand()?;
        match self.peek() {
            Some('^') => self.nested(|parser| Ok(base.powf(parser.after_sign(Self::signed)?))),
            _ => Ok(base),
        }
    }

    fn operand(&mut self) -> Result<f64, String> {
        match self.peek() {
            Some('(') => {
                let value = self.nested(|parser| parser.after_sign(Self::sum))?;
                self.expect(')')?;
                Ok(value)
            }
            Some(sign) if sign.is_ascii_digit() || sign == '.' => self.number(),
            Some(sign) if sign.is_alphabetic() => self.named(),
            Some(sign) => Err(self.wrong(&format!("expected a number, found `{sign}`"))),
            None => Err(self.wrong("the expression ends too early")),
        }
    }

    fn number(&mut self) -> Result<f64, String> {
        let from = self.at;
        self.skip(|sign| sign.is_ascii_digit() || sign == '.' || sign == '_');
        // `2e3` is a number, `2e` is `2` before a name.
        if matches!(self.signs.get(self.at), Some('e' | 'E')) {
            let signed = matches!(self.signs.get(self.at + 1), Some('+' | '-'));
            let digit = self.at + 1 + usize::from(signed);
            if self.signs.get(digit).is_some_and(char::is_ascii_digit) {
                self.at = digit;
                self.skip(|sign| sign.is_ascii_digit());
            }
        }
        let signs = self.signs[from..self.at].iter();
        let text: String = signs.filter(|sign| **sign != '_').collect();
        text.parse()
            .map_err(|_| format!("`{text}` at column {} is no number", from + 1))
    }

    fn named(&mut self) -> Result<f64, String> {
        let from = self.at;
        self.skip(char::is_alphanumeric);
        let name: String = self.signs[from..self.at].iter().collect();
        if self.peek() != Some('(') {
            return match name.as_str() {
                "pi" | "π" => Ok(std::f64::consts::PI),
                "tau" => Ok(std::f64::consts::TAU),
                "e" => Ok(std::f64::consts::E),
                _ => Err(format!("`{name}` at column {} is unknown", from + 1)),
            };
        }
        let values = self.nested(Self::list)?;
        apply(&name, &values).ok_or_else(|| {
            let given = values.len();
            format!(
                "no function `{name}` takes {given} value{}; there are sqrt, abs, round, floor, ceil, exp, ln, log, sin, cos, tan (one value), min, max, sum, avg (any number)",
                if given == 1 { "" } else { "s" }
            )
        })
    }

    /// Values between parentheses, with commas.
    fn list(&mut self) -> Result<Vec<f64>, String> {
        let mut values = vec![self.after_sign(Self::sum)?];
        while self.peek() == Some(',') {
            values.push(self.after_sign(Self::sum)?);
        }
        self.expect(')')?;
        Ok(values)
    }

    fn after_sign<V>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<V, String>,
    ) -> Result<V, String> {
        self.at += 1;
        read(self)
    }

    fn nested<V>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<V, String>,
    ) -> Result<V, String> {
        if self.depth == DEEPEST {
            return Err(format!("nested more than {DEEPEST} deep"));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        if self.peek() == Some(sign) {
            self.at += 1;
            return Ok(());
        }
        Err(self.wrong(&format!("expected `{sign}`")))
    }

    /// The next sign that is not blank.
    fn peek(&mut self) -> Option<char> {
        self.skip(char::is_whitespace);
        self.signs.get(self.at).copied()
    }

    fn skip(&mut self, while_true: impl Fn(char) -> bool) {
        while self
            .signs
            .get(self.at)
            .is_some_and(|sign| while_true(*sign))
        {
            self.at += 1;
        }
    }

    fn wrong(&self, message: &str) -> String {
        format!("{message} (column {})", self.at + 1)
    }
}

fn apply(name: &str, values: &[f64]) -> Option<f64> {
    let of_many = match name {
        "min" => values.iter().copied().reduce(f64::min),
        "max" => values.iter().copied().reduce(f64::max),
        "sum" => Some(values.iter().sum()),
        "avg" => Some(values.iter().sum::<f64>() / values.len() as f64),
        _ => None,
    };
    let [value] = *values else {
        return of_many;
    };
    of_many.or(match name {
        "sqrt" => Some(value.sqrt()),
        "abs" => Some(value.abs()),
        "round" => Some(value.round()),
        "floor" => Some(value.floor()),
        "ceil" => Some(value.ceil()),
        "exp" => Some(value.exp()),
        "ln" => Some(value.ln()),
        "log" => Some(value.log10()),
        "sin" => Some(value.sin()),
        "cos" => Some(value.cos()),
        "tan" => Some(value.tan()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_the_usual_rules() {
        for (text, expected) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            ("0.1 + 0.2", "0.3"),
            ("7 / 2 - 1", "2.5"),
            ("10 - 4 - 3", "3"),
            ("-2^2", "-4"),
            ("2^-1", "0.5"),
            ("2^3^2", "512"),
            ("17 % 5", "2"),
            ("1_000 × 2.5e2", "250000"),
            ("sqrt(16) + max(1, 2, 3)", "7"),
            ("avg(1,2,6)", "3"),
            ("round(pi * 100) / 100", "3.14"),
            ("2 * e", "5.43656365691809"),
            ("10^20", "1e20"),
            ("-0", "0"),
        ] {
            assert_eq!(evaluate(text).map(written), Ok(expected.into()), "{text}");
        }
    }

    #[test]
    fn errors_name_the_column_and_the_cause() {
        let deep = "(".repeat(100);
        let signs = "-".repeat(100_000) + "1";
        for (text, expected) in [
            ("", "the expression ends too early (column 1)"),
            ("1 +", "the expression ends too early (column 4)"),
            ("1 / (2 - 2)", "division by zero at column 3"),
            ("(1", "expected `)` (column 3)"),
            ("2 $ 3", "`$` is not expected here (column 3)"),
            ("*2", "expected a number, found `*` (column 1)"),
            ("1.2.3", "`1.2.3` at column 1 is no number"),
            ("1 + foo", "`foo` at column 5 is unknown"),
            ("sqrt(-1)", "the result is too large or undefined"),
            ("9^9^9", "the result is too large or undefined"),
            (&deep, "nested more than 64 deep"),
            (&signs, "nested more than 64 deep"),
        ] {
            assert_eq!(evaluate(text), Err(expected.into()));
        }
        let error = evaluate("sqrt(1, 2)").unwrap_err();
        assert!(error.starts_with("no function `sqrt` takes 2 values"));
    }
}
