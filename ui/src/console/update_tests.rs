//! What keys, snapshots and answers do to the shell.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;
use toolcrib::clock::Stamp;
use toolcrib::observe::{ReloadRow, Snapshot};
use toolcrib::source::ServerOrder;
use toolcrib::tool::Call;

use super::command::{Answer, Command, OrderId};
use super::event::Event;
use super::fixture::{
    ago, console, empty, failing, normal, now, options, overfull, picture, press, take,
};
use super::keymap::{KEYMAP, Press};
use super::screens::ScreenId;
use super::shared::Options;
use super::state::State;
use super::update::update;

const NORMAL: (u16, u16) = (100, 30);

fn sources() -> State {
    console(&failing(), ScreenId::Sources, NORMAL)
}

/// The bottom line.
fn footer(state: &State) -> String {
    let (_, height) = state.shared.size;
    let picture = picture(state);
    let line = picture.lines().nth(usize::from(height) - 1);
    line.unwrap_or("").trim().to_owned()
}

fn ids(commands: &[Command]) -> Vec<OrderId> {
    let id = |command: &Command| match command {
        Command::Server { id, .. }
        | Command::Reload { id }
        | Command::Accept { id, .. }
        | Command::Authorize { id, .. }
        | Command::Reply { id, .. }
        | Command::Session { id, .. }
        | Command::Call { id, .. } => Some(*id),
        Command::Cancel { id, .. }
        | Command::Preview { id, .. }
        | Command::Decide { id, .. }
        | Command::Layer { id, .. }
        | Command::SaveFiles { id, .. }
        | Command::WhatIf { id, .. }
        | Command::Save { id, .. }
        | Command::SaveParts { id, .. }
        | Command::SaveFrames { id, .. } => Some(*id),
        Command::Copy(_) | Command::Mouse(_) | Command::Bell | Command::Quit => None,
    };
    commands.iter().filter_map(id).collect()
}

fn quits(commands: &[Command]) -> bool {
    commands
        .iter()
        .any(|command| matches!(command, Command::Quit))
}

fn answer(state: &mut State, id: OrderId, text: &str) {
    update(
        state,
        Event::Answered(id, Answer::Server(Ok(text.to_owned()))),
    );
}

#[test]
fn number_keys_show_the_screens_in_their_order() {
    let mut state = console(&normal(), ScreenId::Overview, NORMAL);
    for (at, id) in ScreenId::ALL.into_iter().enumerate() {
        press(&mut state, &(at + 1).to_string());
        assert_eq!(state.screen, id);
        assert!(picture(&state).contains(id.title()));
    }
}

#[test]
fn screens_that_come_later_say_what_will_be_in_them() {
    let state = console(&normal(), ScreenId::Chat, NORMAL);
    assert!(picture(&state).contains("Here "));
}

#[test]
fn esc_goes_back_one_level_at_a_time_and_never_quits() {
    let mut state = console(&failing(), ScreenId::Overview, NORMAL);
    press(&mut state, "enter");
    assert_eq!(state.screen, ScreenId::Sources);
    press(&mut state, "enter z");
    assert!(state.shared.zoomed && state.screen().depth() == 1);
    press(&mut state, "esc");
    assert!(!state.shared.zoomed && state.screen().depth() == 1);
    press(&mut state, "esc");
    assert_eq!(
        (state.screen, state.screen().depth()),
        (ScreenId::Sources, 0)
    );
    press(&mut state, "esc");
    assert_eq!(state.screen, ScreenId::Overview);
    for _ in 0..5 {
        assert!(!quits(&press(&mut state, "esc")));
    }
}

#[test]
fn q_quits_from_the_top_level_and_goes_back_below_it() {
    let mut state = sources();
    assert!(!quits(&press(&mut state, "enter q")));
    assert_eq!(state.screen().depth(), 0);
    assert!(quits(&press(&mut state, "q")));
}

