//! What each crate may know: read from the manifests, held against design tables.
//! Dev-dependencies are free: a test may use anything.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::Tree;
use crate::suites::AGENT_TESTS;

/// Which of our crates each of our crates may depend on.
const DIRECTIONS: [(&str, Allowed); 12] = [
    ("shrooms-a2a", Allowed::Only(&[])),
    ("shrooms-core", Allowed::Only(&[])),
    ("shrooms-store", Allowed::Only(&["shrooms-core"])),
    ("shrooms-mesh", Allowed::Only(&["shrooms-core"])),
    ("shrooms-runner", Allowed::Only(&["shrooms-core"])),
    ("shrooms-outbound", Allowed::Only(&["shrooms-core", "shrooms-a2a"])),
    (
        "shrooms-engine",
        Allowed::Only(&[
            "shrooms-core",
            "shrooms-store",
            "shrooms-mesh",
            "shrooms-runner",
            "shrooms-outbound",
            "shrooms-a2a",
        ]),
    ),
    // Not the runner, the store or the outside: the server reaches them through the engine.
    ("shrooms-server", Allowed::Only(&["shrooms-engine", "shrooms-core", "shrooms-mesh", "shrooms-a2a"])),
    ("shrooms-agent", Allowed::AllButTestkit),
    ("shrooms-testkit", Allowed::Only(&["shrooms-core", "shrooms-a2a", "shrooms-runner"])),
    ("xtask", Allowed::Only(&[])),
    (FUZZ, Allowed::Only(&["shrooms-a2a"])),
];

enum Allowed {
    Only(&'static [&'static str]),
    AllButTestkit,
}

const TESTKIT: &str = "shrooms-testkit";
/// Stands beside the workspace: cargo-fuzz builds it with flags of its own, and its entry points are
/// unsafe functions that a macro writes.
const FUZZ: &str = "shrooms-fuzz";

/// Which crates alone may use an outside crate: each outside thing has one owner, so that its rules
/// (one writer, the address guard, who binds ports) hold. The mesh asks daemons over their unix sockets.
const OWNERS: [(&str, &[&str]); 6] = [
    ("rusqlite", &["shrooms-store"]),
    ("reqwest", &["shrooms-outbound"]),
    ("axum", &["shrooms-server"]),
    ("hyper", &["shrooms-mesh", "shrooms-server"]),
    ("hyper-util", &["shrooms-mesh", "shrooms-server"]),
    ("socket2", &["shrooms-server"]),
];

struct Manifest<'a> {
    path: &'a str,
    name: String,
    table: toml::Table,
}

/// The packages' manifests; one that cannot be read is a finding.
fn manifests(tree: &Tree) -> (Vec<Manifest<'_>>, Vec<Finding>) {
    let (mut read, mut findings) = (Vec::new(), Vec::new());
    for (path, text) in tree.ending("/Cargo.toml") {
        let table = match toml::from_str::<toml::Table>(text) {
            Ok(table) => table,
            Err(error) => {
                findings.push(Finding::new(path, format!("is no TOML: {error}")));
                continue;
            }
        };
        let name = table.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
        if let Some(name) = name {
            read.push(Manifest { path, name: name.to_owned(), table });
        }
    }
    (read, findings)
}

impl Manifest<'_> {
    /// The packages that it needs to run or build, under their real names.
    fn needs(&self) -> BTreeSet<String> {
        let mut tables: Vec<&toml::Value> = Vec::new();
        let targets = self.table.get("target").and_then(toml::Value::as_table);
        for kind in ["dependencies", "build-dependencies"] {
            tables.extend(self.table.get(kind));
            tables.extend(targets.into_iter().flat_map(|all| all.values()).filter_map(|one| one.get(kind)));
        }
        let entries = tables.into_iter().filter_map(toml::Value::as_table).flatten();
        let real = |(key, value): (&String, &toml::Value)| {
            value.get("package").and_then(toml::Value::as_str).unwrap_or(key).to_owned()
        };
        entries.map(real).collect()
    }
}

