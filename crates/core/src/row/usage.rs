//! What turns used of models: one record for each turn and model, never changed once written, and how
//! running totals of a harness become records. Pure; it must not know where a harness tells them.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::id::SessionUid;

/// Who asked for a turn that the daemon itself began: a reminder, a recap.
pub const BY_SHROOMS: &str = "shrooms";
/// Who asked for what a person said, and for what belongs to no task.
pub const BY_OWNER: &str = "the owner";

/// Tokens, by what they are paid as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Tokens {
    /// All of them.
    pub fn sum(&self) -> u64 {
        self.each().into_iter().fold(0, u64::saturating_add)
    }

    /// None at all.
    pub fn is_zero(&self) -> bool {
        self.each() == [0; 4]
    }

    fn each(&self) -> [u64; 4] {
        [self.input, self.output, self.cache_read, self.cache_write]
    }

    /// In no kind fewer than `other`.
    fn covers(&self, other: &Tokens) -> bool {
        self.each().into_iter().zip(other.each()).all(|(a, b)| a >= b)
    }

    fn less(&self, other: &Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cache_read: self.cache_read.saturating_sub(other.cache_read),
            cache_write: self.cache_write.saturating_sub(other.cache_write),
        }
    }

    /// What was told later of the same request: figures only grow while it is answered.
    pub fn max(&self, other: &Tokens) -> Tokens {
        Tokens {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
        }
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Tokens) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// A harness's running total for one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Total {
    pub tokens: Tokens,
    /// Millionths of a US dollar, as the harness counts.
    pub micros: u64,
    /// It does not know what this model costs: `micros` is a guess of its.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub guessed: bool,
}

/// Running totals by model.
pub type Totals = BTreeMap<String, Total>;

/// What was used of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    pub model: String,
    pub tokens: Tokens,
    /// What the harness says that it cost, in millionths of a US dollar.
    pub micros: Option<u64>,
}

/// What was used between two tellings of running totals. One that is smaller than before has begun
/// anew: all of it was used since.
pub fn rise(before: &Totals, now: &Totals) -> Vec<Used> {
    let of = |(model, total): (&String, &Total)| {
        let before = before.get(model).filter(|b| total.tokens.covers(&b.tokens)).copied().unwrap_or_default();
        Used {
            model: model.clone(),
            tokens: total.tokens.less(&before.tokens),
            micros: (!total.guessed).then(|| total.micros.saturating_sub(before.micros)),
        }
    };
    now.iter().map(of).filter(|used| !used.tokens.is_zero() || used.micros.is_some_and(|m| m > 0)).collect()
}

/// Whether these totals go on from `before`: for no model less.
pub fn goes_on(before: &Totals, now: &Totals) -> bool {
    before.iter().all(|(model, total)| now.get(model).is_some_and(|now| now.tokens.covers(&total.tokens)))
}

/// Up to where the use of a program that stays is in the records: what comes after it is not yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mark {
    /// Bytes of the conversation's file that were there before this program began.
    pub from: u64,
    /// The last answer of the model in the conversation itself, by the harness's id of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Wall time (ms) of the last count.
    pub at: i64,
    /// What the harness said then that it had used in all.
    #[serde(skip_serializing_if = "Totals::is_empty")]
    pub totals: Totals,
}

/// An answer of a model that no turn's end has counted yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The harness's own id of it.
    pub id: String,
    pub model: String,
    pub tokens: Tokens,
}

/// What a turn used, as the engine counted it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// By model, the conversation's own first.
    pub used: Vec<Used>,
    /// Up to where that is.
    pub mark: Option<Mark>,
    /// How full the conversation is.
    pub context: Option<Context>,
}

/// How full a conversation is, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    /// What the last request to the model held; 0 = not said yet.
    pub used: u64,
    /// What fits; 0 = not said yet.
    pub window: u64,
}

/// What a turn is for: whoever began it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The task's id, which outlives its row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Who asked: as established, with a claim in brackets.
    pub by: String,
}

/// Which session a program is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOf {
    pub name: String,
    pub harness: String,
}

/// Where a cost is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostFrom {
    Harness,
    Prices,
}