#[test]
fn q_asks_while_a_call_that_the_operator_fired_runs_and_ctrl_c_never_asks() {
    let mut state = sources();
    let call = Call::new("sim__slow", json!({}));
    let id = state.shared.order_call(call);
    assert!(!quits(&press(&mut state, "q")));
    assert!(picture(&state).contains("still runs; quit"));
    assert!(!quits(&press(&mut state, "n")));
    assert!(quits(&press(&mut state, "q y")));
    assert!(quits(&press(&mut state, "q ctrl-c")));
    press(&mut state, "n");
    let gone = Answer::Called(Box::new(Err(toolcrib::control::ControlError::Closed)));
    update(&mut state, Event::Answered(id, gone));
    assert!(quits(&press(&mut state, "q")));
}

#[test]
fn ctrl_c_quits_from_under_everything() {
    for over in ["?", ":", "/", "D"] {
        let mut state = sources();
        press(&mut state, over);
        assert!(quits(&press(&mut state, "ctrl-c")), "{over}");
    }
}

#[test]
fn a_stale_answer_is_ignored() {
    let mut state = sources();
    answer(&mut state, OrderId(77), "who asked?");
    assert_eq!(state.shared.notice, None);
    press(&mut state, "j j j");
    let first = ids(&press(&mut state, "r"));
    let second = ids(&press(&mut state, "r"));
    answer(&mut state, first[0], "from before the second order");
    assert!(!picture(&state).contains("from before"));
    answer(&mut state, second[0], "reconnected");
    assert!(footer(&state).contains("reconnected"));
    press(&mut state, "j");
    answer(&mut state, second[0], "a second time");
    assert!(!picture(&state).contains("a second time"));
}

#[test]
fn an_order_goes_to_the_selected_server() {
    let mut state = sources();
    press(&mut state, "j j j");
    let commands = press(&mut state, "r");
    assert!(matches!(
        commands.as_slice(),
        [Command::Server { source, server, order: ServerOrder::Reconnect, .. }]
            if **source == *"clock" && **server == *"clock"
    ));
    // It is not connected: there is nothing to probe.
    assert_eq!(press(&mut state, "p").len(), 0);
    press(&mut state, "k k");
    let commands = press(&mut state, "p");
    assert!(matches!(
        commands.as_slice(),
        [Command::Server { server, order: ServerOrder::Probe, .. }] if **server == *"web"
    ));
}

#[test]
fn disabling_asks_with_the_name_and_only_a_yes_does_it() {
    let mut state = sources();
    press(&mut state, "D");
    assert!(picture(&state).contains("disable `files` of source `files`?"));
    assert_eq!(footer(&state), "y yes  n no");
    assert_eq!(press(&mut state, "x enter n").len(), 0);
    assert!(!picture(&state).contains("disable `files`"));
    let commands = press(&mut state, "D y");
    assert!(matches!(
        commands.as_slice(),
        [Command::Server {
            order: ServerOrder::Disable,
            ..
        }]
    ));
}

#[test]
fn read_only_refuses_changes_shows_so_and_does_not_offer_them() {
    let options = Options {
        read_only: true,
        ..options(ScreenId::Sources)
    };
    let mut state = State::new(options, &failing(), NORMAL);
    assert!(picture(&state).contains("read-only"));
    assert!(!footer(&state).contains("reconnect"));
    for key in ["r", "p", "D"] {
        assert_eq!(press(&mut state, key).len(), 0, "{key}");
        assert!(footer(&state).contains("started with --read-only"), "{key}");
    }
    press(&mut state, ":");
    press(&mut state, "reconnect enter");
    assert!(footer(&state).contains("started with --read-only"));
}

#[test]
fn the_footer_shows_the_keys_that_work_now_and_no_others() {
    let mut state = sources();
    assert!(footer(&state).contains("r reconnect"));
    assert!(!footer(&state).contains("esc back"));
    press(&mut state, "j j");
    // A simulated source has no connection.
    assert!(!footer(&state).contains("reconnect"));
    press(&mut state, "enter");
    assert!(footer(&state).contains("w wrap"));
    assert!(!footer(&state).contains("s sort"));
}

#[test]
fn a_notice_stands_until_the_next_key_or_for_some_seconds() {
    let mut state = sources();
    press(&mut state, "m");
    assert!(footer(&state).contains("mouse on"));
    press(&mut state, "j");
    assert!(!footer(&state).contains("mouse on"));
    press(&mut state, "m");
    let later = Stamp {
        at: now().at + Duration::from_secs(30),
        wall: now().wall,
    };
    update(&mut state, Event::Tick(later));
    assert!(!footer(&state).contains("mouse"));
}

