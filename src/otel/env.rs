//! What the `OTEL_*` variables ask for, read strictly: a value that would be passed over is an error
//! that names its variable and what may stand there. The exporters read the variables themselves,
//! and what they do not know they skip without a word; so nothing reaches them unchecked. Pure but
//! for the lookup that it is given.

use std::str::FromStr as _;

use ::http::{HeaderName, HeaderValue};

use super::OtelError;
use crate::secrets::MASK;

/// The samplers that are known.
const SAMPLERS: [&str; 6] = [
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
];

/// Numbers of one or more: milliseconds and sizes.
const NUMBERS: [&str; 9] = [
    "OTEL_BSP_SCHEDULE_DELAY",
    "OTEL_BSP_EXPORT_TIMEOUT",
    "OTEL_BSP_MAX_QUEUE_SIZE",
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
    "OTEL_BLRP_SCHEDULE_DELAY",
    "OTEL_BLRP_EXPORT_TIMEOUT",
    "OTEL_BLRP_MAX_QUEUE_SIZE",
    "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE",
    "OTEL_METRIC_EXPORT_INTERVAL",
];

/// What is exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) traces: bool,
    pub(super) metrics: bool,
    pub(super) logs: bool,
    /// The values of headers: tokens more often than not.
    pub(super) confidential: Vec<String>,
}

impl Wanted {
    pub(super) fn anything(&self) -> bool {
        self.traces || self.metrics || self.logs
    }
}

/// What the variables ask for.
///
/// # Errors
/// When one that counts makes no sense. Those of a signal that is not exported do not count.
pub(super) fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Wanted, OtelError> {
    let lookup = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
    let disabled = lookup("OTEL_SDK_DISABLED");
    if disabled.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(Wanted::default());
    }
    let mut confidential = Vec::new();
    let mut signal = |name| signal(name, &lookup, &mut confidential);
    let wanted = Wanted {
        traces: signal("TRACES")?,
        metrics: signal("METRICS")?,
        logs: signal("LOGS")?,
        confidential,
    };
    if wanted.anything() {
        shared(&lookup)?;
    }
    Ok(wanted)
}

type Lookup<'l> = &'l dyn Fn(&str) -> Option<String>;

/// Whether one signal is exported.
fn signal(
    signal: &str,
    lookup: Lookup<'_>,
    confidential: &mut Vec<String>,
) -> Result<bool, OtelError> {
    // The variable of the signal goes before the general one.
    let of = |what: &str| {
        let names = [
            format!("OTEL_EXPORTER_OTLP_{signal}_{what}"),
            format!("OTEL_EXPORTER_OTLP_{what}"),
        ];
        names
            .into_iter()
            .find_map(|name| lookup(&name).map(|value| (name, value)))
    };
    let exporter = format!("OTEL_{signal}_EXPORTER");
    let asked = match lookup(&exporter).as_deref().map(str::trim) {
        None => false,
        Some("otlp") => true,
        Some("none") => return Ok(false),
        Some(_) => {
            let known = match signal {
                "METRICS" => "`otlp` or `none`; for Prometheus there is `--metrics ADDR`",
                _ => "`otlp` or `none`",
            };
            return Err(wrong(&exporter, lookup, known));
        }
    };
    let endpoint = of("ENDPOINT");
    if endpoint.is_none() && !asked {
        return Ok(false);
    }
    if let Some((variable, value)) = endpoint {
        let url = ::url::Url::parse(&value).ok();
        let usable =
            url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if !usable {
            // It may hold a password.
            let value = match value.contains('@') {
                true => MASK.to_owned(),
                false => value,
            };
            return Err(OtelError::Unknown {
                variable,
                value,
                known: "a URL such as `http://127.0.0.1:4318`",
            });
        }
    }
    if let Some((variable, value)) = of("PROTOCOL")
        && value != "http/protobuf"
    {
        return Err(OtelError::Unknown {
            variable,
            value,
            known: "`http/protobuf`, which collectors take at port 4318; gRPC and JSON are not spoken here",
        });
    }
    if let Some((variable, value)) = of("COMPRESSION")
        && !["gzip", "none"].contains(&&*value.to_ascii_lowercase())
    {
        let known = "`gzip` or `none`";
        return Err(OtelError::Unknown {
            variable,
            value,
            known,
        });
    }
    if let Some((variable, value)) = of("TIMEOUT")
        && !counts(&value)
    {
        let known = "milliseconds, 1 or more";
        return Err(OtelError::Unknown {
            variable,
            value,
            known,
        });
    }
    if let Some((variable, value)) = of("HEADERS") {
        confidential.extend(headers(variable, &value)?);
    }
    Ok(true)
}

