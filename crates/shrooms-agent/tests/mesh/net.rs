//! The network: namespaces with WireGuard between them, made by the script that the suite names.
//! Whatever happens, one ends with everything in it.

use std::fs::File;
use std::io::{Read, Seek};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicU16, Ordering};

/// The script, as the suite names it; from the workspace's root.
const SCRIPT: &str = "SHROOMS_MESHLAB";
/// Names of networks begin so, and go on with the process that made them.
const OURS: &str = "shrooms";
/// What the script and the tests run.
const PROGRAMS: [&str; 9] = ["ip", "wg", "nft", "nsenter", "unshare", "ping", "timeout", "python3", "curl"];

static NEXT: AtomicU16 = AtomicU16::new(1);
static SWEPT: Once = Once::new();

pub struct Net {
    name: String,
    script: PathBuf,
}

impl Net {
    /// A network of this many machines, m1 and on; or what it takes and is not there.
    pub fn up(machines: usize) -> Result<Net, String> {
        let path = std::env::var_os(SCRIPT).ok_or(format!("{SCRIPT} is not set; cargo xtask test --suite mesh"))?;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        let script = path.canonicalize().map_err(|_| format!("{SCRIPT}: no {}", path.display()))?;
        if !rustix::process::geteuid().is_root() {
            return Err("only root may make network namespaces".to_string());
        }
        for program in PROGRAMS {
            let found = run(Command::new("sh").args(["-c", "command -v \"$0\"", program]));
            found.map_err(|_| format!("no {program}; cargo xtask setup --system"))?;
        }
        File::options().read(true).write(true).open("/dev/net/tun").map_err(|e| format!("/dev/net/tun: {e}"))?;
        let name = format!("{OURS}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let trial = format!("{name}-trial");
        run(Command::new("ip").args(["netns", "add", &trial]))?;
        run(Command::new("ip").args(["netns", "del", &trial]))?;
        SWEPT.call_once(|| sweep(&script));
        let net = Net { name, script };
        // From here on it can be had: that it cannot is a failure.
        net.run(&["up", &machines.to_string()]);
        Ok(net)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.script);
        command.args(args).env("MESHLAB_NAME", &self.name);
        command
    }

    /// A command of the script, which must work.
    pub fn run(&self, args: &[&str]) -> String {
        run(&mut self.command(args)).unwrap_or_else(|why| panic!("{why}"))
    }

    /// A command on a machine, which must work.
    pub fn on(&self, machine: usize, args: &[&str]) -> String {
        run(&mut self.there(machine, args)).unwrap_or_else(|why| panic!("{why}"))
    }

    /// The same, not run yet.
    pub fn there(&self, machine: usize, args: &[&str]) -> Command {
        self.command(&[&["exec", &named(machine)], args].concat())
    }

    /// The words before a command that is to run on a machine.
    pub fn through(&self, machine: usize) -> Vec<String> {
        let script = self.script.display().to_string();
        ["env", &format!("MESHLAB_NAME={}", self.name), &script, "exec", &named(machine)].map(str::to_string).to_vec()
    }

    pub fn overlay(&self, machine: usize) -> IpAddr {
        self.run(&["addr", &named(machine)]).trim().parse().unwrap()
    }

    /// The file that its tunnel was set up by.
    pub fn conf(&self, machine: usize) -> String {
        format!("/tmp/meshlab.{}/{}/wg.conf", self.name, named(machine))
    }

    /// Its address on the cable below the overlay, where any neighbour is.
    pub fn link_local(&self, machine: usize) -> String {
        let shown = self.on(machine, &["ip", "-6", "-br", "addr", "show", "dev", "eth0", "scope", "link"]);
        let address = shown.split_whitespace().nth(2).and_then(|a| a.split('/').next());
        address.unwrap_or_else(|| panic!("no link-local address: {shown}")).to_string()
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        if let Err(why) = run(&mut self.command(&["down"])) {
            println!("a network is left behind: {why}");
        }
    }
}

/// m1 is the first.
pub fn named(machine: usize) -> String {
    format!("m{}", machine + 1)
}

/// Takes down networks whose test process was killed.
fn sweep(script: &Path) {
    let listed = run(Command::new("ip").args(["netns", "list"])).unwrap_or_default();
    for line in listed.lines() {
        let Some(name) = line.strip_prefix("ml-").and_then(|rest| rest.split("-hub").next()) else { continue };
        let made_by = name.strip_prefix(OURS).and_then(|rest| rest.split('-').nth(1)).filter(|_| line.contains("-hub"));
        if made_by.is_some_and(|pid| !lives(pid)) {
            // Somebody else may sweep at the same time.
            let _ = run(Command::new(script).arg("down").env("MESHLAB_NAME", name));
        }
    }
}

/// One that nobody has waited for yet has no command line any more.
fn lives(pid: &str) -> bool {
    std::fs::read(Path::new("/proc").join(pid).join("cmdline")).is_ok_and(|words| !words.is_empty())
}

/// Its output goes by a file: what a command leaves running (a delay line) may hold a pipe open.
fn run(command: &mut Command) -> Result<String, String> {
    let mut output = tempfile::tempfile().unwrap();
    let twice = || output.try_clone().unwrap();
    let ran = command.stdin(Stdio::null()).stdout(twice()).stderr(twice()).status();
    let status = ran.map_err(|e| format!("{command:?}: {e}"))?;
    let mut said = String::new();
    output.rewind().and_then(|()| output.read_to_string(&mut said)).map_err(|e| e.to_string())?;
    if status.success() { Ok(said) } else { Err(format!("{command:?}: {said}")) }
}
