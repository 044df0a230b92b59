//! A small HTTP JSON API of the same harbour, so that the HTTP tools of skills can be tried without
//! a network: among its answers are a rate limit, failures that heal, a picture, a text in another
//! charset and one that is too long.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::server::say;
use super::chart;

/// The path of the API.
pub(in super::super) const PATH: &str = "/api";

/// The key that booking a berth asks for.
pub(in super::super) const KEY: &str = "saltmere-berths";

/// How often ship positions may be asked for.
const EVERY: Duration = Duration::from_secs(2);

/// How many times the radar fails before it answers.
const RADAR_FAILURES: u32 = 2;

/// The size of the archive: more than any reader keeps.
const ARCHIVE_LINES: usize = 40_000;

/// Code, name and mean height of high water in metres.
const STATIONS: [(&str, &str, f64); 4] = [
    ("QUAY", "Old quay", 2.9),
    ("LOCK", "Sea lock", 2.7),
    ("BAR", "Outer bar", 3.1),
    ("KIYO", "Kiyokawa 波止場", 1.4),
];

#[derive(Default)]
struct Harbour {
    /// When ship positions were given out last.
    positions: Mutex<Option<Instant>>,
    sweeps: AtomicU32,
    bookings: AtomicU32,
}

/// The API, to be put under [`PATH`].
pub(super) fn router() -> Router {
    Router::new()
        .route("/stations", get(stations))
        .route("/tides/{station}", get(tides))
        .route("/tides/{station}/chart", get(tide_chart))
        .route("/notices", get(notices))
        .route("/positions", get(positions))
        .route("/radar", get(radar))
        .route("/archive", get(archive))
        .route("/berths", post(book))
        .fallback(|| async { fault(StatusCode::NOT_FOUND, "the API has no such path") })
        .with_state(Arc::new(Harbour::default()))
}

fn fault(status: StatusCode, message: &str) -> Response {
    say("web", format_args!("api: {}: {message}", status.as_u16()));
    (status, Json(json!({"error": message}))).into_response()
}

async fn stations() -> Json<Value> {
    let stations = STATIONS.map(|(code, name, _)| json!({"code": code, "name": name}));
    Json(json!({"stations": stations, "demo": true}))
}

/// How many days are asked for; an empty value is what a tool sends whose argument is missing.
#[derive(Deserialize)]
struct Span {
    #[serde(default)]
    days: String,
}

impl Span {
    fn days(&self) -> Option<u32> {
        match self.days.as_str() {
            "" => Some(3),
            days => days.parse().ok().filter(|days| (1..=14).contains(days)),
        }
    }
}

/// Name of the station and its high waters, two a day, in metres.
fn high_waters(code: &str, days: u32) -> Option<(&'static str, Vec<(String, f64)>)> {
    let station = STATIONS.iter().find(|(known, ..)| *known == code);
    let (_, name, mean) = station?;
    let waters = (0..days * 2).map(|number| {
        let time = format!(
            "day {} {:02}:{:02}",
            number / 2 + 1,
            1 + number % 2 * 12,
            number * 25 % 60
        );
        let spring = (f64::from(number) / 28.0 * std::f64::consts::TAU).cos() * 0.4;
        (time, ((mean + spring) * 100.0).round() / 100.0)
    });
    Some((name, waters.collect()))
}

fn unknown(code: &str) -> Response {
    let codes = STATIONS.map(|(code, ..)| code).join(", ");
    let message = format!("no station has the code `{code}`; there are {codes}");
    fault(StatusCode::NOT_FOUND, &message)
}

const DAYS: &str = "`days` is a whole number from 1 to 14";

async fn tides(Path(code): Path<String>, Query(span): Query<Span>) -> Response {
    let Some(days) = span.days() else {
        return fault(StatusCode::BAD_REQUEST, DAYS);
    };
    let Some((name, waters)) = high_waters(&code, days) else {
        return unknown(&code);
    };
    let waters = waters.into_iter();
    let waters: Vec<Value> = waters
        .map(|(time, metres)| json!({"time": time, "metres": metres}))
        .collect();
    Json(json!({"station": name, "high_waters": waters, "demo": true})).into_response()
}

async fn tide_chart(Path(code): Path<String>, Query(span): Query<Span>) -> Response {
    let Some(days) = span.days() else {
        return fault(StatusCode::BAD_REQUEST, DAYS);
    };
    let Some((_, waters)) = high_waters(&code, days) else {
        return unknown(&code);
    };
    let metres: Vec<f64> = waters.into_iter().map(|(_, metres)| metres).collect();
    ([(CONTENT_TYPE, "image/png")], chart::draw(&metres)).into_response()
}

/// Latin-1, as an old program sends it.
async fn notices() -> Response {
    const TEXT: &str = "1. Schleuse gesperrt vom 3. bis 9. Dezember (Höhenfels übernimmt).\n\
                        2. Café am Kai: geöffnet ab 7 Uhr.\n";
    let bytes: Vec<u8> = TEXT
        .chars()
        .map(|c| u8::try_from(c).unwrap_or(b'?'))
        .collect();
    let kind = [(CONTENT_TYPE, "text/plain; charset=iso-8859-1")];
    (kind, bytes).into_response()
}

