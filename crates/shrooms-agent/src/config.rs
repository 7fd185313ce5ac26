//! The owner's config file: read once at the start, checked whole, and passed on as plain values.
//! Must not know what the settings do.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;
use shrooms_core::rights::{Grants, MAX_GRANTS, RIGHTS, Right};
use shrooms_core::row::Price;
use shrooms_core::settings::{Log, Sessions, Settings, Watchdog};
use shrooms_core::{near, text};

/// Turns at once for each core, where nothing else is said: agents wait for their models most of the
/// time.
const TURNS_PER_CORE: u32 = 4;

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    watchdog: Watchdog,
    limits: Limits,
    sessions: Sessions,
    log: Log,
    /// One right for every device, or a table: `default`, `others`, and devices by name or identity.
    mesh_devices: Option<toml::Value>,
    /// By the beginning of a model's name.
    prices: BTreeMap<String, Prices>,
}

/// In US dollars for a million tokens; what is left out costs nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Prices {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

/// As people write them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Limits {
    queue: Option<u32>,
    agent_tasks_per_hour: Option<u32>,
    turns: Option<u32>,
    daily_usd: Option<f64>,
    expire_hours: Option<u32>,
    keep_days: Option<u32>,
    resume_after_limit: Option<bool>,
}

/// The settings in `path`, or the rules' own where there is no such file (`must_be` = that is an
/// error).
///
/// # Errors
/// It cannot be read, is no TOML, has an unknown key, or a value out of its bounds.
pub fn read(path: &Path, must_be: bool) -> anyhow::Result<Settings> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound && !must_be => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read the config {}", path.display())),
    };
    parse(&text).with_context(|| format!("in the config {}", path.display()))
}

fn parse(text: &str) -> anyhow::Result<Settings> {
    let file: File = toml::from_str(text)?;
    let grants = grants(file.mesh_devices)?;
    let prices = prices(file.prices)?;
    let mut settings = Settings {
        watchdog: file.watchdog,
        sessions: file.sessions,
        log: file.log,
        grants,
        prices,
        ..Settings::default()
    };
    let limits = &mut settings.limits;
    let given = file.limits;
    limits.queue = given.queue.unwrap_or(limits.queue);
    limits.agent_tasks_per_hour = given.agent_tasks_per_hour.unwrap_or(limits.agent_tasks_per_hour);
    limits.expire_hours = given.expire_hours.unwrap_or(limits.expire_hours);
    limits.keep_days = given.keep_days.unwrap_or(limits.keep_days);
    limits.resume_after_limit = given.resume_after_limit.unwrap_or(limits.resume_after_limit);
    limits.turns = match given.turns {
        Some(0) => bail!("limits.turns: must be 1 to 10000, not 0 (to hold everything, use: pause)"),
        Some(turns) => turns,
        None => {
            let cores = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
            cores.saturating_mul(TURNS_PER_CORE)
        }
    };
    if let Some(usd) = given.daily_usd {
        if !(0.01..=1e6).contains(&usd) {
            bail!("limits.daily_usd: must be 0.01 to 1000000, not {usd} (leave it out for no cap)");
        }
        limits.daily_micros = (usd * 1e6).round() as u64;
    }
    settings.check()?;
    Ok(settings)
}

/// Models that may have a price of their own: each record looks through them.
const MAX_PRICES: usize = 200;
/// US dollars for a million tokens that no model comes near: more is a mistake.
const MAX_PRICE: f64 = 100_000.0;

fn prices(given: BTreeMap<String, Prices>) -> anyhow::Result<BTreeMap<String, Price>> {
    if given.len() > MAX_PRICES {
        bail!("prices: names {} models; at most {MAX_PRICES} are taken", given.len());
    }
    let one = |(model, price): (String, Prices)| {
        let shown = text::cut(&model, 100);
        if model.trim().is_empty() {
            bail!("prices: a model has no name");
        }
        let micros = |what: &str, usd: f64| match (0.0..=MAX_PRICE).contains(&usd) {
            true => Ok((usd * 1e6).round() as u64),
            false => bail!("prices.{shown}.{what}: must be 0 to {MAX_PRICE} dollars for a million tokens, not {usd}"),
        };
        let price = Price {
            input: micros("input", price.input)?,
            output: micros("output", price.output)?,
            cache_read: micros("cache_read", price.cache_read)?,
            cache_write: micros("cache_write", price.cache_write)?,
        };
        Ok((model, price))
    };
    given.into_iter().map(one).collect()
}

/// The key for devices that are not named …
const DEFAULT: &str = "default";
/// … and for those of them that are another person's.
const OTHERS: &str = "others";

