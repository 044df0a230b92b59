//! Parts of a result as files.

use std::borrow::Cow;
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
    let media = parts.iter().filter_map(|part| match part {
        Part::Image { bytes, media_type } | Part::Audio { bytes, media_type } => {
            Some((Cow::Borrowed(&bytes[..]), extension(media_type)))
        }
        _ => None,
    });
    write_each(dir, tool, media)
}

/// As [`save`], with texts, data and the addresses of files among what is written.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn save_all(dir: &Path, tool: &str, parts: &[Part]) -> Result<Vec<PathBuf>, Failure> {
    let all = parts.iter().map(|part| match part {
        Part::Text(text) => (Cow::Borrowed(text.as_bytes()), "txt"),
        Part::Data { value, .. } => {
            let pretty = serde_json::to_vec_pretty(value).unwrap_or_default();
            (Cow::Owned(pretty), "json")
        }
        Part::File { uri, .. } => (Cow::Borrowed(uri.as_bytes()), "uri.txt"),
        Part::Image { bytes, media_type } | Part::Audio { bytes, media_type } => {
            (Cow::Borrowed(&bytes[..]), extension(media_type))
        }
    });
    write_each(dir, tool, all)
}

fn write_each<'p>(
    dir: &Path,
    tool: &str,
    files: impl Iterator<Item = (Cow<'p, [u8]>, &'static str)>,
) -> Result<Vec<PathBuf>, Failure> {
    let failed = |path: &Path, error: &io::Error| {
        Failure::Failed(format!("cannot write `{}`: {error}", path.display()))
    };
    std::fs::create_dir_all(dir).map_err(|error| failed(dir, &error))?;
    let stem = stem(tool);
    let mut saved = Vec::new();
    let mut number = 1;
    for (bytes, extension) in files {
        let (path, mut file) = loop {
            let path = dir.join(format!("{stem}-{number}.{extension}"));
            number += 1;
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => break (path, file),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number <= MOST => {}
                Err(error) => return Err(failed(&path, &error)),
            }
        };
        let written = file.write_all(&bytes);
        written.map_err(|error| failed(&path, &error))?;
        saved.push(path);
    }
    Ok(saved)
}

/// The tool's name as the beginning of a file name anywhere.
pub(crate) fn stem(tool: &str) -> String {
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
    fn every_part_becomes_a_file_of_its_kind() {
        let dir = tempfile::tempdir().unwrap();
        let parts = [
            Part::Text("t".into()),
            Part::json(serde_json::json!({"a": 1})),
            Part::File {
                uri: "file:///x".into(),
                media_type: None,
                name: None,
            },
        ];
        let saved = save_all(dir.path(), "t", &parts).unwrap();
        let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap();
        let texts: Vec<String> = saved.iter().map(read).collect();
        assert_eq!(texts, ["t", "{\n  \"a\": 1\n}", "file:///x"]);
        assert!(saved[2].ends_with("t-3.uri.txt"));
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
