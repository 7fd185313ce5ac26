//! A small generator of bad inputs from good ones; the same ones in every run.

/// Pieces that readers of JSON, of addresses and of streams look at.
const PIECES: [&[u8]; 40] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b",",
    b":",
    b"null",
    b"true",
    b"0",
    b"-1",
    b"1e999",
    b"2147483648",
    b"0.5",
    b"\\u0000",
    b"\\ud800",
    b"\\",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b" ",
    b"data: ",
    b"id: ",
    b"event: ",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc3\xa4",
    b"/",
    b"%2F",
    b"%3A",
    b"%",
    b"?",
    b"&",
    b"=",
    b":cancel",
    b"_",
    b"\"id\":1,",
    b"\"metadata\":{},",
];

/// A xorshift generator.
pub struct Mutator(u64);

impl Mutator {
    pub fn new(seed: u64) -> Self {
        Mutator(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// One to four changes.
    pub fn mutate(&mut self, seed: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, other);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len() + 1);
        let end = (at + 1 + self.below(16)).min(bytes.len()).max(at);
        match self.below(8) {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.truncate(at),
            2 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            3 => drop(bytes.splice(at..end, bytes[at..end].repeat(2).clone())),
            4 => {
                let (from, to) = (self.below(other.len() + 1), self.below(other.len() + 1));
                let piece = other[from.min(to)..from.max(to)].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            5 => {
                let piece = *self.pick(&PIECES);
                drop(bytes.splice(at..end, piece.iter().copied()));
            }
            _ => {
                let piece = *self.pick(&PIECES);
                drop(bytes.splice(at..at, piece.iter().copied()));
            }
        }
    }
}
