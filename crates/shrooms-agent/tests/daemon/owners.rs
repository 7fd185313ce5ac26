//! Who is taken for the machine's owner over TCP from its own address and on the socket: the owner's
//! programs, and no process of a session, whatever it does to hide whose it is (`docs/access.md`).

use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::http;
use crate::lab::{Lab, PROGRAM, bearing, message, poll, state, text};

/// What every program here begins with: `HOST`, `PORT` and `SOCKET` are the daemon's. `begin` sends
/// the first request, `finish` reads its answer and asks what only the owner may change; both are of
/// one connection, which is judged once.
const ASK: &str = r#"
import ctypes, os, select, signal, socket, sys, threading
def connect():
    s = socket.socket(); s.bind((HOST, 0)); s.settimeout(30); s.connect((HOST, PORT)); return s
def local():
    s = socket.socket(socket.AF_UNIX); s.settimeout(30); s.connect(SOCKET); return s
def send(s, what, body=b""):
    s.sendall(what + b" HTTP/1.1\r\nHost: %s:%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (HOST.encode(), PORT, len(body)) + body)
def status(s):
    f = s.makefile("rb", 0); line = f.readline(); length = 0
    while True:
        head = f.readline().strip().lower()
        if not head: break
        if head.startswith(b"content-length:"): length = int(head.split(b":")[1])
    while length > 0: length -= len(f.read(length)) or length
    return int(line.split()[1]) if line else 0
def begin(s, what=b"GET /v1/audit"): send(s, what)
def finish(s):
    got = [status(s)]
    try: send(s, b"POST /v1/pause", b"{}"); got.append(status(s))
    except OSError as e: got.append(0)
    return got
def fate(pid): return open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0]
"#;

/// The descriptor is on its way from a process to itself until the answer is there: the kernel's
/// table shows when.
const FLIGHT: &str = r#"
a, b = socket.socketpair()
for _ in range(5):
    s = socket.socket(); s.bind((HOST, 0)); s.setblocking(False); port = "%04X" % s.getsockname()[1]
    try: s.connect((HOST, PORT))
    except BlockingIOError: pass
    socket.send_fds(a, [b"x"], [s.fileno()])
    begin(s); s.close()
    def came():
        for row in open("/proc/net/tcp"):
            at = row.split()
            if at[1].endswith(":" + port) and at[4].split(":")[1] != "00000000": return True
    while not came(): pass
    _, fds, _, _ = socket.recv_fds(b, 1, 1)
    s = socket.socket(fileno=fds[0]); s.settimeout(30); print("asked", *finish(s), flush=True)
"#;

const UNDUMPABLE: &str = r#"
if ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) != 0: sys.exit("prctl")
s = connect(); begin(s); print("asked", *finish(s), flush=True)
"#;

const NO_LEADER: &str = r#"
def rest():
    while fate(os.getpid()) != "Z": pass
    s = connect(); begin(s); print("asked", *finish(s), flush=True); os._exit(0)
child = os.fork()
if child == 0:
    threading.Thread(target=rest).start()
    ctypes.CDLL(None).pthread_exit(None)
os.waitpid(child, 0)
"#;

/// Each child inherits the connection and its parent goes, until the answer is there.
const CHAIN: &str = r#"
for _ in range(5):
    end, mine = os.pipe()
    if os.fork() == 0:
        s = connect(); begin(s)
        while not select.select([s], [], [], 0)[0]:
            if os.fork(): os._exit(0)
        print("asked", *finish(s), flush=True); os._exit(0)
    os.close(mine); os.read(end, 1); os.close(end)
"#;

/// In a user namespace of its own, where that is allowed.
const NAMESPACE: &str = r#"
child = os.fork()
if child == 0:
    ctypes.CDLL(None).unshare(0x10000000)
    s = connect(); begin(s); print("asked", *finish(s), flush=True); os._exit(0)
os.waitpid(child, 0)
"#;

const PLAIN: &str = r#"
for s in (connect(), local()):
    begin(s); print("asked", *finish(s), flush=True)
s = connect(); begin(s, b"GET /v1/sessions"); print("sees", status(s), flush=True)
"#;

/// A machine, and who its owner is.
struct Home {
    lab: Lab,
    /// What the owner's commands are run through, where that is another user than who runs the test.
    through: Vec<String>,
}

/// Paths that other users can read, too.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Any user that is not root.
const OTHER: u32 = 65_534;

fn has_python(test: &str, through: &[String]) -> bool {
    let words = [through, &["python3".to_string(), "--version".to_string()]].concat();
    let mut command = Command::new(&words[0]);
    if !through.is_empty() {
        command.env("PATH", PATH);
    }
    let has = command.args(&words[1..]).output().is_ok_and(|said| said.status.success());
    if !has {
        println!("SKIPPED: {test}: no python3");
    }
    has
}

