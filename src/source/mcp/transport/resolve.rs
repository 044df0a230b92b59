//! Finds the file that a command names, so that a message can say where it was looked for.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::Trouble;
use crate::source::FailureKind;

/// The file behind `command`: itself when it has a slash (relative to `cwd`), otherwise the first
/// on `path`. A command named `toolcrib` that is not on the path is `own`, the running program.
pub(in super::super) fn resolve(
    command: &str,
    cwd: Option<&Path>,
    path: &OsStr,
    own: Option<&Path>,
) -> Result<PathBuf, Trouble> {
    let found = if command.contains('/') {
        let file = cwd.map_or_else(|| PathBuf::from(command), |cwd| cwd.join(command));
        is_executable(&file).then_some(file)
    } else {
        std::env::split_paths(path)
            .map(|dir| dir.join(command))
            .find(|file| is_executable(file))
            .or_else(|| own.filter(|_| command == "toolcrib").map(Path::to_path_buf))
    };
    found
        // A relative file would be looked for in the child's working directory.
        .map(|file| std::path::absolute(&file).unwrap_or(file))
        .ok_or_else(|| {
            FailureKind::CommandNotFound {
                command: command.to_owned(),
                path: path.to_string_lossy().into_owned(),
            }
            .into()
        })
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(file)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_looked_for_on_the_path_and_the_message_names_it() {
        let found = resolve("sh", None, OsStr::new("/nowhere:/bin"), None).unwrap();
        assert_eq!(found, PathBuf::from("/bin/sh"));
        let trouble = resolve("sh", None, OsStr::new("/nowhere"), None).unwrap_err();
        assert_eq!(
            trouble.kind,
            FailureKind::CommandNotFound {
                command: "sh".into(),
                path: "/nowhere".into()
            }
        );
    }

    #[test]
    fn a_command_with_a_slash_is_relative_to_its_working_directory() {
        let found = resolve("./sh", Some(Path::new("/bin")), OsStr::new(""), None).unwrap();
        assert!(found.ends_with("sh"));
        assert!(resolve("./sh", Some(Path::new("/dev")), OsStr::new(""), None).is_err());
        assert!(
            resolve("/bin", None, OsStr::new(""), None).is_err(),
            "a directory"
        );
    }

    #[test]
    fn the_own_program_stands_in_for_its_name_alone() {
        let own = Path::new("/opt/toolcrib");
        let path = OsStr::new("/nowhere");
        assert_eq!(resolve("toolcrib", None, path, Some(own)).unwrap(), own);
        assert!(resolve("other", None, path, Some(own)).is_err());
    }
}