#[test]
fn a_frozen_view_stays_and_the_header_moves_on() {
    let mut state = console(&normal(), ScreenId::Sources, NORMAL);
    press(&mut state, "space");
    take(&mut state, &failing());
    let frozen = picture(&state);
    assert!(frozen.contains("frozen") && frozen.contains("failed"));
    assert!(!frozen.contains("clock"));
    press(&mut state, "space");
    let thawed = picture(&state);
    assert!(!thawed.contains("frozen"));
    assert!(thawed.contains("clock"));
}

#[test]
fn the_filter_acts_while_typing_enter_keeps_it_and_esc_takes_it_back() {
    let mut state = sources();
    press(&mut state, "/ clo");
    assert!(footer(&state).starts_with("/ clo"));
    assert!(!picture(&state).contains("mail"));
    press(&mut state, "enter");
    assert_eq!(state.screen().filter(), "clo");
    press(&mut state, "/ backspace backspace backspace mail esc");
    assert_eq!(state.screen().filter(), "clo");
    press(&mut state, "esc");
    assert_eq!(state.screen().filter(), "");
    assert!(picture(&state).contains("mail"));
}

#[test]
fn pasted_text_goes_into_the_line_that_is_typed() {
    let mut state = sources();
    press(&mut state, "/");
    update(&mut state, Event::Paste("clo\nck\x1b".into()));
    assert_eq!(state.screen().filter(), "clock");
}

#[test]
fn the_palette_does_an_action_by_its_name_completes_it_and_says_what_does_not_work() {
    let mut state = sources();
    press(&mut state, ": rec tab");
    assert!(picture(&state).contains(": reconnect"));
    let commands = press(&mut state, "enter");
    assert!(matches!(commands.as_slice(), [Command::Server { .. }]));
    press(&mut state, "ctrl-p telem enter");
    assert_eq!(state.screen, ScreenId::Telemetry);
    press(&mut state, ": reconnect enter");
    assert!(footer(&state).contains("does nothing here"));
    press(&mut state, ": help enter");
    assert!(picture(&state).contains("Keys of this screen"));
    press(&mut state, "esc");
    press(&mut state, ": zzz");
    assert!(picture(&state).contains("no action has such a name"));
    press(&mut state, "esc");
    assert!(state.overlay.is_none());
}

#[test]
fn the_help_names_every_key_and_can_be_searched() {
    let mut state = console(&failing(), ScreenId::Sources, (100, 120));
    press(&mut state, "?");
    let help = picture(&state);
    for row in KEYMAP {
        let key = match row.keys.first() {
            Some(key) => key.label(),
            // The palette alone does it; a long name is cut.
            None => format!(": {}", row.name.get(..12).unwrap_or(row.name)),
        };
        assert!(
            help.contains(&key) && help.contains(&row.about[..12]),
            "{}",
            row.name
        );
    }
    press(&mut state, "clipboard");
    let found = picture(&state);
    assert!(found.contains("copy what is selected"));
    assert!(!found.contains("half a page"));
    press(&mut state, "esc");
    assert!(state.overlay.is_none());
}

#[test]
fn ctrl_s_writes_what_is_on_the_screen_and_says_where() {
    let mut state = sources();
    let shown = picture(&state);
    let commands = press(&mut state, "ctrl-s");
    let [Command::Save { id, name, text }] = commands.as_slice() else {
        panic!("{commands:?}");
    };
    assert_eq!(name, "toolcrib-sources-20261130-121452.txt");
    // All but the footer, which says what can be pressed.
    let lines = |text: &str| text.lines().take(29).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines(text), lines(&shown));
    update(
        &mut state,
        Event::Answered(*id, Answer::Saved(Ok("/srv/x.txt".into()))),
    );
    assert!(footer(&state).contains("wrote /srv/x.txt"));
}

#[test]
fn y_copies_and_says_what() {
    let mut state = sources();
    press(&mut state, "j j j");
    let commands = press(&mut state, "y");
    assert!(matches!(commands.as_slice(), [Command::Copy(text)] if text.contains("exit code 1")));
    assert!(footer(&state).contains("copied the failure card of clock"));
}

