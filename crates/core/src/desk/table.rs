//! Rows by number, with a note of which were touched since the last commit. A row is shared
//! (`Arc`), so that a commit under way keeps what it was given while the desk goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) struct Table<K, R> {
    rows: BTreeMap<K, Arc<R>>,
    /// To be committed.
    dirty: BTreeSet<K>,
    /// Touched since the last [`Table::remove_touched`]: the only rows that can have ended.
    touched: BTreeSet<K>,
}

impl<K: Ord + Copy, R: Clone> Table<K, R> {
    pub(super) fn of(rows: impl IntoIterator<Item = (K, R)>) -> Self {
        let rows: BTreeMap<K, Arc<R>> = rows.into_iter().map(|(k, r)| (k, Arc::new(r))).collect();
        Table { rows, dirty: BTreeSet::new(), touched: BTreeSet::new() }
    }

    pub(super) fn get(&self, key: K) -> Option<&Arc<R>> {
        self.rows.get(&key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &Arc<R>)> {
        self.rows.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn insert(&mut self, key: K, row: R) {
        self.rows.insert(key, Arc::new(row));
        self.dirty.insert(key);
        self.touched.insert(key);
    }

    /// A row that is already in the store, taken in for one input.
    pub(super) fn lend(&mut self, key: K, row: Arc<R>) {
        self.rows.entry(key).or_insert(row);
        self.touched.insert(key);
    }

    pub(super) fn edit<T>(&mut self, key: K, change: impl FnOnce(&mut R) -> T) -> Option<T> {
        let row = self.rows.get_mut(&key)?;
        self.dirty.insert(key);
        self.touched.insert(key);
        Some(change(Arc::make_mut(row)))
    }

    pub(super) fn remove(&mut self, key: K) -> Option<Arc<R>> {
        self.dirty.remove(&key);
        self.touched.remove(&key);
        self.rows.remove(&key)
    }

    /// Changed since the last commit.
    pub(super) fn is_dirty(&self, key: K) -> bool {
        self.dirty.contains(&key)
    }

    pub(super) fn drain(&mut self, mut each: impl FnMut(Arc<R>)) {
        for key in std::mem::take(&mut self.dirty) {
            if let Some(row) = self.rows.get(&key) {
                each(row.clone());
            }
        }
    }

    /// Takes out the touched rows for which `over` holds.
    pub(super) fn remove_touched(&mut self, over: impl Fn(&R) -> bool) -> Vec<Arc<R>> {
        let touched = std::mem::take(&mut self.touched);
        let mut out = Vec::new();
        for key in touched {
            if self.rows.get(&key).is_some_and(|r| over(r)) {
                out.extend(self.rows.remove(&key));
            }
        }
        out
    }

    pub(super) fn clear_touched(&mut self) {
        self.touched.clear();
    }
}
