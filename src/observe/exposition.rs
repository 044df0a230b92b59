//! What is counted as text for Prometheus, at the moment of a scrape. The text is written by
//! `prometheus-client`; nothing is kept for it beside the statistics, except which tools have a
//! label of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, MetricEncoder, NoLabelSet, prometheus_text, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::{Hub, Latencies, OTHER, Tally, Window};
use crate::executor::Executor;
use crate::middleware::{Approvals, LayerStatus};
use crate::source::{ServerRows, ServerState, SourceSet};

/// Most tools with a label of their own. The first to be called have it, for as long as the program
/// runs, so that no counter ever goes back; later ones share `_other`.
const TOOLS: usize = 500;

/// Upper bounds of the histogram of durations, in seconds: from a tool in memory to a slow server.
pub const SECONDS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];

/// The two formats that scrapers ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The text format 0.0.4 of Prometheus.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// The format that the value of an `Accept` header asks for.
    pub fn accepted(accept: &str) -> Self {
        match accept.contains("application/openmetrics-text") {
            true => Self::OpenMetrics,
            false => Self::Prometheus,
        }
    }

    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// What a scrape reads.
#[derive(Clone)]
pub struct Exposition {
    pub(crate) hub: Arc<Hub>,
    pub(crate) executor: Executor,
    pub(crate) sources: SourceSet,
    pub(crate) approvals: Approvals,
    labelled: Arc<Mutex<BTreeSet<Arc<str>>>>,
}

impl Exposition {
    pub(crate) fn new(
        hub: Arc<Hub>,
        executor: Executor,
        sources: SourceSet,
        approvals: Approvals,
    ) -> Self {
        Self {
            hub,
            executor,
            sources,
            approvals,
            labelled: Arc::default(),
        }
    }

    /// Everything that is counted, now.
    pub fn text(&self, format: Format) -> String {
        let mut registry = Registry::with_prefix("toolcrib");
        registry.register_collector(Box::new(self.read()));
        let mut written = String::new();
        let done = match format {
            Format::Prometheus => prometheus_text::encode(&mut written, &registry),
            Format::OpenMetrics => text::encode(&mut written, &registry),
        };
        // Writing to a string does not fail; a collector that does would be a bug of its own.
        if done.is_err() {
            tracing::error!("the metrics could not be written");
        }
        written
    }

    fn read(&self) -> Reading {
        let stats = self.hub.stats();
        let meters = &stats.meters;
        let mut tools: BTreeMap<Arc<str>, (Tally, Latencies)> = BTreeMap::new();
        let mut labelled = self.labelled.lock();
        for (name, meter) in meters.tools.iter() {
            let name = if labelled.contains(name) {
                Arc::clone(name)
            } else if labelled.len() < TOOLS {
                labelled.insert(Arc::clone(name));
                Arc::clone(name)
            } else {
                OTHER.into()
            };
            let tally = meter.tally(Window::Start, Duration::ZERO);
            let (all, latencies) = tools.entry(name).or_default();
            all.calls += tally.calls;
            all.errors += tally.errors;
            latencies.merge(meter.latencies_since_start());
        }
        let running = self.executor.in_flight().list();
        let queued = |layer: &str| {
            running
                .iter()
                .filter(|call| call.inside == Some(layer))
                .count()
        };
        let catalog = self.executor.registry().catalog();
        let mut registered: BTreeMap<Arc<str>, u64> = BTreeMap::new();
        for entry in catalog.entries() {
            *registered
                .entry(Arc::clone(&entry.owner.source))
                .or_default() += 1;
        }
        Reading {
            tools,
            total: stats.total,
            running: running.len() as u64,
            waiting: super::QUEUES
                .into_iter()
                .map(|layer| (layer, queued(layer) as u64))
                .collect(),
            layers: self.executor.chain().status(),
            servers: self
                .sources
                .all()
                .iter()
                .map(|source| Arc::clone(&source.servers().borrow()))
                .collect(),
            registered,
            approvals: self.approvals.pending().borrow().len() as u64,
            up: self.hub.started().at.elapsed(),
        }
    }
}

impl fmt::Debug for Exposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exposition")
    }
}

/// Everything of one scrape.
#[derive(Debug)]
struct Reading {
    tools: BTreeMap<Arc<str>, (Tally, Latencies)>,
    total: Tally,
    running: u64,
    waiting: Vec<(&'static str, u64)>,
    layers: Vec<LayerStatus>,
    servers: Vec<ServerRows>,
    registered: BTreeMap<Arc<str>, u64>,
    approvals: u64,
    up: Duration,
}

/// A label and its value.
type Labels<'l, const N: usize> = [(&'static str, &'l str); N];

fn counter<const N: usize>(
    family: &mut MetricEncoder<'_>,
    labels: &Labels<'_, N>,
    value: u64,
) -> fmt::Result {
    family
        .encode_family(labels)?
        .encode_counter::<NoLabelSet, _, f64>(&value, None)
}

fn gauge<const N: usize>(
    family: &mut MetricEncoder<'_>,
    labels: &Labels<'_, N>,
    value: u64,
) -> fmt::Result {
    family.encode_family(labels)?.encode_gauge(&value)
}

/// Counters of layers that are a number of now, not one that grows.
const LEVELS: [&str; 4] = ["running", "waiting", "pending", "standing"];

impl Collector for Reading {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.calls(&mut encoder)?;
        self.load(&mut encoder)?;
        self.layers(&mut encoder)?;
        self.servers(&mut encoder)
    }
}