/// Whoever asks again too soon is told how long to wait, in whole seconds.
async fn positions(State(harbour): State<Arc<Harbour>>) -> Response {
    let now = Instant::now();
    {
        let mut last = harbour.positions.lock();
        let passed = last.map_or(EVERY, |last| now.duration_since(last));
        if passed < EVERY {
            let wait = (EVERY - passed).as_secs_f64().ceil();
            let mut answer = fault(
                StatusCode::TOO_MANY_REQUESTS,
                "ship positions are given out every two seconds",
            );
            if let Ok(wait) = format!("{wait}").parse() {
                answer.headers_mut().insert(RETRY_AFTER, wait);
            }
            return answer;
        }
        *last = Some(now);
    }
    let ships = json!([
        {"ship": "MS Möwe", "at": [54.31, 10.13], "knots": 11.5},
        {"ship": "Ferry Nordhollow", "at": [54.35, 10.2], "knots": 17.0},
    ]);
    Json(json!({"ships": ships, "demo": true})).into_response()
}

/// Fails twice, then answers, and so on.
async fn radar(State(harbour): State<Arc<Harbour>>) -> Response {
    let sweep = harbour.sweeps.fetch_add(1, Ordering::Relaxed);
    if sweep % (RADAR_FAILURES + 1) < RADAR_FAILURES {
        let message = "the antenna is turning away, try again";
        return fault(StatusCode::SERVICE_UNAVAILABLE, message);
    }
    Json(json!({"echoes": 4, "sweep": sweep, "demo": true})).into_response()
}

async fn archive() -> Response {
    let text = "2026-11-01 00:00;QUAY;2.12;5.4;NW\n".repeat(ARCHIVE_LINES);
    let kind = [(CONTENT_TYPE, "text/csv; charset=utf-8")];
    (kind, text).into_response()
}

#[derive(Deserialize)]
struct Booking {
    vessel: String,
    length_m: f64,
    nights: u32,
    #[serde(default)]
    remarks: Option<String>,
}

async fn book(
    State(harbour): State<Arc<Harbour>>,
    headers: HeaderMap,
    body: axum::body::Bytes,
) -> Response {
    if headers.get("x-harbour-key").is_none_or(|key| key != KEY) {
        let message = "booking needs the header `X-Harbour-Key`";
        return fault(StatusCode::UNAUTHORIZED, message);
    }
    let booking: Booking = match serde_json::from_slice(&body) {
        Ok(booking) => booking,
        Err(error) => return fault(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    if !(booking.length_m > 0.0 && booking.length_m <= 14.0) {
        let message = "the berths take boats of up to 14 m";
        return fault(StatusCode::UNPROCESSABLE_ENTITY, message);
    }
    let number = harbour.bookings.fetch_add(1, Ordering::Relaxed);
    let price = booking.length_m * 2.5 * f64::from(booking.nights);
    let made = json!({
        "berth": number % 24 + 1, "vessel": booking.vessel, "nights": booking.nights,
        "price_crowns": price, "remarks": booking.remarks, "demo": true,
    });
    (StatusCode::CREATED, Json(made)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn positions_are_given_out_every_two_seconds_and_the_wait_is_told() {
        let harbour = Arc::new(Harbour::default());
        let ask = async || positions(State(Arc::clone(&harbour))).await;
        assert_eq!(ask().await.status(), 200);
        tokio::time::advance(Duration::from_millis(500)).await;
        let refused = ask().await;
        assert_eq!(refused.status(), 429);
        assert_eq!(refused.headers()[RETRY_AFTER], "2");
        tokio::time::advance(Duration::from_millis(1_500)).await;
        assert_eq!(ask().await.status(), 200);
    }

    #[tokio::test]
    async fn the_radar_fails_twice_and_then_answers() {
        let harbour = Arc::new(Harbour::default());
        let mut statuses = Vec::new();
        for _ in 0..4 {
            let answer = radar(State(Arc::clone(&harbour))).await;
            statuses.push(answer.status().as_u16());
        }
        assert_eq!(statuses, [503, 503, 200, 503]);
    }

    #[tokio::test]
    async fn a_berth_needs_the_key_and_a_boat_that_fits() {
        let harbour = Arc::new(Harbour::default());
        let ask = async |key: Option<&str>, body: Value| {
            let mut headers = HeaderMap::new();
            if let Some(key) = key {
                headers.insert("x-harbour-key", key.parse().unwrap());
            }
            let body = body.to_string().into();
            book(State(Arc::clone(&harbour)), headers, body)
                .await
                .status()
        };
        let boat = json!({"vessel": "Möwe", "length_m": 9.5, "nights": 2});
        assert_eq!(ask(None, boat.clone()).await, 401);
        assert_eq!(ask(Some("wrong"), boat.clone()).await, 401);
        assert_eq!(ask(Some(KEY), boat).await, 201);
        assert_eq!(ask(Some(KEY), json!({"vessel": "x"})).await, 400);
        let long = json!({"vessel": "x", "length_m": 15, "nights": 1});
        assert_eq!(ask(Some(KEY), long).await, 422);
    }

    #[tokio::test]
    async fn notices_are_latin_1() {
        let answer = notices().await;
        let bytes = axum::body::to_bytes(answer.into_body(), 4096)
            .await
            .unwrap();
        assert!(bytes.windows(6).any(|six| six == b"Caf\xe9 a"));
    }
}