impl Home {
    fn of(test: &str) -> Option<Home> {
        has_python(test, &[]).then(|| Home { lab: Lab::of(&["homeserver"]), through: Vec::new() })
    }

    /// Run by a user that may not look into every process.
    fn of_another(test: &str) -> Option<Home> {
        if !rustix::process::geteuid().is_root() {
            return Home::of(test);
        }
        let through = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"].map(str::to_string).to_vec();
        let can = Command::new(&through[0]).args(&through[1..]).args([PROGRAM, "--version"]).output();
        if !can.is_ok_and(|said| said.status.success()) {
            println!("SKIPPED: {test}: another user cannot run {PROGRAM}");
            return None;
        }
        if !has_python(test, &through) {
            return None;
        }
        let mut lab = Lab::idle(&["homeserver"]);
        let address = lab[0].address;
        lab.settle("home", vec![(address, through.clone())]);
        chown(lab.dir.path(), Some(OTHER), Some(OTHER)).unwrap();
        lab[0].spawn(&[("PATH", PATH), ("HOME", "/")]);
        let home = Home { lab, through };
        poll("it answers", || home.owner("GET", "/v1/status", &json!(null)).starts_with("200"));
        Some(home)
    }

    fn at(&self) -> SocketAddr {
        (self.lab[0].address, self.lab[0].port).into()
    }

    fn file(&self, name: &str, program: &str) -> PathBuf {
        let file = self.lab.path(name);
        let machine = &self.lab[0];
        let who = format!(
            "HOST, PORT, SOCKET = {:?}, {}, {:?}\n",
            machine.address.to_string(),
            machine.port,
            machine.socket().display().to_string()
        );
        std::fs::write(&file, [&who, ASK, program].concat()).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        file
    }

    /// What a program of the owner prints.
    fn run(&self, name: &str, program: &str, words: &[&str]) -> String {
        let file = self.file(name, program).display().to_string();
        let all = [self.through.as_slice(), &["python3".to_string(), file]].concat();
        let mut command = Command::new(&all[0]);
        if !self.through.is_empty() {
            command.env("PATH", PATH);
        }
        let said = command.args(&all[1..]).args(words).current_dir("/").output().unwrap();
        assert!(said.status.success(), "{name}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap()
    }

    /// The status and the body of the owner's request on the socket.
    fn owner(&self, method: &str, path: &str, body: &Value) -> String {
        let program = r#"
try: s = local()
except OSError: print(0); sys.exit()
method, path, body = sys.argv[1:]
s.sendall(("%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (method, path, len(body), body)).encode())
said = b""
while True:
    piece = s.recv(65536)
    if not piece: break
    said += piece
head, _, body = said.decode().partition("\r\n\r\n")
print(head.split(" ")[1], body)
"#;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.run("owner.py", program, &[method, path, &body])
    }

    /// What a program of a session prints.
    fn session(&self, name: &str, program: &str) -> String {
        // Should one have had its way before, the others are seen all the same.
        self.owner("POST", "/v1/resume", &json!({}));
        let file = self.file(&format!("{name}.py"), program).display().to_string();
        let body = json!({"name": name, "dir": self.lab.dir.path(), "command": ["python3", file]});
        let made = self.owner("POST", "/v1/sessions", &body);
        assert!(made.starts_with("201"), "{made}");
        let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("t", "x")});
        let sent = self.owner("POST", &format!("/a2a/{name}"), &rpc);
        assert!(sent.starts_with("200") && sent.contains(&format!("{name}:t")), "{sent}");
        let got = self.owner("GET", &format!("/v1/tasks/{name}%3At?wait=30"), &json!(null));
        let task: Value = serde_json::from_str(got.split_once(' ').unwrap().1).unwrap();
        text(&task["task"])
    }

    /// No program of a session that asks what is the owner's alone gets it; each asks so often.
    #[track_caller]
    fn check(&self, tricks: &[(&str, &str, usize)]) {
        let mut got = Vec::new();
        for (name, program, asked) in tricks {
            let said = self.session(name, program);
            let statuses: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("asked ")).collect();
            if statuses.len() != *asked || statuses.iter().any(|s| *s != "403 403") {
                got.push(format!("{name}: {said}"));
            }
        }
        assert!(got.is_empty(), "{got:#?}");
        let audit = self.owner("GET", "/v1/audit?limit=1000", &json!(null));
        assert!(audit.starts_with("200") && !audit.contains("\"pause\""), "{audit}");
    }
}

const TRICKS: [(&str, &str, usize); 6] = [
    ("plain", PLAIN, 2),
    ("flight", FLIGHT, 5),
    ("undumpable", UNDUMPABLE, 1),
    ("leader", NO_LEADER, 1),
    ("chain", CHAIN, 5),
    ("namespace", NAMESPACE, 1),
];

