//! A full disk takes no result away. Needs the right to mount; says so where that is missing.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "mount is a program")]

mod support;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use shrooms_runner::{Ended, Refusal};
use support::{Place, run, start, to_the_end};

/// A small file system over a directory, gone with the value.
struct Small(tempfile::TempDir);

impl Small {
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(dir.path())
            .output()
            .is_ok_and(|out| out.status.success());
        if !mounted {
            eprintln!("SKIPPED: this test needs the right to mount a tmpfs");
            return None;
        }
        Some(Self(dir))
    }

    fn place(&self) -> Place {
        Place::at(tempfile::tempdir_in(self.0.path()).unwrap())
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// Until not one byte more fits.
fn fill(dir: &Path) {
    let mut file = fs::File::create(dir.join("fill")).unwrap();
    for size in [4096, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
}

#[tokio::test]
async fn an_exit_record_survives_a_disk_that_filled_up_meanwhile() {
    let Some(small) = Small::new() else { return };
    let place = small.place();
    let script = "echo $$ > main; until [ -e fill ] && ! echo x > probe; do sleep 0.02; done 2>/dev/null; \
        echo the end; exit 4";
    let mut run = start(place.spec(script)).await;
    place.pid_in("main").await;
    fill(place.dir.path());
    let told = to_the_end(&mut run).await;
    assert_eq!((told.exit().code, told.exit().tail.as_str()), (Some(4), "the end"));
    assert_eq!(place.trace().exit.as_ref(), Some(told.exit()));
}

#[tokio::test]
async fn a_full_disk_refuses_the_run_and_leaves_nothing() {
    let Some(small) = Small::new() else { return };
    let place = small.place();
    fs::write(place.lock(), "").unwrap();
    fill(place.dir.path());
    let mut spec = place.spec("touch /proc/self/cwd/ran");
    for stdin in ["", "text"] {
        spec.stdin = stdin.into();
        let told = run(spec.clone()).await;
        assert!(matches!(told.ended, Ended::Refused { why: Refusal::Disk, .. }), "{:?}", told.ended);
        assert_eq!(fs::read_dir(place.run_dir()).unwrap().count(), 0);
    }
    fs::remove_file(place.file("fill")).unwrap();
    assert_eq!(run(place.spec("exit 0")).await.exit().code, Some(0));
}
