//! The suites as a table: what each runs, how long it may take, and what `--quick` leaves out.
//! Plain data; how a step is run and counted is in `run` and `test`.

use std::path::Path;

/// One line to run, in the workspace's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub program: String,
    pub args: Vec<String>,
    pub env: Vec<(&'static str, &'static str)>,
}

/// One step of a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Compiles something; its time is shown but is not part of the budget.
    Build(Line),
    /// Runs tests and counts what libtest says.
    Tests(Line),
    /// Passes or fails as a whole; counts as one test. `compiles`: its time is a compiler's, and so
    /// not part of the budget.
    Check { name: &'static str, line: Line, compiles: bool },
    /// The house rules, each counted as one test.
    Tidy,
}

/// How long a suite's tests may take, in seconds of wall time on two cores. Over it, the suite
/// fails: slow suites are run less, and then not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub full: u64,
    /// None: not in `--quick`.
    pub quick: Option<u64>,
}

pub struct Suite {
    pub name: &'static str,
    pub about: &'static str,
    pub budget: Budget,
    steps: fn(Run) -> Vec<Step>,
}

/// How the suites are run this time.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub root: &'a Path,
    pub quick: bool,
}

impl Suite {
    pub fn steps(&self, run: Run) -> Vec<Step> {
        (self.steps)(run)
    }

    /// Seconds, None when this suite is not part of such a run.
    pub fn budget(&self, quick: bool) -> Option<u64> {
        if quick { self.budget.quick } else { Some(self.budget.full) }
    }
}

pub static SUITES: [Suite; 10] = [
    Suite {
        name: "tidy",
        about: "format, clippy, house rules",
        budget: Budget { full: 240, quick: Some(60) },
        steps: tidy,
    },
    Suite {
        name: "core",
        about: "the tests of every crate but the binary's end-to-end ones",
        budget: Budget { full: 420, quick: Some(110) },
        steps: core,
    },
    Suite {
        name: "simulate",
        about: "scenarios of several machines that nobody wrote; rules that are broken on purpose",
        budget: Budget { full: 420, quick: None },
        steps: simulate,
    },
    Suite {
        name: "daemon",
        about: "the real binary, end to end",
        budget: Budget { full: 900, quick: Some(120) },
        steps: daemon,
    },
    Suite {
        name: "mcp",
        about: "the MCP server, driven by the official clients",
        budget: Budget { full: 120, quick: None },
        steps: mcp,
    },
    Suite {
        name: "a2a",
        about: "A2A: the compatibility kit restated, the rest of the specification, the official clients, load",
        budget: Budget { full: 120, quick: None },
        steps: a2a,
    },
    Suite {
        name: "claude",
        about: "the runner with the real Claude Code and the mock model",
        budget: Budget { full: 150, quick: None },
        steps: claude,
    },
    Suite {
        name: "sessions",
        about: "daemons with sessions of the real Claude Code, end to end, and what is killed there",
        budget: Budget { full: 900, quick: None },
        steps: sessions,
    },
    Suite {
        name: "mesh",
        about: "daemons on machines that WireGuard joins: forged addresses, cut and slow links, addresses that go",
        budget: Budget { full: 180, quick: None },
        steps: mesh,
    },
    Suite {
        name: "deny",
        about: "banned crates, licences, sources",
        budget: Budget { full: 600, quick: None },
        steps: deny,
    },
];

/// The end-to-end test files of the binary that a suite runs; `tidy` sees to it that no other one is
/// there, unrun.
pub const AGENT_TESTS: [&str; 5] = ["a2a", "daemon", "mcp", "mesh", "sessions"];

/// How many end-to-end tests run at once: each has daemons and their children, and the budget is
/// for two cores.
const DAEMON_THREADS: usize = 4;
/// The same where the children are Claude Codes: each start of one is half a second of a core.
const SESSION_THREADS: usize = 2;

/// The same where each test has three machines, each with a tunnel of its own.
const MESH_THREADS: usize = 3;

/// The newest cargo-deny that builds with the pinned toolchain, when this was written.
const DENY_VERSION: &str = "0.20.2";

pub fn names() -> Vec<&'static str> {
    SUITES.iter().map(|suite| suite.name).collect()
}