#[test]
fn the_mouse_is_off_at_the_start_and_m_switches_it() {
    let mut state = sources();
    assert!(matches!(
        press(&mut state, "m").as_slice(),
        [Command::Mouse(true)]
    ));
    assert!(matches!(
        press(&mut state, "m").as_slice(),
        [Command::Mouse(false)]
    ));
}

#[test]
fn a_click_on_a_tab_shows_its_screen_and_the_wheel_moves() {
    use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
    let mut state = sources();
    let mouse = |kind, column, row| {
        Event::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        })
    };
    let tabs = picture(&state);
    let tabs = tabs.lines().nth(1).unwrap();
    let column = u16::try_from(tabs.find("3 Tools").unwrap()).unwrap();
    update(&mut state, mouse(MouseEventKind::ScrollDown, 5, 9));
    assert!(matches!(press(&mut state, "r").as_slice(),
        [Command::Server { server, .. }] if **server == *"web"));
    let click = MouseEventKind::Down(MouseButton::Left);
    update(&mut state, mouse(click, column, 1));
    assert_eq!(state.screen, ScreenId::Tools);
}

#[test]
fn l_shows_the_lines_of_the_selected_server_alone() {
    let mut state = sources();
    press(&mut state, "j j j l");
    assert_eq!(state.screen, ScreenId::Logs);
    let shown = picture(&state);
    assert!(shown.contains("clock/clock alone"));
    assert!(shown.contains("zone.tab"));
    assert!(!shown.contains("files/files"));
    press(&mut state, "esc");
    assert_eq!(state.screen, ScreenId::Sources);
}

#[test]
fn the_selection_stays_with_its_server_when_the_list_changes() {
    let mut state = sources();
    press(&mut state, "j j j");
    let mut changed = Snapshot::clone(&failing());
    changed.sources = changed.sources.iter().rev().cloned().collect();
    take(&mut state, &Arc::new(changed));
    assert!(matches!(press(&mut state, "r").as_slice(),
        [Command::Server { server, .. }] if **server == *"clock"));
}

#[test]
fn a_half_pressed_pair_waits_and_another_key_ends_it() {
    let mut state = console(&overfull(), ScreenId::Sources, NORMAL);
    press(&mut state, "G");
    let last = picture(&state);
    press(&mut state, "g");
    assert_eq!(picture(&state), last);
    press(&mut state, "k g g");
    assert!(picture(&state).contains("files"));
}

#[test]
fn a_broken_edit_is_told_in_the_header_of_every_screen() {
    let mut snapshot = Snapshot::clone(&normal());
    snapshot.deployment.reload = Some(Arc::new(ReloadRow {
        at: ago(3),
        problems: Arc::new(["skills/a.skill.yaml:3:1: unknown key `nmae`".to_owned()]),
        done: Arc::new([]),
    }));
    let snapshot = Arc::new(snapshot);
    for width in [140, 100, 80] {
        let state = console(&snapshot, ScreenId::Tools, (width, 24));
        let picture = picture(&state);
        let header = picture.lines().next().unwrap().to_owned();
        assert!(
            header.contains("serving  ▲ not reloaded"),
            "{width}: {header}"
        );
    }
    let mut state = console(&snapshot, ScreenId::Tools, (100, 24));
    press(&mut state, "!");
    insta::assert_snapshot!("report_of_a_broken_edit_100x24", picture(&state));
}

#[test]
fn the_header_answers_whether_all_is_well_at_every_width() {
    for width in [30, 60, 80, 120, 200] {
        let state = console(&failing(), ScreenId::Overview, (width, 30));
        let picture = picture(&state);
        let header = picture.lines().next().unwrap().to_owned();
        assert!(header.contains("failed"), "{width}: {header}");
        assert!(header.contains("servers 3/5!"), "{width}: {header}");
    }
}

#[test]
fn tabs_of_screens_that_need_attention_wear_a_mark() {
    let tabs = |snapshot: &Arc<Snapshot>| {
        let state = console(snapshot, ScreenId::Overview, (120, 30));
        picture(&state).lines().nth(1).unwrap().to_owned()
    };
    let (failing, normal) = (failing(), normal());
    assert!(tabs(&failing).contains("2 Sources!"));
    assert!(!tabs(&normal).contains('!'));
}

