//! A bar chart as a PNG picture.

use toolcrib::source::sim::png;

const WIDTH: usize = 240;
const HEIGHT: usize = 120;
/// Room around the bars.
const EDGE: usize = 6;
/// More bars than this would be thinner than a pixel and its gap.
pub(super) const MOST_BARS: usize = 100;

const PAPER: u8 = 0;
const GRID: u8 = 1;
const AXIS: u8 = 2;
const BAR: u8 = 3;
const NEGATIVE: u8 = 4;
const PALETTE: [[u8; 3]; 5] = [
    [250, 250, 247],
    [224, 224, 218],
    [70, 70, 70],
    [36, 113, 163],
    [192, 57, 43],
];

/// The chart of at least one finite value.
pub(super) fn draw(values: &[f64]) -> Vec<u8> {
    let mut pixels = vec![PAPER; WIDTH * HEIGHT];
    let mut fill = |left: usize, right: usize, top: usize, bottom: usize, colour: u8| {
        for row in pixels[top * WIDTH..bottom * WIDTH].chunks_mut(WIDTH) {
            row[left..right].fill(colour);
        }
    };
    let most = values.iter().copied().fold(0.0, f64::max);
    let least = values.iter().copied().fold(0.0, f64::min);
    let span = if most > least { most - least } else { 1.0 };
    let inside = HEIGHT - 2 * EDGE;
    let height_of = |value: f64| EDGE + ((most - value) / span * inside as f64).round() as usize;
    for quarter in 0..=4 {
        let line = EDGE + inside * quarter / 4;
        fill(EDGE, WIDTH - EDGE, line, line + 1, GRID);
    }
    let (zero, room) = (height_of(0.0), WIDTH - 2 * EDGE);
    for (index, value) in values.iter().take(MOST_BARS).enumerate() {
        let count = values.len().min(MOST_BARS);
        let (left, right) = (room * index / count, room * (index + 1) / count);
        let gap = usize::from(right - left > 2) + (right - left) / 6;
        let end = height_of(*value);
        let (left, right) = (EDGE + left, EDGE + right - gap);
        if *value < 0.0 {
            fill(left, right, zero, end, NEGATIVE);
        } else {
            fill(left, right, end, zero, BAR);
        }
    }
    fill(EDGE, WIDTH - EDGE, zero, zero + 1, AXIS);
    png::indexed(WIDTH as u32, HEIGHT as u32, &PALETTE, &pixels)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row of pixels at that height, from the stored data of the picture.
    fn row(picture: &[u8], y: usize) -> Vec<u8> {
        let data = picture.windows(4).position(|kind| kind == b"IDAT").unwrap();
        let from = data + 4 + 2 + 5 + y * (WIDTH + 1) + 1;
        picture[from..from + WIDTH].to_vec()
    }

    #[test]
    fn a_taller_value_is_a_taller_bar_and_a_negative_one_hangs() {
        let picture = draw(&[4.0, 2.0, -4.0]);
        let colours = |y| {
            let row = row(&picture, y);
            [row[20], row[100], row[180]]
        };
        let (paper, grid) = (PAPER, GRID);
        assert_eq!(colours(EDGE + 8), [BAR, paper, paper]);
        assert_eq!(colours(HEIGHT / 2 - 8), [BAR, BAR, paper]);
        assert_eq!(colours(HEIGHT / 2), [AXIS; 3]);
        assert_eq!(colours(HEIGHT / 2 + 8), [paper, paper, NEGATIVE]);
        assert_eq!(colours(EDGE), [BAR, grid, grid]);
    }

    #[test]
    fn flat_and_crowded_values_are_drawn_as_well() {
        for values in [
            vec![0.0],
            vec![-1.0; 3],
            vec![1e300, -1e300],
            vec![1.0; 500],
        ] {
            assert!(draw(&values).len() > WIDTH * HEIGHT);
        }
    }
}
