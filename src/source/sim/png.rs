//! PNG pictures without compression: small, real ones for simulated tools and demonstrations.

/// Signature, header, one data chunk with one stored block, and the end: all but the pixels.
const FRAME: usize = 8 + 25 + (12 + 2 + 5 + 4) + 12;
/// Length, type and checksum of a chunk.
const CHUNK: usize = 12;
/// The most that one stored block holds.
const BLOCK: usize = 65_535;
/// The longest side of a picture of a given size; past it the file is padded.
const SIDE: usize = 255;

/// A picture of one grey byte per pixel.
///
/// `pixels` holds the rows from top to bottom; what is missing is black, what is too much is cut.
pub fn grey(width: u32, height: u32, pixels: &[u8]) -> Vec<u8> {
    let rows = rows(width as usize, height as usize, pixels);
    encode(width, height, 0, None, &rows, None)
}

/// A picture of indices into a palette of up to 256 colours (red, green, blue).
///
/// `pixels` as in [`grey`]; an index outside the palette shows whatever the viewer makes of it.
pub fn indexed(width: u32, height: u32, palette: &[[u8; 3]], pixels: &[u8]) -> Vec<u8> {
    let rows = rows(width as usize, height as usize, pixels);
    encode(width, height, 3, Some(palette), &rows, None)
}

/// A file of exactly that many bytes. From 70 bytes on it is a real picture, a grey gradient;
/// below that it is the beginning of one.
pub(super) fn of_size(bytes: usize) -> Vec<u8> {
    if bytes < FRAME + 2 {
        let mut short = gradient(1, 1, None);
        short.truncate(bytes);
        return short;
    }
    let room = bytes - FRAME;
    // A padding chunk needs room for itself, so the side has to leave none or enough.
    let fitting = (1..=SIDE).rev().find(|side| {
        let pixels = side * (side + 1);
        pixels == room || pixels + CHUNK <= room
    });
    match fitting {
        Some(side) if side * (side + 1) < room => {
            gradient(side, side, Some(room - side * (side + 1) - CHUNK))
        }
        Some(side) => gradient(side, side, None),
        None => gradient(room - 1, 1, None), // too narrow for padding: one row of any width
    }
}

fn gradient(width: usize, height: usize, padding: Option<usize>) -> Vec<u8> {
    let shade = |at: usize, of: usize| at * 255 / of.max(2).saturating_sub(1) / 2;
    let pixels: Vec<u8> = (0..height)
        .flat_map(|y| (0..width).map(move |x| (shade(x, width) + shade(y, height)).min(255) as u8))
        .collect();
    let rows = rows(width, height, &pixels);
    encode(width as u32, height as u32, 0, None, &rows, padding)
}

/// Every row with the filter byte "none" before it.
fn rows(width: usize, height: usize, pixels: &[u8]) -> Vec<u8> {
    let mut rows = Vec::with_capacity(height * (width + 1));
    for y in 0..height {
        rows.push(0);
        let from = (y * width).min(pixels.len());
        let row = &pixels[from..(from + width).min(pixels.len())];
        rows.extend_from_slice(row);
        rows.resize((y + 1) * (width + 1), 0);
    }
    rows
}

fn encode(
    width: u32,
    height: u32,
    color_type: u8,
    palette: Option<&[[u8; 3]]>,
    rows: &[u8],
    padding: Option<usize>,
) -> Vec<u8> {
    let mut header = Vec::with_capacity(13);
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    header.extend([8, color_type, 0, 0, 0]);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut file, b"IHDR", &header);
    if let Some(palette) = palette {
        chunk(&mut file, b"PLTE", palette.as_flattened());
    }
    chunk(&mut file, b"IDAT", &stored(rows));
    if let Some(length) = padding {
        chunk(&mut file, b"paDd", &vec![0; length]); // a private chunk that viewers skip
    }
    chunk(&mut file, b"IEND", &[]);
    file
}

/// The zlib form of `data` in stored blocks.
fn stored(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = data.chunks(BLOCK).peekable();
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        out.push(u8::from(blocks.peek().is_none()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    out.extend(adler32(data).to_be_bytes());
    out
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    file.extend((data.len() as u32).to_be_bytes());
    let from = file.len();
    file.extend_from_slice(kind);
    file.extend_from_slice(data);
    let checksum = crc32(&file[from..]);
    file.extend(checksum.to_be_bytes());
}

fn adler32(data: &[u8]) -> u32 {
    let (a, b) = data.iter().fold((1u32, 0u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    (b << 16) | a
}

fn crc32(data: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut n = 0;
        while n < 256 {
            let mut c = n as u32;
            let mut bit = 0;
            while bit < 8 {
                c = if c & 1 == 1 {
                    0xEDB8_8320 ^ (c >> 1)
                } else {
                    c >> 1
                };
                bit += 1;
            }
            table[n] = c;
            n += 1;
        }
        table
    };
    !data.iter().fold(!0, |crc, byte| {
        TABLE[((crc ^ u32::from(*byte)) & 0xFF) as usize] ^ (crc >> 8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and lengths of the chunks, with every checksum verified.
    fn chunks(file: &[u8]) -> Vec<(String, usize)> {
        assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
        let (mut at, mut found) = (8, Vec::new());
        while at < file.len() {
            let length = u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
            let body = &file[at + 4..at + 8 + length];
            let sum = &file[at + 8 + length..at + CHUNK + length];
            assert_eq!(sum, crc32(body).to_be_bytes());
            found.push((String::from_utf8_lossy(&body[..4]).into_owned(), length));
            at += CHUNK + length;
        }
        found
    }

    #[test]
    fn a_file_has_exactly_the_size_asked_for() {
        for bytes in (0..3000).chain([65_000, 66_000, 100_000, 1_048_576]) {
            assert_eq!(of_size(bytes).len(), bytes);
        }
    }

    #[test]
    fn from_seventy_bytes_on_it_is_a_whole_picture() {
        for bytes in [70, 71, 81, 82, 500, 65_500, 300_000] {
            let found = chunks(&of_size(bytes));
            assert_eq!(found.first().unwrap(), &("IHDR".into(), 13), "{bytes}");
            assert_eq!(found.last().unwrap(), &("IEND".into(), 0), "{bytes}");
        }
        assert_eq!(of_size(12)[..8], *b"\x89PNG\r\n\x1a\n");
    }

    #[test]
    fn the_checksums_are_those_of_the_standards() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
    }

    #[test]
    fn an_indexed_picture_carries_its_palette_and_long_data_takes_several_blocks() {
        let file = indexed(300, 300, &[[0, 0, 0], [255, 0, 0]], &vec![1; 90_000]);
        let data = 2 + 2 * 5 + 300 * 301 + 4;
        let expected = [("IHDR", 13), ("PLTE", 6), ("IDAT", data), ("IEND", 0)];
        assert_eq!(
            chunks(&file),
            expected.map(|(name, length)| (name.to_owned(), length))
        );
        assert_eq!(grey(2, 2, &[9]).len(), FRAME + 6);
    }
}