/// Crates depend only on crates to their left in the design's table.
pub fn directions(tree: &Tree) -> Vec<Finding> {
    let (manifests, mut findings) = manifests(tree);
    let ours: BTreeSet<&str> = DIRECTIONS.iter().map(|(name, _)| *name).collect();
    for manifest in &manifests {
        let Some((_, allowed)) = DIRECTIONS.iter().find(|(name, _)| *name == manifest.name) else {
            let text = format!("{} is not in the table of directions in xtask/src/tidy/deps.rs: add it", manifest.name);
            findings.push(Finding::new(manifest.path, text));
            continue;
        };
        let needs = manifest.needs();
        for need in needs.iter().filter(|need| ours.contains(need.as_str())) {
            let fine = match allowed {
                Allowed::Only(list) => list.contains(&need.as_str()),
                Allowed::AllButTestkit => need != TESTKIT,
            };
            if !fine {
                let text = format!("{} must not know {need} (design.md, the workspace)", manifest.name);
                findings.push(Finding::new(manifest.path, text));
            }
        }
    }
    findings
}

/// Each outside thing is used by its owner only.
pub fn owners(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for manifest in manifests(tree).0 {
        let needs = manifest.needs();
        for (outside, owners) in OWNERS {
            if needs.contains(outside) && !owners.contains(&manifest.name.as_str()) {
                let text = format!("only {} uses {outside}: ask it instead", owners.join(", "));
                findings.push(Finding::new(manifest.path, text));
            }
        }
    }
    findings
}

/// `[lints] workspace = true` everywhere in the workspace: without it, a crate has no bans at all.
pub fn lints(tree: &Tree) -> Vec<Finding> {
    let takes = |manifest: &Manifest| {
        let lints = manifest.table.get("lints").and_then(|lints| lints.get("workspace"));
        lints.and_then(toml::Value::as_bool) == Some(true)
    };
    let without = manifests(tree).0.into_iter().filter(|manifest| manifest.name != FUZZ && !takes(manifest));
    without.map(|manifest| Finding::new(manifest.path, "add [lints] workspace = true")).collect()
}

/// Clippy reads only the nearest clippy.toml, so core's must repeat the workspace's.
pub fn core_bans(tree: &Tree) -> Vec<Finding> {
    const ALL: &str = "clippy.toml";
    const CORE: &str = "crates/core/clippy.toml";
    let bans = |path: &str| -> Option<BTreeSet<String>> {
        let table = toml::from_str::<toml::Table>(tree.text(path)?).ok()?;
        let mut bans = BTreeSet::new();
        for kind in ["disallowed-methods", "disallowed-types", "disallowed-macros"] {
            for entry in table.get(kind).and_then(toml::Value::as_array).into_iter().flatten() {
                let path = entry.get("path").unwrap_or(entry);
                bans.extend(path.as_str().map(str::to_owned));
            }
        }
        Some(bans)
    };
    let Some(all) = bans(ALL) else { return vec![Finding::new(ALL, "is missing, or no TOML")] };
    let Some(core) = bans(CORE) else { return vec![Finding::new(CORE, "is missing, or no TOML")] };
    all.difference(&core).map(|ban| Finding::new(CORE, format!("does not ban {ban}, which {ALL} does"))).collect()
}