impl Reading {
    fn calls(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let about = "Calls that ended, by tool and status";
        let mut family =
            encoder.encode_descriptor("executions", about, None, MetricType::Counter)?;
        for (tool, (tally, _)) in &self.tools {
            let ok = [("tool_name", &**tool), ("status", "ok")];
            counter(&mut family, &ok, tally.calls - tally.errors)?;
            let error = [("tool_name", &**tool), ("status", "error")];
            counter(&mut family, &error, tally.errors)?;
        }
        let about = "Calls that failed, by tool";
        let mut family = encoder.encode_descriptor("errors", about, None, MetricType::Counter)?;
        for (tool, (tally, _)) in &self.tools {
            counter(&mut family, &[("tool_name", &**tool)], tally.errors)?;
        }
        let about = "Calls that failed, by kind of error";
        let kind = MetricType::Counter;
        let mut family = encoder.encode_descriptor("errors_by_kind", about, None, kind)?;
        for row in &self.total.by_kind {
            counter(&mut family, &[("error_kind", row.kind.as_str())], row.count)?;
        }
        let about = "How long calls took, queues included";
        let kind = MetricType::Histogram;
        let mut family = encoder.encode_descriptor("duration_seconds", about, None, kind)?;
        for (tool, (_, latencies)) in &self.tools {
            let labels = [("tool_name", &**tool)];
            family
                .encode_family(&labels)?
                .encode_histogram::<NoLabelSet>(
                    latencies.sum().as_secs_f64(),
                    latencies.count(),
                    &buckets(latencies),
                    None,
                )?;
        }
        for (name, about, value) in [
            ("argument_bytes", "Bytes of arguments", self.total.bytes_in),
            ("result_bytes", "Bytes of results", self.total.bytes_out),
            (
                "results_truncated",
                "Results that a limit cut",
                self.total.truncated,
            ),
            (
                "truncated_kept_bytes",
                "Bytes kept of results that were cut",
                self.total.kept,
            ),
            (
                "truncated_cut_bytes",
                "Bytes cut from results",
                self.total.cut,
            ),
        ] {
            let mut metric = encoder.encode_descriptor(name, about, None, MetricType::Counter)?;
            metric.encode_counter::<NoLabelSet, _, f64>(&value, None)?;
        }
        Ok(())
    }

    fn load(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        for (name, about, value) in [
            (
                "calls_in_flight",
                "Calls that run or wait now",
                self.running,
            ),
            (
                "approvals_pending",
                "Calls that wait for an operator's answer",
                self.approvals,
            ),
            (
                "uptime_seconds",
                "Seconds since the deployment was started",
                self.up.as_secs(),
            ),
        ] {
            let mut metric = encoder.encode_descriptor(name, about, None, MetricType::Gauge)?;
            metric.encode_gauge(&value)?;
        }
        let about = "Calls that wait now, by layer";
        let mut family =
            encoder.encode_descriptor("calls_waiting", about, None, MetricType::Gauge)?;
        for (layer, count) in &self.waiting {
            gauge(&mut family, &[("layer", layer)], *count)?;
        }
        Ok(())
    }

    fn layers(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let grow = |layer: &LayerStatus| -> Vec<(&'static str, u64)> {
            let counters = layer.counters.iter();
            let counters = counters.filter(|counter| !LEVELS.contains(&counter.name));
            counters
                .map(|counter| (counter.name, counter.value))
                .collect()
        };
        let about = "What the layers of the chain have done";
        let mut family =
            encoder.encode_descriptor("layer_events", about, None, MetricType::Counter)?;
        for layer in &self.layers {
            for (event, value) in grow(layer) {
                counter(
                    &mut family,
                    &[("layer", layer.name), ("event", event)],
                    value,
                )?;
            }
        }
        let about = "Whether an operator has paused the layer";
        let mut family =
            encoder.encode_descriptor("layer_paused", about, None, MetricType::Gauge)?;
        for layer in &self.layers {
            gauge(
                &mut family,
                &[("layer", layer.name)],
                u64::from(layer.paused),
            )?;
        }
        let drill = self.layers.iter().any(|layer| layer.drill.is_some());
        let about = "Whether a fault drill is on";
        let mut metric =
            encoder.encode_descriptor("fault_drill", about, None, MetricType::Gauge)?;
        metric.encode_gauge(&u64::from(drill))
    }