fn line(program: &str, args: &str) -> Line {
    let args = args.split_whitespace().map(str::to_owned).collect();
    Line { program: program.to_owned(), args, env: Vec::new() }
}

fn cargo(args: &str) -> Line {
    line("cargo", args)
}

fn tidy(_: Run) -> Vec<Step> {
    vec![
        Step::Check { name: "format", line: cargo("fmt --all --check"), compiles: false },
        Step::Check {
            name: "clippy",
            line: cargo("clippy --workspace --all-targets --locked -- -D warnings"),
            compiles: true,
        },
        Step::Tidy,
    ]
}

/// A test run, after the build of the same things. `libtest` goes to the test programs.
fn built_tests(what: &str, libtest: &str, quick: bool) -> [Step; 2] {
    let mut tests = cargo(&format!("test --locked --no-fail-fast {what} -- {libtest}"));
    if quick {
        tests.env.push(("SHROOMS_TEST_QUICK", "1"));
    }
    [Step::Build(cargo(&format!("test --locked --no-run {what}"))), Step::Tests(tests)]
}

fn core(run: Run) -> Vec<Step> {
    // --show-output: libtest hides what passing tests print, and so would hide what they skipped.
    let libraries = "--workspace --exclude shrooms-agent --features shrooms-runner/crash-points";
    let binary = "-p shrooms-agent --bins --features crash-points";
    let mut steps = Vec::new();
    for what in [libraries, binary] {
        steps.extend(built_tests(what, "--show-output", run.quick));
    }
    steps
}

/// The simulation's program, with its own profile: fast, and with every check of a debug build.
pub fn simulation(args: &str) -> Line {
    cargo(&format!("run --locked --quiet --profile simulate -p shrooms-testkit --bin simulate -- {args}"))
}

fn simulate(_: Run) -> Vec<Step> {
    let check = |name, args| Step::Check { name, line: simulation(args), compiles: false };
    vec![
        Step::Build(cargo("build --locked --profile simulate -p shrooms-testkit --bin simulate")),
        check("twenty thousand scenarios", "--seed 1 --scenarios 20000 --coverage"),
        check("broken rules are found", "--mutants --seed 1"),
    ]
}

/// One of the end-to-end test files, with the binary that it drives.
fn end_to_end(test: &str, quick: bool) -> Vec<Step> {
    end_to_end_with("crash-points", DAEMON_THREADS, test, quick)
}

fn end_to_end_with(features: &str, threads: usize, test: &str, quick: bool) -> Vec<Step> {
    let package = format!("-p shrooms-agent --features {features}");
    let libtest = format!("--nocapture --test-threads={threads}");
    let mut steps = vec![Step::Build(cargo(&format!("build --locked {package} --bin shrooms-agent")))];
    steps.extend(built_tests(&format!("{package} --test {test}"), &libtest, quick));
    steps
}

fn daemon(run: Run) -> Vec<Step> {
    end_to_end("daemon", run.quick)
}

/// The clients are packages of node, installed as their lock file says; without node the script
/// installs nothing, and the tests skip themselves.
fn mcp(run: Run) -> Vec<Step> {
    let mut steps = vec![Step::Build(line("sh", "crates/shrooms-agent/tests/mcp/node/install.sh target/mcp-node"))];
    steps.extend(end_to_end("mcp", run.quick));
    steps
}

/// The clients are the official SDKs of Python and JavaScript, installed as their lock files say;
/// without python3 or node the scripts install nothing, and the tests skip themselves. Sessions run
/// the scripted worker, which the tests look for beside the daemon.
fn a2a(run: Run) -> Vec<Step> {
    let tests = "crates/shrooms-agent/tests/a2a";
    let mut steps: Vec<Step> = ["python", "node"]
        .map(|of| Step::Build(line("sh", &format!("{tests}/{of}/install.sh target/a2a-{of}"))))
        .into_iter()
        .collect();
    steps.push(Step::Build(cargo("build --locked -p shrooms-testkit --bin scripted")));
    steps.extend(end_to_end("a2a", run.quick));
    steps
}

