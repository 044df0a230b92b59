//! What keys, snapshots and answers do to the shell.

use super::fixture::{console, normal, picture, press};
use super::screens::ScreenId;

#[test]
fn a_console_is_drawn() {
    let mut state = console(&normal(), ScreenId::Overview, (80, 24));
    press(&mut state, "?");
    assert!(picture(&state).contains("Keys of this screen"));
}
