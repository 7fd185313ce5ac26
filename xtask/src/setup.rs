//! `cargo xtask setup --system`: the programs that some tests need from this machine.
//! Tests without them skip and say so; here they are installed where they are missing.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

struct Need {
    program: &'static str,
    package: &'static str,
    why: &'static str,
}

static NEEDS: [Need; 8] = [
    Need { program: "ip", package: "iproute2", why: "network namespaces: machines in a box" },
    Need { program: "wg", package: "wireguard-tools", why: "sets up the mesh between them" },
    Need { program: "wireguard-go", package: "wireguard-go", why: "WireGuard where the kernel has none" },
    Need { program: "nft", package: "nftables", why: "cuts and heals links" },
    Need { program: "ping", package: "iputils-ping", why: "waits until a link is up" },
    Need { program: "git", package: "git", why: "sessions work in repositories" },
    Need { program: "python3", package: "python3", why: "slows links down, and plain programs to compare with" },
    Need { program: "curl", package: "curl", why: "a client that is not ours" },
];

/// Where Debian has programs; /usr/sbin is not on every user's PATH.
const FOLDERS: [&str; 6] = ["/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin", "/sbin"];

/// Installs the missing packages and prints which. True when nothing is missing any more.
///
/// # Errors
/// Not root, no apt-get, or the installation failed; says what to run.
pub fn system() -> Result<bool> {
    let absent = missing(|path| path.exists());
    if absent.is_empty() {
        println!("nothing to install: every program is there");
        return Ok(true);
    }
    for need in &absent {
        println!("missing: {} (package {}: {})", need.program, need.package, need.why);
    }
    let packages: Vec<&str> = absent.iter().map(|need| need.package).collect();
    let by_hand = format!("apt-get install {}", packages.join(" "));
    if !rustix::process::geteuid().is_root() {
        bail!("only root may install them; run: sudo {by_hand}");
    }
    if !exists("apt-get", &|path| path.exists()) {
        bail!("this is no Debian; install what provides these programs by hand");
    }
    apt_get(&["update", "--quiet"])?;
    let mut install = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    install.extend(&packages);
    apt_get(&install)?;
    match missing(|path| path.exists()).first() {
        None => {
            println!("installed: {}", packages.join(" "));
            Ok(true)
        }
        Some(need) => bail!("{} is still missing after: {by_hand}", need.program),
    }
}

fn missing(on_disk: impl Fn(&Path) -> bool) -> Vec<&'static Need> {
    NEEDS.iter().filter(|need| !exists(need.program, &on_disk)).collect()
}

fn exists(program: &str, on_disk: &impl Fn(&Path) -> bool) -> bool {
    FOLDERS.iter().any(|folder| on_disk(&Path::new(folder).join(program)))
}

fn apt_get(args: &[&str]) -> Result<()> {
    println!("+ apt-get {}", args.join(" "));
    let status = Command::new("apt-get")
        .args(args)
        // No package may stop to ask.
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .status()
        .context("cannot start apt-get")?;
    if !status.success() {
        bail!("apt-get {} failed ({status}): is the package archive reachable?", args.join(" "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(there: &[&str], expected: &str) {
        let absent = missing(|path| there.iter().any(|have| path == Path::new(have)));
        let packages: Vec<&str> = absent.iter().map(|need| need.package).collect();
        assert_eq!(packages.join(" "), expected);
    }

    #[test]
    fn only_what_is_on_no_path_is_missing() {
        check(
            &["/usr/sbin/ip", "/usr/local/bin/git", "/usr/bin/curl"],
            "wireguard-tools wireguard-go nftables iputils-ping python3",
        );
        let all =
            ["/sbin/ip", "/bin/wg", "/usr/bin/wireguard-go", "/sbin/nft", "/bin/ping", "/bin/git", "/bin/python3"];
        check(&[all.as_slice(), &["/bin/curl"]].concat(), "");
    }
}