#[test]
fn every_key_on_every_screen_at_every_size_is_harmless() {
    let sizes = [
        (1, 1),
        (2, 2),
        (5, 3),
        (30, 8),
        (79, 23),
        (80, 24),
        (140, 42),
        (300, 90),
    ];
    let all = [empty(), normal(), failing(), overfull()];
    for id in ScreenId::ALL {
        for (at, snapshot) in all.iter().enumerate() {
            let mut state = console(snapshot, id, sizes[at]);
            for (number, row) in KEYMAP.iter().enumerate() {
                for key in row.keys {
                    let presses = match key {
                        Press::Twice(char) => vec![KeyCode::Char(*char); 2],
                        Press::Char(char) => vec![KeyCode::Char(*char)],
                        Press::Named(code) => vec![*code],
                        Press::Ctrl('c') => continue,
                        Press::Ctrl(char) => vec![KeyCode::Char(*char)],
                    };
                    let modifiers = match key {
                        Press::Ctrl(_) => KeyModifiers::CONTROL,
                        _ => KeyModifiers::NONE,
                    };
                    for code in presses {
                        update(&mut state, Event::Key(KeyEvent::new(code, modifiers)));
                    }
                }
                let (width, height) = sizes[number % sizes.len()];
                update(&mut state, Event::Resize(width, height));
                let drawn = picture(&state);
                assert!(drawn.lines().count() <= usize::from(height));
            }
        }
    }
}

#[test]
fn after_a_storm_of_sizes_the_picture_is_the_same_as_before() {
    for id in ScreenId::ALL {
        let mut state = console(&failing(), id, (140, 42));
        let before = picture(&state);
        for (width, height) in [(1, 1), (30, 8), (80, 24), (3, 200), (500, 2), (60, 20)] {
            update(&mut state, Event::Resize(width, height));
            picture(&state);
        }
        update(&mut state, Event::Resize(140, 42));
        assert_eq!(picture(&state), before, "{id:?}");
    }
}

#[test]
fn a_frame_smaller_than_the_state_believes_is_drawn() {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    for id in ScreenId::ALL {
        let state = console(&failing(), id, (140, 42));
        for (width, height) in [(1, 1), (20, 5), (80, 24)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal
                .draw(|frame| super::view::view(&state, frame))
                .unwrap();
        }
    }
}

#[test]
fn ascii_draws_nothing_else_and_no_color_no_colour() {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::style::Color;
    for id in ScreenId::ALL {
        for snapshot in [empty(), normal(), failing()] {
            let options = Options {
                ascii: true,
                colour: false,
                ..options(id)
            };
            let mut state = State::new(options, &snapshot, (140, 42));
            for keys in ["j", "enter", "] ]", "?", "esc :", "esc D"] {
                press(&mut state, keys);
                let mut terminal = Terminal::new(TestBackend::new(140, 42)).unwrap();
                let drawn = terminal
                    .draw(|frame| super::view::view(&state, frame))
                    .unwrap();
                for cell in drawn.buffer.content() {
                    assert!(
                        cell.symbol().is_ascii(),
                        "{id:?} {keys}: {:?}",
                        cell.symbol()
                    );
                    assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
                }
            }
        }
    }
}

#[test]
fn colours_are_the_sixteen_of_the_terminal() {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::style::Color;
    for id in ScreenId::ALL {
        let state = console(&failing(), id, (140, 42));
        let mut terminal = Terminal::new(TestBackend::new(140, 42)).unwrap();
        let drawn = terminal
            .draw(|frame| super::view::view(&state, frame))
            .unwrap();
        let free = |colour: Color| matches!(colour, Color::Rgb(..) | Color::Indexed(_));
        let cells = drawn.buffer.content();
        assert!(
            !cells.iter().any(|cell| free(cell.fg) || free(cell.bg)),
            "{id:?}"
        );
    }
}

#[test]
fn ages_are_those_of_the_moment_that_is_shown() {
    let mut state = console(&failing(), ScreenId::Sources, (140, 42));
    press(&mut state, "j j j");
    assert!(picture(&state).contains("next in 4 s"));
    let later = Stamp {
        at: now().at + Duration::from_secs(3),
        wall: ago(0).wall,
    };
    update(&mut state, Event::Tick(later));
    assert!(picture(&state).contains("next in 1 s"));
}
