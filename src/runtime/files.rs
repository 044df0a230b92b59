//! Watches the files that a deployment stands on, and has it read again when one has changed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::RwLock;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Reload;
use super::reload::Reloader;

/// How long the files have to rest before they are read: an editor writes in several steps.
const QUIET: Duration = Duration::from_millis(200);

/// How long a change waits at most while others keep coming.
const LONGEST: Duration = Duration::from_secs(2);

/// Reads the deployment again whenever its files have changed, until it is dropped.
pub(super) async fn watch(reloader: Arc<Reloader>, reload: Reload) {
    // One word is enough: whoever hears it looks at everything.
    let (tell, mut told) = mpsc::channel::<()>(1);
    let mut files = match Files::new(tell) {
        Ok(files) => files,
        Err(error) => {
            tracing::warn!("changes of the deployment's files are not noticed: {error}");
            return;
        }
    };
    files.set(&reload.files);
    while told.recv().await.is_some() {
        let latest = Instant::now() + LONGEST;
        while Instant::now() < latest
            && let Ok(Some(())) = tokio::time::timeout(QUIET, told.recv()).await
        {}
        let (_, now) = reloader.reload_from(&reload).await;
        // A deployment that cannot be read still stands on the files it stood on.
        if let Some(now) = now {
            files.set(&now);
        }
    }
}

/// The watched directories: a file is watched by its directory, since editors put a new file in
/// the old one's place.
struct Files {
    watcher: RecommendedWatcher,
    wanted: Arc<RwLock<HashSet<PathBuf>>>,
    directories: HashSet<PathBuf>,
}

impl Files {
    fn new(tell: mpsc::Sender<()>) -> notify::Result<Self> {
        let wanted: Arc<RwLock<HashSet<PathBuf>>> = Arc::default();
        let asked = Arc::clone(&wanted);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let counts = match &event {
                Ok(event) => is_change(event.kind) && concerns(&event.paths, &asked.read()),
                // Something may have been missed.
                Err(_) => true,
            };
            if counts {
                // Full means that the word is on its way already.
                let _ = tell.try_send(());
            }
        })?;
        Ok(Self {
            watcher,
            wanted,
            directories: HashSet::new(),
        })
    }

    fn set(&mut self, files: &[PathBuf]) {
        let directories: HashSet<PathBuf> = files
            .iter()
            .flat_map(|file| {
                let parent = file.parent().map(Path::to_path_buf);
                let own = file.is_dir().then(|| file.clone());
                parent.into_iter().chain(own)
            })
            .filter(|directory| directory.is_dir())
            .collect();
        for gone in self.directories.difference(&directories) {
            // It may not be there any more.
            let _ = self.watcher.unwatch(gone);
        }
        for new in directories.difference(&self.directories) {
            if let Err(error) = self.watcher.watch(new, RecursiveMode::NonRecursive) {
                tracing::warn!("changes in `{}` are not noticed: {error}", new.display());
            }
        }
        self.directories = directories;
        *self.wanted.write() = files.iter().cloned().collect();
    }
}

/// Reading a file is no change of it, and our own reading would never end.
fn is_change(kind: EventKind) -> bool {
    !matches!(
        kind,
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_))
    )
}

/// Whether one of the files, or something within one of the directories, is meant.
fn concerns(paths: &[PathBuf], wanted: &HashSet<PathBuf>) -> bool {
    paths.iter().any(|path| {
        wanted.contains(path) || path.parent().is_some_and(|parent| wanted.contains(parent))
    })
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, CreateKind, DataChange, MetadataKind, RemoveKind, RenameMode};

    use super::*;

    #[test]
    fn writing_renaming_and_removing_are_changes_and_reading_is_none() {
        let rows = [
            (EventKind::Modify(ModifyKind::Data(DataChange::Any)), true),
            (EventKind::Modify(ModifyKind::Name(RenameMode::To)), true),
            (EventKind::Create(CreateKind::File), true),
            (EventKind::Remove(RemoveKind::File), true),
            (EventKind::Access(AccessKind::Any), false),
            (
                EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)),
                false,
            ),
        ];
        for (kind, expected) in rows {
            assert_eq!(is_change(kind), expected, "{kind:?}");
        }
    }

    #[test]
    fn the_file_itself_counts_and_whatever_is_in_a_directory_that_is_read() {
        let wanted: HashSet<PathBuf> = ["/d/toolcrib.yaml".into(), "/d/skills".into()].into();
        let of = |path: &str| concerns(&[path.into()], &wanted);
        assert!(of("/d/toolcrib.yaml") && of("/d/skills/new.skill.yaml") && of("/d/skills"));
        assert!(!of("/d/other.yaml") && !of("/d/skills/deep/file"));
    }
}