/// Claude Code is installed by npm; without it, or without the mock model beside the checkout, the
/// tests skip themselves. Paths are from the workspace's root.
fn with_claude(tests: impl IntoIterator<Item = Step>) -> Vec<Step> {
    let mut steps = vec![Step::Build(line("sh", "crates/runner/tests/install-claude.sh target/claude"))];
    for step in tests {
        steps.push(match step {
            Step::Tests(mut line) => {
                line.env
                    .push(("SHROOMS_CLAUDE", "target/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude"));
                line.env.push(("SHROOMS_MOCK_MODEL", "../shared/mock-model/mock_model.py"));
                Step::Tests(line)
            }
            other => other,
        });
    }
    steps
}

fn claude(run: Run) -> Vec<Step> {
    let what = "-p shrooms-runner --features real-claude --test claude";
    with_claude(built_tests(what, &format!("--nocapture --test-threads={DAEMON_THREADS}"), run.quick))
}

fn sessions(run: Run) -> Vec<Step> {
    with_claude(end_to_end_with("crash-points,real-claude", SESSION_THREADS, "sessions", run.quick))
}

/// The machines are network namespaces: without root, or without the script that makes them beside the
/// checkout, the tests skip themselves.
fn mesh(run: Run) -> Vec<Step> {
    // As root on a Debian it installs what is missing; elsewhere the tests say what that is.
    let mut steps = vec![Step::Build(line("sh", "crates/shrooms-agent/tests/mesh/install.sh"))];
    for step in end_to_end_with("crash-points", MESH_THREADS, "mesh", run.quick) {
        steps.push(match step {
            Step::Tests(mut line) => {
                line.env.push(("SHROOMS_MESHLAB", "../shared/meshlab/meshlab"));
                Step::Tests(line)
            }
            other => other,
        });
    }
    steps
}