/// A test file of the binary that no suite runs would look like a test and be none.
pub fn agent_tests(tree: &Tree) -> Vec<Finding> {
    const FOLDER: &str = "crates/shrooms-agent/tests/";
    let unrun = |path: &&str| {
        let name = path.strip_prefix(FOLDER).and_then(|name| name.strip_suffix(".rs"));
        name.is_some_and(|name| !name.contains('/') && !AGENT_TESTS.contains(&name))
    };
    let files = tree.ending(".rs").map(|(path, _)| path).filter(unrun);
    files.map(|path| Finding::new(path, "no suite runs it: add it to AGENT_TESTS in xtask/src/suites.rs")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::check::check;
    use super::*;

    fn manifest(name: &str, more: &str) -> String {
        format!("[package]\nname = {name:?}\n[lints]\nworkspace = true\n{more}\n")
    }

    #[track_caller]
    fn check_needs(rule: super::super::Rule, name: &str, more: &str, expected: &[&str]) {
        let expected: Vec<String> = expected.iter().map(|text| format!("crates/x/Cargo.toml: {text}")).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check(rule, &[("Cargo.toml", "[workspace]"), ("crates/x/Cargo.toml", &manifest(name, more))], &expected);
    }

    #[test]
    fn a_crate_knows_only_what_is_to_its_left() {
        let needs = |name: &str| format!("[dependencies]\n{name}.workspace = true");
        check_needs(directions, "shrooms-store", &needs("shrooms-core"), &[]);
        check_needs(directions, "shrooms-store", &needs("serde"), &[]);
        check_needs(directions, "shrooms-core", &needs("shrooms-a2a"), &["shrooms-core must not know shrooms-a2a"]);
        check_needs(directions, "shrooms-server", &needs("shrooms-runner"), &["shrooms-server must not know"]);
        check_needs(directions, "shrooms-agent", &needs("shrooms-runner"), &[]);
        check_needs(directions, "shrooms-agent", &needs("shrooms-testkit"), &["shrooms-agent must not know"]);
        check_needs(directions, "shrooms-core", "[dev-dependencies]\nshrooms-testkit.workspace = true", &[]);
        check_needs(
            directions,
            "shrooms-core",
            "[target.'cfg(unix)'.dependencies]\nother = { package = \"shrooms-mesh\", path = \"../mesh\" }",
            &["shrooms-core must not know shrooms-mesh"],
        );
        check_needs(directions, "shrooms-new", "", &["shrooms-new is not in the table of directions"]);
        check(directions, &[("crates/x/Cargo.toml", "[package")], &["crates/x/Cargo.toml: is no TOML"]);
    }

    #[test]
    fn an_outside_thing_has_one_owner() {
        check_needs(owners, "shrooms-store", "[dependencies]\nrusqlite = \"1\"", &[]);
        check_needs(
            owners,
            "shrooms-engine",
            "[dependencies]\nrusqlite = \"1\"",
            &["only shrooms-store uses rusqlite"],
        );
        check_needs(owners, "shrooms-agent", "[dependencies]\nreqwest = \"1\"", &["only shrooms-outbound uses"]);
        check_needs(owners, "shrooms-agent", "[build-dependencies]\naxum = \"1\"", &["only shrooms-server uses axum"]);
        check_needs(owners, "shrooms-agent", "[dev-dependencies]\nreqwest = \"1\"", &[]);
    }

    #[test]
    fn every_crate_takes_the_workspaces_lints() {
        check_needs(lints, "shrooms-core", "", &[]);
        let without = "[package]\nname = \"a\"\n[lints.rust]\nunsafe_code = \"allow\"\n";
        check(lints, &[("crates/x/Cargo.toml", without)], &["crates/x/Cargo.toml: add [lints] workspace = true"]);
        check(lints, &[("fuzz/Cargo.toml", "[package]\nname = \"shrooms-fuzz\"\n")], &[]);
    }

    #[test]
    fn core_bans_at_least_what_all_ban() {
        let two = "disallowed-methods = [{ path = \"a::b\" }, \"c::d\"]";
        let one = "disallowed-methods = [\"c::d\"]\ndisallowed-types = [\"E\"]";
        check(core_bans, &[("clippy.toml", one), ("crates/core/clippy.toml", one)], &[]);
        check(
            core_bans,
            &[("clippy.toml", two), ("crates/core/clippy.toml", one)],
            &["crates/core/clippy.toml: does not ban a::b"],
        );
        check(core_bans, &[("clippy.toml", two)], &["crates/core/clippy.toml: is missing"]);
    }

    #[test]
    fn every_end_to_end_test_file_is_run() {
        let folder = "crates/shrooms-agent/tests";
        let (known, helper) = (format!("{folder}/daemon.rs"), format!("{folder}/daemon/world.rs"));
        check(agent_tests, &[(&known, ""), (&helper, ""), ("crates/core/tests/x.rs", "")], &[]);
        let unknown = format!("{folder}/other.rs");
        check(agent_tests, &[(&unknown, "")], &[&format!("{unknown}: no suite runs it")]);
    }
}
