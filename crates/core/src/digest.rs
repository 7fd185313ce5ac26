//! SHA-256 in the forms that rows keep: raw for texts, short hex where an id is made from one.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest; as JSON its hex.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of `parts`, each with its length before it, so that no two lists of parts give
    /// the same bytes.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Digest(hash.finalize().into())
    }

    /// The first `n` hex digits (at most 64).
    pub fn short(&self, n: usize) -> String {
        let mut hex = String::from(*self);
        hex.truncate(n);
        hex
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.short(12))
    }
}

impl From<Digest> for String {
    fn from(d: Digest) -> String {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut out = String::with_capacity(64);
        for byte in d.0 {
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
        out
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(hex: String) -> Result<Digest, Self::Error> {
        let mut out = [0u8; 32];
        if hex.len() != 64 || !hex.is_ascii() {
            return Err("a digest is 64 hex digits");
        }
        for (i, byte) in out.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).map_err(|_| "a digest is hex")?;
        }
        Ok(Digest(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_tells_lists_of_parts_apart_and_survives_json() {
        let joined = Digest::of([b"ab".as_slice()]);
        let split = Digest::of([b"a".as_slice(), b"b".as_slice()]);
        assert_ne!(joined, split);
        let json = serde_json::to_string(&joined).unwrap();
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), joined);
        assert!(serde_json::from_str::<Digest>("\"zz\"").is_err());
    }
}