#[test]
fn no_process_of_a_session_is_the_owner_from_the_machines_own_address() {
    let Some(home) = Home::of("no_process_of_a_session_is_the_owner_from_the_machines_own_address") else { return };
    home.check(&TRICKS);
    assert!(home.session("again", PLAIN).contains("sees 200"), "it is its session, and not nobody");
}

#[test]
fn nor_where_the_daemon_may_not_look_into_every_process() {
    let Some(home) = Home::of_another("nor_where_the_daemon_may_not_look_into_every_process") else { return };
    home.check(&TRICKS);
    // Its owner's are found there as well.
    let said = home.run("mine.py", "s = connect(); begin(s); print(*finish(s))", &[]);
    assert_eq!(said.trim(), "200 200");
    let said = home.run("hidden.py", &UNDUMPABLE.replace("finish(s)", "[status(s)]"), &[]);
    let root = home.through.is_empty() && rustix::process::geteuid().is_root();
    assert_eq!(said.trim(), if root { "asked 200" } else { "asked 403" }, "one that hides is nobody's");
}

#[test]
fn the_owners_programs_are_the_owner_from_the_machines_own_address() {
    let Some(home) = Home::of("the_owners_programs_are_the_owner_from_the_machines_own_address") else { return };
    let at = home.at();
    for _ in 0..20 {
        let answer = http::tcp(at.ip(), at, "GET", "/v1/audit", "");
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    let plain = "s = connect(); begin(s); print(*finish(s))";
    assert_eq!(home.run("plain.py", plain, &[]).trim(), "200 200");
    // Held by a child, too; by a child alone, whose parent is gone.
    let child = "
s = connect(); child = os.fork()
if child == 0: begin(s); print(*finish(s), flush=True); os._exit(0)
os.waitpid(child, 0)";
    assert_eq!(home.run("child.py", child, &[]).trim(), "200 200");
    let alone = "
end, mine = os.pipe()
if os.fork() == 0:
    s = connect(); parent = os.getpid()
    if os.fork(): os._exit(0)
    while os.getppid() == parent: pass
    begin(s); print(*finish(s), flush=True); os._exit(0)
os.close(mine); os.read(end, 1)";
    assert_eq!(home.run("alone.py", alone, &[]).trim(), "200 200");
    // Many at once, while others start programs.
    let many = "
all = [connect() for _ in range(20)]
for s in all: begin(s)
children = [os.fork() for _ in range(2)]
print(sorted({status(s) for s in all})) if all and 0 not in children else os._exit(0)";
    assert_eq!(home.run("many.py", many, &[]).trim(), "[200]");
}

#[test]
fn what_outlives_its_launcher_is_not_the_owner() {
    let Some(home) = Home::of("what_outlives_its_launcher_is_not_the_owner") else { return };
    // Neither the run's mark nor its lock is left on it: it is found because it came to the daemon, and
    // ended. Until then it asks as fast as it can.
    let survivor = "
launcher, out = int(sys.argv[1]), sys.argv[2]
while os.getppid() != launcher: pass
os.kill(launcher, signal.SIGKILL)
while os.getppid() == launcher: pass
while True:
    for s in (local(), connect()):
        begin(s); open(out, 'a').write('asked %s %s\\n' % tuple(finish(s)))";
    let survivor = home.file("survivor.py", survivor).display().to_string();
    let out = home.lab.path("said").display().to_string();
    let program = format!(
        "
launcher = os.getppid()
if os.fork() == 0:
    os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork(): os._exit(0)
    null = os.open('/dev/null', os.O_RDWR)
    for fd in (0, 1, 2): os.dup2(null, fd)
    os.closerange(3, 1024)
    os.execve(sys.executable, [sys.executable, {survivor:?}, str(launcher), {out:?}], {{}})
os.wait(); signal.pause()"
    );
    let file = home.file("kills.py", &program).display().to_string();
    home.lab[0].add("kills", home.lab.dir.path(), &["python3", &file]);
    home.lab[0].cli(&["a2a", "send", "--id", "t", "kills", "x"]);
    poll("its task has ended", || state(&home.lab[0].task("kills:t")) == "failed");
    poll("the survivor is gone", || bearing(&home.lab.path("survivor.py")).is_empty());
    let said = home.lab.lines("said");
    println!("it asked {} times before it was ended", said.len());
    assert!(said.iter().all(|line| line == "asked 403 403"), "{said:?}");
    let audit = home.lab[0].get("/v1/audit?limit=1000");
    assert!(audit.status == 200 && !audit.body.contains("\"pause\""), "{}", audit.body);
}