    fn servers(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let about = "Tools that are registered, by source";
        let mut family = encoder.encode_descriptor("tools", about, None, MetricType::Gauge)?;
        for (source, count) in &self.registered {
            gauge(&mut family, &[("source", &**source)], *count)?;
        }
        let servers = || self.servers.iter().flat_map(|rows| rows.iter());
        let about = "Whether calls can reach the server";
        let mut family = encoder.encode_descriptor("server_up", about, None, MetricType::Gauge)?;
        for server in servers() {
            let labels = [("source", &*server.source), ("server", &*server.name)];
            gauge(&mut family, &labels, u64::from(server.state.is_up()))?;
        }
        let about = "The state of the server: 1 for the one that it is in";
        let mut family =
            encoder.encode_descriptor("server_state", about, None, MetricType::Gauge)?;
        for server in servers() {
            for state in ServerState::ALL {
                let labels = [
                    ("source", &*server.source),
                    ("server", &*server.name),
                    ("state", state.as_str()),
                ];
                gauge(&mut family, &labels, u64::from(server.state == state))?;
            }
        }
        let about = "How often the server was connected again after a loss";
        let kind = MetricType::Counter;
        let mut family = encoder.encode_descriptor("server_reconnects", about, None, kind)?;
        for server in servers() {
            let labels = [("source", &*server.source), ("server", &*server.name)];
            counter(&mut family, &labels, u64::from(server.reconnects))?;
        }
        Ok(())
    }
}

/// Bound and count of each bucket, the last one without a bound.
fn buckets(latencies: &Latencies) -> Vec<(f64, u64)> {
    let bounds = SECONDS.map(Duration::from_secs_f64);
    let mut below = 0;
    let mut buckets: Vec<_> = latencies
        .at_most(&bounds)
        .into_iter()
        .zip(SECONDS)
        .map(|(so_far, bound)| {
            let count = so_far - below;
            below = so_far;
            (bound, count)
        })
        .collect();
    buckets.push((f64::INFINITY, latencies.count() - below));
    buckets
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::executor::CallObserver;
    use crate::middleware::{Chain, Fault};
    use crate::registry::Registry as Tools;
    use crate::secrets::Secrets;
    use crate::tool::Call;

    fn exposition(chain: Chain) -> Exposition {
        let registry = Arc::new(Tools::new());
        let hub = Arc::new(Hub::new(Arc::clone(&registry), Secrets::default()));
        let observer = Arc::clone(&hub) as Arc<dyn CallObserver>;
        let executor = Executor::new(registry, chain, observer);
        Exposition::new(hub, executor, SourceSet::default(), Approvals::default())
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_called_is_told_in_both_formats_and_invented_names_share_a_label() {
        let metrics = exposition(Chain::new(vec![Arc::new(Fault::asleep())]));
        for name in ["made", "up", "names \"quoted\""] {
            metrics.executor.call(Call::new(name, json!({}))).await;
        }
        let plain = metrics.text(Format::Prometheus);
        for line in [
            "# TYPE toolcrib_executions_total counter",
            "toolcrib_executions_total{tool_name=\"_unknown\",status=\"error\"} 3",
            "toolcrib_executions_total{tool_name=\"_unknown\",status=\"ok\"} 0",
            "toolcrib_errors_total{tool_name=\"_unknown\"} 3",
            "toolcrib_errors_by_kind_total{error_kind=\"not_found\"} 3",
            "toolcrib_duration_seconds_count{tool_name=\"_unknown\"} 3",
            "toolcrib_duration_seconds_bucket{tool_name=\"_unknown\",le=\"+Inf\"} 3",
            "toolcrib_calls_in_flight 0",
            "toolcrib_fault_drill 0",
        ] {
            assert!(
                plain.lines().any(|known| known == line),
                "{line} in {plain}"
            );
        }
        assert!(!plain.contains("made"), "{plain}");
        let open = metrics.text(Format::OpenMetrics);
        assert!(open.ends_with("# EOF\n"), "{open}");
        // A histogram without this bucket is refused by scrapers.
        let last = "toolcrib_duration_seconds_bucket{le=\"+Inf\",tool_name=\"_unknown\"} 3";
        assert!(open.lines().any(|line| line == last), "{open}");
        let buckets = plain.lines().filter(|line| line.contains("_bucket{"));
        assert_eq!(buckets.count(), SECONDS.len() + 1);
        assert_eq!(
            Format::accepted("application/openmetrics-text;version=1.0.0,*/*"),
            Format::OpenMetrics
        );
        assert_eq!(Format::accepted("*/*"), Format::Prometheus);
    }

    #[test]
    fn buckets_hold_every_call_once() {
        let mut latencies = Latencies::default();
        for millis in [0, 1, 2, 30, 99_000] {
            latencies.add(Duration::from_millis(millis));
        }
        let buckets = buckets(&latencies);
        assert_eq!(buckets.len(), SECONDS.len() + 1);
        assert_eq!(buckets.iter().map(|bucket| bucket.1).sum::<u64>(), 5);
        assert_eq!(buckets[0], (0.001, 2));
        assert_eq!(buckets[14], (f64::INFINITY, 1));
    }
}
