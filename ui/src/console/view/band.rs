//! The red line that tells on every screen that faults are injected.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::Line;
use serde_json::Value;
use toolcrib::deployment::document::parse_duration;
use toolcrib::middleware::LayerStatus;

use crate::console::figures;
use crate::console::screens::faults;
use crate::console::shared::Shared;
use crate::console::theme::Health;
use crate::text::{self, Lines};

/// The layer that injects faults now, if it does.
fn layer(shared: &Shared) -> Option<&LayerStatus> {
    let mut layers = shared.newest().layers.iter();
    layers.find(|layer| layer.name == "fault" && !layer.paused)
}

/// Whether faults are injected now.
pub(in crate::console) fn injects(shared: &Shared) -> bool {
    layer(shared).is_some()
}

/// Draws it.
pub(super) fn view(shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
    let Some(layer) = layer(shared).filter(|_| !area.is_empty()) else {
        return;
    };
    let theme = shared.theme;
    let said = match &layer.drill {
        Some(drill) => format!(
            "FAULT DRILL: {} on {}, ends in {}; F on the screen Telemetry (5) ends it",
            faults(drill.latency, drill.error_rate, drill.drop),
            drill.tools.join(", "),
            figures::age(drill.left_at(shared.real_now().at))
        ),
        None => format!(
            "FAULTS ARE INJECTED, by the deployment file: {}",
            of_file(&layer.settings)
        ),
    };
    let said = text::clean(&said, Lines::One, theme.marks);
    let line = format!(" {} {said}", theme.mark(Health::Bad));
    let line = text::fit(&line, area.width.into(), theme.marks);
    let style = theme.health(Health::Bad).add_modifier(Modifier::REVERSED);
    frame.render_widget(Line::styled(line, style), area);
}

fn of_file(settings: &Value) -> String {
    let number = |key| settings.get(key).and_then(Value::as_f64).unwrap_or(0.0);
    let latency = settings.get("latency").and_then(Value::as_str);
    let latency = latency.and_then(|text| parse_duration(text).ok());
    let tools = settings.get("tools").and_then(Value::as_array);
    let tools: Vec<&str> = tools
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let what = faults(
        latency.unwrap_or_default(),
        number("error_rate"),
        number("drop"),
    );
    format!("{what} on {}", tools.join(", "))
}