/// Advisories are left out: they need a database from elsewhere, and a test must not turn red
/// because a download failed or the world found something overnight.
fn deny(run: Run) -> Vec<Step> {
    let tools = run.root.join("target/tools");
    let program = tools.join("bin/cargo-deny").display().to_string();
    let installed = std::fs::read_to_string(tools.join(".crates.toml")).unwrap_or_default();
    let mut steps = Vec::new();
    if !installed.contains(&format!("\"cargo-deny {DENY_VERSION} ")) {
        let install = format!("install cargo-deny --locked --version {DENY_VERSION} --root");
        let mut install = cargo(&install);
        install.args.push(tools.display().to_string());
        steps.push(Step::Build(install));
    }
    for name in ["bans", "licenses", "sources"] {
        let line = line(&program, &format!("--all-features --locked check {name}"));
        steps.push(Step::Check { name, line, compiles: false });
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(suite: &str, quick: bool, expected: &[&str]) {
        let run = Run { root: Path::new("/nowhere"), quick };
        let suite = SUITES.iter().find(|found| found.name == suite).unwrap();
        let show = |line: &Line| {
            let env: String = line.env.iter().map(|(key, value)| format!("{key}={value} ")).collect();
            format!("{env}{} {}", line.program, line.args.join(" "))
        };
        let shown: Vec<String> = suite
            .steps(run)
            .iter()
            .map(|step| match step {
                Step::Build(line) => format!("build {}", show(line)),
                Step::Tests(line) => format!("tests {}", show(line)),
                Step::Check { name, line, .. } => format!("check {name} {}", show(line)),
                Step::Tidy => "tidy".to_owned(),
            })
            .collect();
        assert_eq!(shown, expected, "{}", suite.name);
    }

    #[test]
    fn suites_build_before_they_test() {
        check(
            "daemon",
            true,
            &[
                "build cargo build --locked -p shrooms-agent --features crash-points --bin shrooms-agent",
                "build cargo test --locked --no-run -p shrooms-agent --features crash-points --test daemon",
                "tests SHROOMS_TEST_QUICK=1 cargo test --locked --no-fail-fast -p shrooms-agent --features \
                 crash-points --test daemon -- --nocapture --test-threads=4",
            ],
        );
        check(
            "mcp",
            false,
            &[
                "build sh crates/shrooms-agent/tests/mcp/node/install.sh target/mcp-node",
                "build cargo build --locked -p shrooms-agent --features crash-points --bin shrooms-agent",
                "build cargo test --locked --no-run -p shrooms-agent --features crash-points --test mcp",
                "tests cargo test --locked --no-fail-fast -p shrooms-agent --features crash-points --test mcp -- \
                 --nocapture --test-threads=4",
            ],
        );
        check(
            "a2a",
            false,
            &[
                "build sh crates/shrooms-agent/tests/a2a/python/install.sh target/a2a-python",
                "build sh crates/shrooms-agent/tests/a2a/node/install.sh target/a2a-node",
                "build cargo build --locked -p shrooms-testkit --bin scripted",
                "build cargo build --locked -p shrooms-agent --features crash-points --bin shrooms-agent",
                "build cargo test --locked --no-run -p shrooms-agent --features crash-points --test a2a",
                "tests cargo test --locked --no-fail-fast -p shrooms-agent --features crash-points --test a2a -- \
                 --nocapture --test-threads=4",
            ],
        );
        check(
            "claude",
            false,
            &[
                "build sh crates/runner/tests/install-claude.sh target/claude",
                "build cargo test --locked --no-run -p shrooms-runner --features real-claude --test claude",
                "tests SHROOMS_CLAUDE=target/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude \
                 SHROOMS_MOCK_MODEL=../shared/mock-model/mock_model.py cargo test --locked --no-fail-fast -p \
                 shrooms-runner --features real-claude --test claude -- --nocapture --test-threads=4",
            ],
        );
        check(
            "sessions",
            false,
            &[
                "build sh crates/runner/tests/install-claude.sh target/claude",
                "build cargo build --locked -p shrooms-agent --features crash-points,real-claude --bin shrooms-agent",
                "build cargo test --locked --no-run -p shrooms-agent --features crash-points,real-claude --test \
                 sessions",
                "tests SHROOMS_CLAUDE=target/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude \
                 SHROOMS_MOCK_MODEL=../shared/mock-model/mock_model.py cargo test --locked --no-fail-fast -p \
                 shrooms-agent --features crash-points,real-claude --test sessions -- --nocapture --test-threads=2",
            ],
        );
        check(
            "mesh",
            false,
            &[
                "build sh crates/shrooms-agent/tests/mesh/install.sh",
                "build cargo build --locked -p shrooms-agent --features crash-points --bin shrooms-agent",
                "build cargo test --locked --no-run -p shrooms-agent --features crash-points --test mesh",
                "tests SHROOMS_MESHLAB=../shared/meshlab/meshlab cargo test --locked --no-fail-fast -p shrooms-agent \
                 --features crash-points --test mesh -- --nocapture --test-threads=3",
            ],
        );
        check(
            "core",
            false,
            &[
                "build cargo test --locked --no-run --workspace --exclude shrooms-agent --features \
                 shrooms-runner/crash-points",
                "tests cargo test --locked --no-fail-fast --workspace --exclude shrooms-agent --features \
                 shrooms-runner/crash-points -- --show-output",
                "build cargo test --locked --no-run -p shrooms-agent --bins --features crash-points",
                "tests cargo test --locked --no-fail-fast -p shrooms-agent --bins --features crash-points -- \
                 --show-output",
            ],
        );
        check(
            "simulate",
            false,
            &[
                "build cargo build --locked --profile simulate -p shrooms-testkit --bin simulate",
                "check twenty thousand scenarios cargo run --locked --quiet --profile simulate -p shrooms-testkit --bin \
                 simulate -- --seed 1 --scenarios 20000 --coverage",
                "check broken rules are found cargo run --locked --quiet --profile simulate -p shrooms-testkit --bin \
                 simulate -- --mutants --seed 1",
            ],
        );
        check(
            "deny",
            false,
            &[
                "build cargo install cargo-deny --locked --version 0.20.2 --root /nowhere/target/tools",
                "check bans /nowhere/target/tools/bin/cargo-deny --all-features --locked check bans",
                "check licenses /nowhere/target/tools/bin/cargo-deny --all-features --locked check licenses",
                "check sources /nowhere/target/tools/bin/cargo-deny --all-features --locked check sources",
            ],
        );
    }

    #[test]
    fn the_quick_run_stays_under_five_minutes() {
        let quick: u64 = SUITES.iter().filter_map(|suite| suite.budget(true)).sum();
        assert!(quick < 300, "{quick} s");
    }
}
