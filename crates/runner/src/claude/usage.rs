//! Figures of Claude Code as it tells them on stdio and in its files: tokens, running totals by
//! model, the account's windows. What they are counted for is not known here.

use std::collections::BTreeMap;

use serde_json::Value;

use super::wire::{count, is, text};
use crate::codec::{Account, Total, Usage};

/// Tokens of one answer, or of several.
pub(super) fn usage(usage: &Value) -> Usage {
    Usage {
        input: count(usage, "input_tokens"),
        output: count(usage, "output_tokens"),
        cache_read: count(usage, "cache_read_input_tokens"),
        cache_write: count(usage, "cache_creation_input_tokens"),
    }
}

/// `modelUsage`: running totals by model. `guessed`: some cost in it is not known to be right.
pub(super) fn totals(models: &Value, guessed: bool) -> BTreeMap<String, Total> {
    let total = |of: &Value| Total {
        usage: Usage {
            input: count(of, "inputTokens"),
            output: count(of, "outputTokens"),
            cache_read: count(of, "cacheReadInputTokens"),
            cache_write: count(of, "cacheCreationInputTokens"),
        },
        cost_usd: of["costUSD"].as_f64().unwrap_or_default(),
        guessed: guessed || text(of, "costBasis") == "unknown" || !of["costUSD"].is_number(),
    };
    models.as_object().into_iter().flatten().map(|(model, of)| (model.clone(), total(of))).collect()
}

/// A row `cost-state` of a conversation's file: what the next process of it begins with.
pub(super) fn stored(row: &Value) -> Option<BTreeMap<String, Total>> {
    let is_one = text(row, "type") == "cost-state" && row["modelUsage"].is_object();
    is_one.then(|| totals(&row["modelUsage"], is(row, "hasUnknownModelCost")))
}

/// Unix seconds as milliseconds.
pub(super) fn millis(seconds: &Value) -> Option<i64> {
    Some(seconds.as_i64()?.saturating_mul(1_000))
}

/// `rate_limit_info`; nothing where it names no window.
pub(super) fn account(info: &Value) -> Option<Account> {
    let window = |of: &Value| (of["utilization"].as_f64(), millis(&of["resetsAt"]));
    let all = info["unifiedWindows"].as_object().into_iter().flatten();
    let mut windows: BTreeMap<_, _> = all.map(|(name, of)| (name.clone(), window(of))).collect();
    // The one that decides is told beside them, in older versions alone.
    let decides = text(info, "rateLimitType");
    if !decides.is_empty() {
        windows.entry(decides.to_owned()).or_insert_with(|| window(info));
    }
    if windows.is_empty() {
        return None;
    }
    let [status, overage] = ["status", "overageStatus"].map(|name| text(info, name).to_owned());
    Some(Account { status, window: decides.to_owned(), overage, windows })
}