/// Checks what is there once for all signals.
fn shared(lookup: Lookup<'_>) -> Result<(), OtelError> {
    if lookup("OTEL_TRACES_SAMPLER").is_some_and(|value| !SAMPLERS.contains(&&*value)) {
        return Err(wrong(
            "OTEL_TRACES_SAMPLER",
            lookup,
            "`always_on`, `always_off`, `traceidratio`, or one of these after `parentbased_`",
        ));
    }
    let ratio = lookup("OTEL_TRACES_SAMPLER_ARG");
    let ratio = ratio.map(|value| value.parse::<f64>());
    if ratio.is_some_and(|ratio| !ratio.is_ok_and(|ratio| (0.0..=1.0).contains(&ratio))) {
        let known = "a number from 0 to 1";
        return Err(wrong("OTEL_TRACES_SAMPLER_ARG", lookup, known));
    }
    match NUMBERS
        .into_iter()
        .find(|name| lookup(name).is_some_and(|value| !counts(&value)))
    {
        Some(name) => Err(wrong(name, lookup, "a whole number, 1 or more")),
        None => Ok(()),
    }
}

fn counts(value: &str) -> bool {
    value.parse::<u64>().is_ok_and(|number| number > 0)
}

fn wrong(variable: &str, lookup: Lookup<'_>, known: &'static str) -> OtelError {
    OtelError::Unknown {
        variable: variable.to_owned(),
        value: lookup(variable).unwrap_or_default(),
        known,
    }
}

/// The values of a list of headers, as they stand there and as they are sent. What is wrong with
/// one is told without it.
fn headers(variable: String, list: &str) -> Result<Vec<String>, OtelError> {
    let mut values = Vec::new();
    let entries = list.split_terminator(',').map(str::trim);
    for (at, entry) in entries.enumerate() {
        let sent = entry.split_once('=').and_then(|(name, value)| {
            HeaderName::from_str(name.trim()).ok()?;
            let sent = decoded(value.trim())?;
            HeaderValue::from_str(&sent).ok()?;
            Some([value.trim().to_owned(), sent])
        });
        let Some([written, sent]) = sent else {
            return Err(OtelError::Header {
                variable,
                number: at + 1,
            });
        };
        values.extend([written, sent]);
    }
    Ok(values)
}