fn grants(given: Option<toml::Value>) -> anyhow::Result<Grants> {
    let right = |key: &str, word: &str| {
        Right::parse(word).with_context(|| {
            let words = RIGHTS.map(Right::word).join(", ");
            format!("{key}: must be one of {words}, not '{}'", text::cut(word, 40))
        })
    };
    let each = match given {
        None => return Ok(Grants::default()),
        Some(toml::Value::String(word)) => {
            return Ok(Grants { default: right("mesh_devices", &word)?, ..Grants::default() });
        }
        Some(toml::Value::Table(each)) => each,
        Some(_) => bail!("mesh_devices: must be a right, such as \"ask\", or a table of devices and their rights"),
    };
    if each.len() > MAX_GRANTS {
        bail!("mesh_devices: names {} devices; at most {MAX_GRANTS} are taken", each.len());
    }
    let mut grants = Grants::default();
    for (device, value) in each {
        let shown = format!("mesh_devices.{}", text::cut(&device, 200));
        let word = match value {
            toml::Value::String(word) => word,
            // What stands before a dot is a table to TOML.
            toml::Value::Table(inner) => {
                let rest = inner.keys().next().map_or("MESH", String::as_str);
                bail!("{shown}: write a name with a dot in quotes: \"{device}.{}\" = …", text::cut(rest, 200));
            }
            _ => bail!("{shown}: must be a right, such as \"ask\""),
        };
        let right = right(&shown, &word)?;
        match device.as_str() {
            DEFAULT => grants.default = right,
            OTHERS => grants.others = right,
            "" => bail!("mesh_devices: a device has no name"),
            _ => {
                // One that is taken for a device's name would leave every device what it had.
                let plain = !device.contains(['.', '/']);
                let near = if plain { near::near(&device, [DEFAULT, OTHERS]) } else { Vec::new() };
                if let Some(near) = near.first() {
                    bail!(
                        "{shown}: did you mean {near}? (for a device of that name write it with its mesh, \"{device}.MESH\")"
                    );
                }
                grants.named.insert(device, right);
            }
        }
    }
    Ok(grants)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_the_rules_own() {
        let settings = parse("").unwrap();
        assert_eq!(settings.watchdog, Watchdog::default());
        assert_eq!(settings.limits.queue, 100);
        assert_eq!((settings.log.lines, settings.log.total_mb, settings.log.line_kb), (200_000, 2_000, 64));
        assert_eq!(parse("[log]\nlines = 500").unwrap().log, Log { lines: 500, ..Log::default() });
        assert!(settings.limits.turns >= TURNS_PER_CORE);
        let text = "[watchdog]\nladder_secs = [1, 2]\n[limits]\ndaily_usd = 2.5\nturns = 3\nexpire_hours = 48\n\
                    resume_after_limit = false";
        let settings = parse(text).unwrap();
        assert_eq!((settings.watchdog.ladder_secs.as_slice(), settings.watchdog.reminders()), ([1, 2].as_slice(), 3));
        let limits = settings.limits;
        assert_eq!((limits.daily_micros, limits.turns, limits.expire_hours), (2_500_000, 3, 48));
        assert!(!limits.resume_after_limit && Settings::default().limits.resume_after_limit);
    }

    #[test]
    fn rights_are_for_all_devices_or_for_each() {
        for (text, said) in [
            ("", "every device: owner"),
            ("mesh_devices = 'ask'", "every device: ask"),
            ("mesh_devices.others = 'ask'", "every device: owner, others' devices: ask"),
            ("[mesh_devices]\n'phone.home' = 'read'", "every device: owner, phone.home: read"),
            (
                "[mesh_devices]\ndefault = 'none'\n'home/fd00::2' = 'owner'\nlaptop = 'ask'",
                "every device: none, home/fd00::2: owner, laptop: ask",
            ),
        ] {
            assert_eq!(parse(text).unwrap().grants.said(), said, "{text}");
        }
    }

    #[test]
    fn prices_are_dollars_for_a_million_tokens() {
        let text = "[prices]\n'claude-sonnet-4-5' = {input=3, output=15, cache_read=0.3, cache_write=3.75}\nfree = {}";
        let prices = parse(text).unwrap().prices;
        let sonnet = Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };
        assert_eq!((prices["claude-sonnet-4-5"], prices["free"]), (sonnet, Price::default()));
        let many: String = (0..=MAX_PRICES).map(|n| format!("m{n} = {{}}\n")).collect();
        assert!(parse(&format!("[prices]\n{many}")).unwrap_err().to_string().contains("at most"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("[prices]\n'm' = {input=-1}", "prices.m.input: must be 0 to"),
            ("[prices]\n'm' = {inputs=1}", "unknown field `inputs`"),
            ("[prices]\n'' = {input=1}", "a model has no name"),
            ("[watchdog]\npass = 1", "unknown field `pass`"),
            ("[limits]\nturns = 0", "limits.turns"),
            ("[limits]\ndaily_usd = -1", "limits.daily_usd"),
            ("[limits]\nqueue = 0", "limits.queue"),
            ("[log]\nlines = 10", "log.lines"),
            ("[log]\ntotal_mb = 1", "log.total_mb"),
            ("[log]\nline_kb = 0", "log.line_kb"),
            ("[watchdog]\nladder_secs = [0]", "watchdog.ladder_secs"),
            ("[sessions]\nidle_secs = -1", "idle_secs"),
            ("[other]", "unknown field `other`"),
            ("mesh_devices = 'all'", "mesh_devices: must be one of owner, ask, read, none, not 'all'"),
            ("mesh_devices = 3", "mesh_devices"),
            ("[mesh_devices]\n'phone.home' = 'wirte'", "mesh_devices.phone.home: must be one of"),
            ("[mesh_devices]\n'' = 'ask'", "a device has no name"),
            ("[mesh_devices]\ndefualt = 'none'", "mesh_devices.defualt: did you mean default?"),
            ("[mesh_devices]\nother = 'none'", "mesh_devices.other: did you mean others?"),
            ("[mesh_devices]\nphone.home = 'none'", "write a name with a dot in quotes: \"phone.home\""),
            ("[mesh_devices]\nphone = 1", "mesh_devices.phone: must be a right"),
            ("[limits", "TOML"),
        ] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