/// A record: what one turn used of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Number of the row.
    pub no: i64,
    /// Wall time (ms) of the turn's end.
    pub at: i64,
    /// Its day of UTC, since 1970.
    pub day: i64,
    pub session: SessionUid,
    /// The session's name of that day.
    pub name: String,
    pub harness: String,
    pub model: String,
    pub cause: Cause,
    /// 1 on the first record of a turn, 0 on those of the other models that it used.
    pub turns: u32,
    pub tokens: Tokens,
    /// Millionths of a US dollar, and where that is from; absent where nobody knows.
    pub cost: Option<(u64, CostFrom)>,
    /// From the asking to the end (served ms), on the first record of a turn.
    pub busy_ms: u64,
}

/// What a model costs, in millionths of a US dollar for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Price {
    /// What these tokens cost, in millionths of a US dollar, rounded to the nearest.
    pub fn of(&self, tokens: &Tokens) -> u64 {
        let part = |price: u64, tokens: u64| u128::from(price) * u128::from(tokens);
        let sum = part(self.input, tokens.input)
            + part(self.output, tokens.output)
            + part(self.cache_read, tokens.cache_read)
            + part(self.cache_write, tokens.cache_write);
        u64::try_from((sum + 500_000) / 1_000_000).unwrap_or(u64::MAX)
    }
}

/// The price of a model: of all names in the table that it begins with, the longest.
pub fn price<'a>(prices: &'a BTreeMap<String, Price>, model: &str) -> Option<&'a Price> {
    let fits = prices.iter().filter(|(name, _)| model.starts_with(name.as_str()));
    fits.max_by_key(|(name, _)| name.len()).map(|(_, price)| price)
}

/// Windows of an account's limits that are kept: no account has more than a handful.
pub const MAX_WINDOWS: usize = 16;

/// What a harness last said of its account's limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    /// When it was said, wall time (ms).
    pub at: i64,
    /// `allowed`, `allowed_warning`, `rejected`.
    pub status: String,
    /// The window that decides now.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub window: String,
    /// Whether more than the limits may be used for money: the harness's word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub overage: String,
    pub windows: BTreeMap<String, Window>,
}

/// A stretch of time with a limit of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// How much of it is used, in thousandths; may be above 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<u32>,
    /// When it begins anew, wall time (ms).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets: Option<i64>,
}

