//! Pictures of the screen, and what its keys do.

use crate::console::fixture::{console, empty, failing, normal, overfull, picture, press};
use crate::console::screens::ScreenId;

#[test]
fn pictures() {
    for (name, snapshot) in [
        ("empty", empty()),
        ("normal", normal()),
        ("failing", failing()),
        ("overfull", overfull()),
    ] {
        for (width, height) in [(80, 24), (140, 42)] {
            let state = console(&snapshot, ScreenId::Overview, (width, height));
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), picture(&state));
        }
    }
}

#[test]
fn tiny_sizes_still_say_what_is_wrong() {
    let state = console(&failing(), ScreenId::Overview, (30, 8));
    insta::assert_snapshot!("failing_30x8", picture(&state));
}

#[test]
fn enter_goes_to_what_needs_attention_and_esc_comes_back() {
    let mut state = console(&failing(), ScreenId::Overview, (140, 42));
    press(&mut state, "j enter");
    let shown = picture(&state);
    assert!(shown.contains("HTTP 401"), "{shown}");
    press(&mut state, "esc");
    assert!(picture(&state).contains("Needs attention"));
}

#[test]
fn the_hint_is_there_for_newcomers_and_goes_when_told_to() {
    let mut state = console(&normal(), ScreenId::Overview, (100, 30));
    assert!(picture(&state).contains("New here?"));
    press(&mut state, "x");
    assert!(!picture(&state).contains("New here?"));
}

#[test]
fn tab_goes_to_the_sources_and_enter_opens_one() {
    let mut state = console(&failing(), ScreenId::Overview, (140, 42));
    press(&mut state, "tab j enter");
    let shown = picture(&state);
    assert!(shown.contains("/usr/bin/web-server"), "{shown}");
}
