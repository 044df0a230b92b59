//! `web`: a small site, figures and a picture, over streamable HTTP.

mod api;
mod chart;
mod figures;
mod site;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use rmcp::model::ContentBlock;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use toolcrib::clock::Stamp;

use super::arguments::Arguments;
use super::server::{Answer, Client, Effect, Outcome, Server, ToolSpec, Toolset, say};

/// The path of the endpoint.
pub(super) const PATH: &str = "/mcp";

pub(super) use api::{KEY as API_KEY, PATH as API_PATH};

/// The server.
pub(super) struct Web;

/// Serves on `listener` until `stop` fires, then closes all sessions.
pub(super) async fn serve(listener: TcpListener, stop: CancellationToken) -> std::io::Result<()> {
    let toolset = Arc::new(Web);
    let service = StreamableHttpService::new(
        move || Ok(Server(Arc::clone(&toolset))),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default().with_cancellation_token(stop.child_token()),
    );
    let router = axum::Router::new()
        .nest_service(PATH, service)
        .nest(API_PATH, api::router());
    axum::serve(listener, router)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
}

/// Listens on a loopback address; others are refused, for nothing here asks who is calling.
pub(super) async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    if !address.ip().is_loopback() {
        let message = format!("`{address}` is no loopback address; use 127.0.0.1");
        return Err(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            message,
        ));
    }
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    say("web", format_args!("serving http://{address}{PATH}"));
    say("web", format_args!("serving http://{address}{API_PATH}"));
    Ok(listener)
}

impl Web {
    async fn slow_report(&self, arguments: &Arguments, client: &Client) -> Outcome {
        const STAGES: [&str; 5] = ["collecting", "sorting", "adding up", "writing", "checking"];
        let topic = arguments.required_text("topic")?;
        let seconds = arguments.whole("seconds", 10, 1..=120)?;
        let stage_time = Duration::from_secs(u64::from(seconds)) / STAGES.len() as u32;
        let mut report = format!("Report on {topic} (demo data)\n");
        for (done, stage) in STAGES.iter().enumerate() {
            client
                .progress(done as u32, STAGES.len() as u32, *stage)
                .await;
            client.log(&format!("report on {topic}: {stage}")).await;
            tokio::select! {
                () = tokio::time::sleep(stage_time) => {}
                () = client.gone().cancelled() => {
                    say("web", format_args!("report on {topic}: given up while {stage}"));
                    return Err(format!("given up while {stage}"));
                }
            }
            let _ = writeln!(report, "{}. {stage}: done", done + 1);
        }
        let total = STAGES.len() as u32;
        client.progress(total, total, "done").await;
        Ok(Answer::text(report))
    }

    async fn answer(&self, tool: &str, arguments: &Arguments, client: &Client) -> Outcome {
        match tool {
            "fetch_page" => {
                let page = site::page(arguments.required_text("path")?)?;
                client.log(&format!("GET {} 200", page.path)).await;
                Ok(Answer::text(format!("# {}\n\n{}", page.title, page.text)))
            }
            "search_pages" => {
                let limit = arguments.whole("limit", 5, 1..=20)? as usize;
                let query = arguments.required_text("query")?;
                let found = site::search(query, limit);
                let lines: Vec<String> = found
                    .iter()
                    .map(|(page, _)| format!("{}  {}", page.path, page.title))
                    .collect();
                let hits: Vec<Value> = found
                    .iter()
                    .map(|(page, score)| json!({"path": page.path, "title": page.title, "score": score}))
                    .collect();
                let text = if lines.is_empty() {
                    format!("no page has any word of `{query}`")
                } else {
                    lines.join("\n")
                };
                Ok(Answer::data(text, json!({"hits": hits})))
            }
            "weather_forecast" => {
                let days = arguments.whole("days", 3, 1..=14)?;
                let today = Stamp::now().wall.to_zoned(jiff::tz::TimeZone::UTC).date();
                let (city, days) =
                    figures::forecast(arguments.required_text("city")?, today, days)?;
                let lines: Vec<String> = days
                    .iter()
                    .map(|day| {
                        let (date, low, high) = (&day.date, day.low, day.high);
                        format!(
                            "{date}: {low} to {high} °C, {}, wind {} km/h",
                            day.sky, day.wind_kmh
                        )
                    })
                    .collect();
                let days: Vec<Value> = days
                    .into_iter()
                    .map(|day| {
                        json!({
                            "date": day.date, "low_c": day.low, "high_c": day.high,
                            "sky": day.sky, "wind_kmh": day.wind_kmh,
                        })
                    })
                    .collect();
                let text = format!("{city} (demo data)\n{}", lines.join("\n"));
                Ok(Answer::data(
                    text,
                    json!({"city": city, "days": days, "demo": true}),
                ))
            }
            "convert_currency" => {
                let amount = arguments.number("amount")?.unwrap_or_default();
                let (from, to) = (
                    arguments.required_text("from")?,
                    arguments.required_text("to")?,
                );
                let (converted, rate) = figures::exchange(amount, from, to)?;
                let text = format!(
                    "{amount} {} = {converted} {} (invented rate {rate:.4})",
                    from.to_uppercase(),
                    to.to_uppercase()
                );
                let value = json!({"amount": converted, "rate": rate, "demo": true});
                Ok(Answer::data(text, value))
            }
            "draw_chart" => self.chart(arguments),
            "slow_report" => self.slow_report(arguments, client).await,
            other => Err(format!("`{other}` is listed but not built")),
        }
    }