impl Account {
    /// Takes in what was said now. Windows that were not named stay as they were told last.
    pub fn hear(&mut self, said: Account) {
        let mut windows = std::mem::take(&mut self.windows);
        for (name, window) in said.windows.iter().take(MAX_WINDOWS) {
            if windows.contains_key(name) || windows.len() < MAX_WINDOWS {
                windows.insert(name.clone(), *window);
            }
        }
        *self = Account { windows, ..said };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `MODEL:INPUT/OUTPUT/READ/WRITE=MICROS …`; `~` for `=`: a guess.
    fn totals(text: &str) -> Totals {
        let one = |part: &str| {
            let (model, rest) = part.split_once(':').unwrap();
            let (tokens, micros) = rest.split_once(['=', '~']).unwrap();
            let n: Vec<u64> = tokens.split('/').map(|n| n.parse().unwrap()).collect();
            let tokens = Tokens { input: n[0], output: n[1], cache_read: n[2], cache_write: n[3] };
            (model.to_string(), Total { tokens, micros: micros.parse().unwrap(), guessed: rest.contains('~') })
        };
        text.split_whitespace().map(one).collect()
    }

    fn shown(used: &[Used]) -> String {
        let one = |u: &Used| {
            let Tokens { input, output, cache_read, cache_write } = u.tokens;
            let cost = u.micros.map_or("?".to_string(), |m| m.to_string());
            format!("{}:{input}/{output}/{cache_read}/{cache_write}={cost}", u.model)
        };
        used.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_was_used_is_the_rise_of_each_models_total() {
        for (before, now, used) in [
            ("", "", ""),
            ("", "a:1/2/3/4=50", "a:1/2/3/4=50"),
            ("a:1/2/3/4=50", "a:1/2/3/4=50", ""),
            ("a:1/2/3/4=50", "a:11/22/33/44=70", "a:10/20/30/40=20"),
            ("a:1/2/3/4=50", "a:1/2/3/4=50 b:5/0/0/0=7", "b:5/0/0/0=7"),
            // One that has begun anew, as after a crash.
            ("a:10/20/30/40=500", "a:11/2/3/4=60", "a:11/2/3/4=60"),
            ("a:10/20/30/40=500 b:5/0/0/0=7", "b:6/0/0/0=9", "b:1/0/0/0=2"),
            // Never negative, and no cost where it is a guess.
            ("a:1/1/1/1=50", "a:2/1/1/1=40", "a:1/0/0/0=0"),
            ("a:1/1/1/1=50", "a:2/1/1/1~90", "a:1/0/0/0=?"),
            ("", "a:0/0/0/0=0", ""),
        ] {
            assert_eq!(shown(&rise(&totals(before), &totals(now))), used, "{before} -> {now}");
        }
    }

    #[test]
    fn totals_go_on_where_none_is_less() {
        for (before, now, does) in [
            ("", "", true),
            ("", "a:1/1/1/1=1", true),
            ("a:1/1/1/1=1", "a:1/1/1/1=1 b:1/0/0/0=0", true),
            ("a:1/1/1/1=1", "", false),
            ("a:2/1/1/1=1", "a:1/9/9/9=9", false),
        ] {
            assert_eq!(goes_on(&totals(before), &totals(now)), does, "{before} -> {now}");
        }
    }

    #[test]
    fn the_longest_name_that_a_model_begins_with_has_its_price() {
        let of = |micros| Price { input: micros, ..Price::default() };
        let prices: BTreeMap<String, Price> =
            [("claude", 1), ("claude-sonnet", 3), ("claude-sonnet-4-5", 4)].map(|(n, m)| (n.to_string(), of(m))).into();
        for (model, found) in [
            ("claude-sonnet-4-5-20250929", Some(4)),
            ("claude-sonnet-4", Some(3)),
            ("claude-opus", Some(1)),
            ("gpt", None),
            ("", None),
        ] {
            assert_eq!(price(&prices, model).map(|p| p.input), found, "{model}");
        }
    }

    #[test]
    fn a_cost_is_every_kind_of_token_at_its_price_rounded_once() {
        let price = Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };
        let tokens = |input, output, cache_read, cache_write| Tokens { input, output, cache_read, cache_write };
        for (tokens, micros) in [
            (tokens(0, 0, 0, 0), 0),
            (tokens(1, 0, 0, 0), 3),
            (tokens(0, 0, 1, 0), 0),
            (tokens(0, 0, 2, 0), 1),
            // As Claude Code says for the same: 0.00324705.
            (tokens(1_001, 11, 101, 13), 3_247),
            (tokens(u64::MAX, u64::MAX, u64::MAX, u64::MAX), u64::MAX),
        ] {
            assert_eq!(price.of(&tokens), micros, "{tokens:?}");
        }
    }

    #[test]
    fn windows_of_an_account_stay_until_they_are_told_anew_and_are_bounded() {
        let said = |windows: &[(&str, u32)]| Account {
            status: "allowed".into(),
            windows: windows
                .iter()
                .map(|(n, used)| (n.to_string(), Window { used: Some(*used), resets: Some(9) }))
                .collect(),
            ..Account::default()
        };
        let mut account = Account::default();
        account.hear(said(&[("five_hour", 420), ("seven_day", 10)]));
        account.hear(Account { status: "rejected".into(), ..said(&[("five_hour", 1_000)]) });
        assert_eq!(account.status, "rejected");
        let shown: Vec<_> = account.windows.iter().map(|(n, w)| (n.as_str(), w.used)).collect();
        assert_eq!(shown, [("five_hour", Some(1_000)), ("seven_day", Some(10))]);
        let many: Vec<(String, u32)> = (0..100).map(|n| (format!("w{n}"), n)).collect();
        account.hear(said(&many.iter().map(|(n, u)| (n.as_str(), *u)).collect::<Vec<_>>()));
        assert_eq!(account.windows.len(), MAX_WINDOWS);
    }
}
