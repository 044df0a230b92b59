//! Writes output files: below the deployment only, readable by the owner only (skills 5.8).

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// Writes a file anew. Parents are created; neither they nor the file may be a link that leads
/// out of `base`.
///
/// # Errors
/// When the file lies outside, or cannot be written.
pub(super) fn write(base: &Path, path: &Path, body: &[u8]) -> io::Result<()> {
    let outside = || io::Error::other("it would lie outside the directory of the deployment");
    let parent = path.parent().ok_or_else(outside)?;
    let name = path.file_name().ok_or_else(outside)?;
    // What exists decides before anything is created.
    if !stays_inside(base, path)? {
        return Err(outside());
    }
    fs::create_dir_all(parent)?;
    if !stays_inside(base, path)? {
        return Err(outside());
    }
    // A new file takes the old one's place: no link is followed, and a reader never sees half.
    let mut file = tempfile::Builder::new()
        .prefix(".toolcrib-")
        .tempfile_in(parent)?;
    file.write_all(body)?;
    file.persist(parent.join(name))
        .map_err(|error| error.error)?;
    Ok(())
}

/// Whether the directory of a file, as far as there is one, lies in `base` once links are followed.
///
/// # Errors
/// When that cannot be told, because `base` is not there for one.
pub(crate) fn stays_inside(base: &Path, path: &Path) -> io::Result<bool> {
    let mut parents = path.ancestors().skip(1);
    match parents.find(|dir| dir.exists()) {
        Some(dir) => Ok(dir.canonicalize()?.starts_with(base.canonicalize()?)),
        None => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_file_is_written_with_its_parents_for_the_owner_alone() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("a/b/c.txt");
        write(base.path(), &path, b"one").unwrap();
        write(base.path(), &path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_that_leads_out_is_not_followed() {
        let (base, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(other.path(), base.path().join("out")).unwrap();
        assert!(write(base.path(), &base.path().join("out/x"), b"").is_err());
        assert!(write(base.path(), &base.path().join("out/new/x"), b"").is_err());
        fs::write(other.path().join("victim"), b"kept").unwrap();
        symlink(other.path().join("victim"), base.path().join("link")).unwrap();
        write(base.path(), &base.path().join("link"), b"new").unwrap();
        assert_eq!(fs::read(other.path().join("victim")).unwrap(), b"kept");
    }
}