    fn chart(&self, arguments: &Arguments) -> Outcome {
        let values = arguments.numbers("values")?;
        let labels = arguments.texts("labels")?;
        if values.is_empty() || values.len() > chart::MOST_BARS {
            let most = chart::MOST_BARS;
            return Err(format!("`values` must hold from 1 to {most} numbers"));
        }
        if !labels.is_empty() && labels.len() != values.len() {
            let (labels, values) = (labels.len(), values.len());
            return Err(format!("there are {labels} labels for {values} values"));
        }
        let mut text = arguments.text("title")?.unwrap_or("Chart").to_owned();
        for (index, value) in values.iter().enumerate() {
            let place = (index + 1).to_string();
            let label = labels.get(index).unwrap_or(&place);
            let _ = write!(text, "\n{label}: {value}");
        }
        let picture = {
            use base64::Engine as _;
            base64::engine::general_purpose::STANDARD.encode(chart::draw(&values))
        };
        Ok(Answer {
            content: vec![
                ContentBlock::text(text),
                ContentBlock::image(picture, "image/png"),
            ],
            structured: None,
        })
    }
}

impl Toolset for Web {
    fn name(&self) -> &'static str {
        "web"
    }

    fn instructions(&self) -> &'static str {
        "The site of a made-up harbour, its weather and invented exchange rates. Nothing here is \
         true outside the demo."
    }

    fn tools(&self) -> Vec<ToolSpec> {
        let text = |what: &str| json!({"type": "string", "description": what});
        vec![
            ToolSpec {
                name: "fetch_page",
                title: "Fetch page",
                description: "Fetch a page of the site as text.",
                effect: Effect::Reads,
                properties: json!({"path": text("Path such as `/ferries`, or a whole address")}),
                required: &["path"],
            },
            ToolSpec {
                name: "search_pages",
                title: "Search the site",
                description: "Find the pages of the site that contain some words, best first.",
                effect: Effect::Reads,
                properties: json!({
                    "query": text("Words to look for"),
                    "limit": {"type": "integer", "minimum": 1, "maximum": 20, "description": "Most pages to give, 5 when absent"},
                }),
                required: &["query"],
            },
            ToolSpec {
                name: "weather_forecast",
                title: "Weather forecast",
                description: "The weather of the next days in a city: temperatures, sky, wind. \
                              Demo data for made-up cities such as Saltmere.",
                effect: Effect::Reads,
                properties: json!({
                    "city": text("Name of the city"),
                    "days": {"type": "integer", "minimum": 1, "maximum": 14, "description": "How many days, 3 when absent"},
                }),
                required: &["city"],
            },
            ToolSpec {
                name: "convert_currency",
                title: "Convert currency",
                description: "Convert an amount of money between currencies. The rates are \
                              invented and fixed.",
                effect: Effect::Reads,
                properties: json!({
                    "amount": {"type": "number", "description": "How much"},
                    "from": text("Currency code such as `EUR`"),
                    "to": text("Currency code such as `JPY`"),
                }),
                required: &["amount", "from", "to"],
            },
            ToolSpec {
                name: "draw_chart",
                title: "Draw bar chart",
                description: "Draw a bar chart of some numbers and return it as a PNG image.",
                effect: Effect::Reads,
                properties: json!({
                    "values": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": chart::MOST_BARS, "description": "One number per bar"},
                    "labels": {"type": "array", "items": {"type": "string"}, "description": "One label per bar"},
                    "title": text("What the chart shows"),
                }),
                required: &["values"],
            },
            ToolSpec {
                name: "slow_report",
                title: "Slow report",
                description: "Compile a report in five stages, which takes a while. Reports \
                              progress and sends log messages; can be cancelled.",
                effect: Effect::Reads,
                properties: json!({
                    "topic": text("What to report on"),
                    "seconds": {"type": "integer", "minimum": 1, "maximum": 120, "description": "How long it takes, 10 when absent"},
                }),
                required: &["topic"],
            },
        ]
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Arguments,
        client: &'a Client,
    ) -> BoxFuture<'a, Outcome> {
        async move { self.answer(tool, &arguments, client).await }.boxed()
    }
}

#[cfg(test)]
mod tests;
