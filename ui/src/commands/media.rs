//! Media parts of a result as files.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use toolcrib::tool::Part;

use super::Failure;

/// Names are tried up to this number; a directory that full is not meant.
const MOST: usize = 10_000;

/// Writes the images and sounds among the parts into a directory, which is made if it is missing.
/// A file that is there already is never written over. Answers with the files in the order of the
/// parts.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn save(dir: &Path, tool: &str, parts: &[Part]) -> Result<Vec<PathBuf>, Failure> {
    let failed = |path: &Path, error: &io::Error| {
        Failure::Failed(format!("cannot write `{}`: {error}", path.display()))
    };
    std::fs::create_dir_all(dir).map_err(|error| failed(dir, &error))?;
    let stem = stem(tool);
    let mut saved = Vec::new();
    let mut number = 1;
    for part in parts {
        let (Part::Image { bytes, media_type } | Part::Audio { bytes, media_type }) = part else {
            continue;
        };
        let (path, mut file) = loop {
            let path = dir.join(format!("{stem}-{number}.{}", extension(media_type)));
            number += 1;
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => break (path, file),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number <= MOST => {}
                Err(error) => return Err(failed(&path, &error)),
            }
        };
        let written = file.write_all(bytes);
        written.map_err(|error| failed(&path, &error))?;
        saved.push(path);
    }
    Ok(saved)
}

/// The tool's name as the beginning of a file name anywhere.
fn stem(tool: &str) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    tool.chars().take(64).map(plain).collect()
}

/// The usual ending of a media type.
fn extension(media_type: &str) -> &'static str {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    match essence.to_ascii_lowercase().as_str() {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "image/bmp" => "bmp",
        "image/tiff" => "tiff",
        "image/avif" => "avif",
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/ogg" => "ogg",
        "audio/flac" => "flac",
        "audio/mp4" | "audio/aac" => "m4a",
        "audio/webm" => "webm",
        _ => "bin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_parts_become_files_that_never_replace_others() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("new");
        let image = |byte: u8| Part::Image {
            bytes: vec![byte].into(),
            media_type: "image/png".into(),
        };
        let sound = Part::Audio {
            bytes: vec![9].into(),
            media_type: "audio/x-wav; rate=8000".into(),
        };
        let parts = [image(1), Part::Text("t".into()), sound];
        let names = |saved: Vec<PathBuf>| -> Vec<String> {
            let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
            saved.iter().map(name).collect()
        };
        let first = save(&target, "a/b.c", &parts).unwrap();
        assert_eq!(names(first), ["a_b_c-1.png", "a_b_c-2.wav"]);
        let second = save(&target, "a/b.c", &[image(2)]).unwrap();
        assert_eq!(names(second), ["a_b_c-2.png"]);
        assert_eq!(std::fs::read(target.join("a_b_c-1.png")).unwrap(), [1]);
        assert_eq!(std::fs::read(target.join("a_b_c-2.png")).unwrap(), [2]);
    }

    #[test]
    fn a_directory_that_cannot_be_made_fails_the_command() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let failure = save(&file, "t", &[]).unwrap_err();
        assert_eq!(failure.code(), 1);
    }
}