/// What percent-encoding stands for; `None` for what is none.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");

    fn of(variables: &[(&str, &str)]) -> Result<Wanted, String> {
        let found = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        read(&found).map_err(|error| error.to_string())
    }

    #[test]
    fn signals_are_exported_where_an_endpoint_or_the_exporter_is_named() {
        for (claim, variables, expected) in [
            ("nothing", &[][..], [false; 3]),
            ("an endpoint", &[ENDPOINT], [true; 3]),
            (
                "an empty endpoint",
                &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
                [false; 3],
            ),
            (
                "that of one signal",
                &[("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "https://c.example/l")],
                [false, false, true],
            ),
            (
                "the exporter, at its default endpoint",
                &[("OTEL_TRACES_EXPORTER", "otlp")],
                [true, false, false],
            ),
            (
                "all but one",
                &[ENDPOINT, ("OTEL_METRICS_EXPORTER", "none")],
                [true, false, true],
            ),
            (
                "switched off",
                &[ENDPOINT, ("OTEL_SDK_DISABLED", "TRUE")],
                [false; 3],
            ),
            (
                "not switched off",
                &[ENDPOINT, ("OTEL_SDK_DISABLED", "false")],
                [true; 3],
            ),
            (
                "nonsense for what is not exported",
                &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
                [false; 3],
            ),
            (
                "a protocol for one signal that is known, and a general one that is not",
                &[
                    ENDPOINT,
                    ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
                    ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"),
                    ("OTEL_METRICS_EXPORTER", "none"),
                    ("OTEL_LOGS_EXPORTER", "none"),
                ],
                [true, false, false],
            ),
        ] {
            let wanted = of(variables).unwrap();
            let got = [wanted.traces, wanted.metrics, wanted.logs];
            assert_eq!(got, expected, "{claim}");
        }
    }

    #[test]
    fn a_value_that_would_be_passed_over_is_told_with_its_variable_and_what_may_stand_there() {
        for (name, value, expected) in [
            (
                "OTEL_EXPORTER_OTLP_PROTOCOL",
                "grpc",
                "`OTEL_EXPORTER_OTLP_PROTOCOL` is `grpc`; it has to be \
                 `http/protobuf`, which collectors take at port 4318; gRPC and JSON are not spoken here",
            ),
            (
                "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL",
                "http/json",
                "`OTEL_EXPORTER_OTLP_LOGS_PROTOCOL` is `http/json`",
            ),
            (
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
                "localhost:4318",
                "`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is `localhost:4318`; it has to \
                 be a URL such as `http://127.0.0.1:4318`",
            ),
            (
                "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
                "ftp://me:hunter22@c.example",
                "`OTEL_EXPORTER_OTLP_LOGS_ENDPOINT` is `••••`",
            ),
            (
                "OTEL_EXPORTER_OTLP_TIMEOUT",
                "10s",
                "`OTEL_EXPORTER_OTLP_TIMEOUT` is `10s`; it has to be \
                 milliseconds, 1 or more",
            ),
            (
                "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT",
                "0",
                "`OTEL_EXPORTER_OTLP_METRICS_TIMEOUT` is `0`",
            ),
            (
                "OTEL_EXPORTER_OTLP_COMPRESSION",
                "zstd",
                "`OTEL_EXPORTER_OTLP_COMPRESSION` is `zstd`; it has to be \
                 `gzip` or `none`",
            ),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "x-key=k1,authorization hunter22",
                "entry 2 of `OTEL_EXPORTER_OTLP_HEADERS` is no header; write `name=value`, with \
                 commas between them and other signs percent-encoded",
            ),
            (
                "OTEL_METRICS_EXPORTER",
                "prometheus",
                "`OTEL_METRICS_EXPORTER` is `prometheus`; it has to be `otlp` \
                 or `none`; for Prometheus there is `--metrics ADDR`",
            ),
            (
                "OTEL_TRACES_EXPORTER",
                "zipkin",
                "`OTEL_TRACES_EXPORTER` is `zipkin`",
            ),
            (
                "OTEL_TRACES_SAMPLER",
                "sometimes",
                "`OTEL_TRACES_SAMPLER` is `sometimes`",
            ),
            (
                "OTEL_TRACES_SAMPLER_ARG",
                "1.5",
                "`OTEL_TRACES_SAMPLER_ARG` is `1.5`",
            ),
            (
                "OTEL_BSP_SCHEDULE_DELAY",
                "soon",
                "`OTEL_BSP_SCHEDULE_DELAY` is `soon`",
            ),
        ] {
            let told = of(&[ENDPOINT, (name, value)]).unwrap_err();
            assert!(told.starts_with(expected), "{told}");
            assert!(!told.contains("hunter22"), "{told}");
        }
    }

    #[test]
    fn what_headers_hold_is_kept_secret_as_written_and_as_sent() {
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "a=one%20two, b=three=four");
        let wanted = of(&[ENDPOINT, headers, ("OTEL_LOGS_EXPORTER", "none")]).unwrap();
        let each = ["one%20two", "one two", "three=four", "three=four"];
        assert_eq!(wanted.confidential, [each, each].concat());
    }
}
