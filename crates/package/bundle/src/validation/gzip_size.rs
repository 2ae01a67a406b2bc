//! How large Go's gzip makes a file, to within a few bytes, without making it.
//!
//! A bundle must fit in a megabyte once OLM has compressed it, and what fits depends on the compressor: Go's takes no
//! match below four bytes and cuts blocks by the number of tokens, which for some files makes a tenth of difference.

mod huffman;

use huffman::code_lengths;

const WINDOW: usize = 1 << 15;
const SHORTEST_MATCH: usize = 4;
const LONGEST_MATCH: usize = 258;
/// How far ahead the compressor wants to see.
const LOOKAHEAD: usize = SHORTEST_MATCH + LONGEST_MATCH;
const TOKENS_PER_BLOCK: usize = 1 << 14;
const HASH_BITS: u32 = 17;
/// The most bytes that a block can hold as they are.
const LARGEST_STORED: usize = 65_535;
/// How the default level searches: when a match is good enough, not worth bettering, good, and how many are tried.
const LAZY: usize = 16;
const NICE: usize = 128;
const TRIES: usize = 128;
/// Beyond this distance the shortest match costs more than it saves.
const FAR: usize = 4096;
/// What gzip adds around the compressed data.
const GZIP_FRAME: u64 = 18;

const LITERALS: usize = 286;
const DISTANCES: usize = 30;
const END_OF_BLOCK: usize = 256;
const FIRST_LENGTH: usize = 257;
const LENGTH_BASES: [usize; 29] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
    227, 258,
];
const LENGTH_EXTRA: [u64; 29] = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
];
const DISTANCE_BASES: [usize; 30] = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073,
    4097, 6145, 8193, 12289, 16385, 24577,
];
const DISTANCE_EXTRA: [u64; 30] = [
    0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
];

/// The bytes that Go's `gzip.NewWriter` writes for a file; among codes that are equally good, its choice may cost a few
/// bytes more in a block's header.
pub(super) fn gzip_size(bytes: &[u8]) -> u64 {
    let mut compressor = Compressor::new(bytes);
    compressor.run();
    // An empty stored block ends the stream: three bits, then whole bytes with a length twice.
    let bits = (compressor.bits + 3).div_ceil(8) * 8 + 32;
    bits / 8 + GZIP_FRAME
}

struct Compressor<'b> {
    bytes: &'b [u8],
    /// Where the window begins and ends.
    base: usize,
    end: usize,
    index: usize,
    /// The last place of every hash, one higher so that 0 is none.
    heads: Vec<u32>,
    previous: Vec<u32>,
    chain_head: usize,
    length: usize,
    distance: usize,
    has_pending: bool,
    block: Block,
    block_start: Option<usize>,
    bits: u64,
}

struct Block {
    tokens: usize,
    literals: [u64; LITERALS],
    distances: [u64; DISTANCES],
}

impl Default for Block {
    fn default() -> Self {
        Self {
            tokens: 0,
            literals: [0; LITERALS],
            distances: [0; DISTANCES],
        }
    }
}

impl<'b> Compressor<'b> {
    fn new(bytes: &'b [u8]) -> Self {
        Self {
            bytes,
            base: 0,
            end: 0,
            index: 0,
            heads: vec![0; 1 << HASH_BITS],
            previous: vec![0; WINDOW],
            chain_head: 0,
            length: SHORTEST_MATCH - 1,
            distance: 0,
            has_pending: false,
            block: Block::default(),
            block_start: Some(0),
            bits: 0,
        }
    }

    fn run(&mut self) {
        while self.end < self.bytes.len() {
            if self.index - self.base >= 2 * WINDOW - LOOKAHEAD {
                self.base += WINDOW;
                self.block_start = self.block_start.filter(|start| *start >= self.base);
            }
            self.end = (self.base + 2 * WINDOW).min(self.bytes.len());
            self.step(false);
        }
        self.step(true);
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or_default()
    }

    fn insert(&mut self, at: usize) -> usize {
        let word = (0..4).fold(0_u32, |word, offset| {
            word << 8 | u32::from(self.byte(at + offset))
        });
        let hash = (word.wrapping_mul(0x1e35_a7bd) >> (32 - HASH_BITS)) as usize;
        let Some(head) = self.heads.get_mut(hash) else {
            return 0;
        };
        let earlier = *head;
        // A bundle is far smaller than what 32 bits count.
        *head = u32::try_from(at + 1).unwrap_or(u32::MAX);
        if let Some(slot) = self.previous.get_mut(at % WINDOW) {
            *slot = earlier;
        }
        earlier as usize
    }

    fn step(&mut self, is_last: bool) {
        let last_insert = (self.end + 1).saturating_sub(SHORTEST_MATCH);
        loop {
            let lookahead = self.end - self.index;
            if lookahead < LOOKAHEAD {
                if !is_last {
                    return;
                }
                if lookahead == 0 {
                    if self.has_pending {
                        self.literal(self.index - 1);
                        self.has_pending = false;
                    }
                    self.finish_block(self.index);
                    return;
                }
            }
            if self.index < last_insert {
                self.chain_head = self.insert(self.index);
            }
            let (earlier_length, earlier_distance) = (self.length, self.distance);
            (self.length, self.distance) = (SHORTEST_MATCH - 1, 0);
            let oldest = self.index.saturating_sub(WINDOW).max(self.base);
            if self.chain_head > oldest && lookahead > earlier_length && earlier_length < LAZY {
                self.find_match(self.chain_head - 1, lookahead);
            }
            if earlier_length >= SHORTEST_MATCH && self.length <= earlier_length {
                self.matched(earlier_length, earlier_distance);
                let after = self.index + earlier_length - 1;
                for at in self.index + 1..after {
                    if at < last_insert {
                        self.insert(at);
                    }
                }
                self.index = after.max(self.index + 1);
                self.has_pending = false;
                self.length = SHORTEST_MATCH - 1;
                if self.block.tokens == TOKENS_PER_BLOCK {
                    self.finish_block(self.index);
                }
            } else {
                if self.has_pending {
                    self.literal(self.index - 1);
                    if self.block.tokens == TOKENS_PER_BLOCK {
                        self.finish_block(self.index);
                    }
                }
                self.index += 1;
                self.has_pending = true;
            }
        }
    }

    fn find_match(&mut self, first: usize, lookahead: usize) {
        let most = lookahead.min(LONGEST_MATCH);
        let nice = NICE.min(most);
        let oldest = self.index.checked_sub(WINDOW);
        let mut candidate = first;
        for _ in 0..TRIES {
            if self.byte(candidate + self.length) == self.byte(self.index + self.length) {
                let length = self
                    .bytes
                    .iter()
                    .skip(candidate)
                    .zip(self.bytes.iter().skip(self.index))
                    .take(most)
                    .take_while(|(one, other)| one == other)
                    .count();
                if length > self.length && (length > SHORTEST_MATCH || self.index - candidate <= FAR) {
                    self.length = length;
                    self.distance = self.index - candidate;
                    if length >= nice {
                        return;
                    }
                }
            }
            if Some(candidate) == oldest {
                return;
            }
            let next = self.previous.get(candidate % WINDOW).copied().unwrap_or_default() as usize;
            match next.checked_sub(1) {
                Some(next) if next >= self.base && oldest.is_none_or(|oldest| next >= oldest) => {
                    candidate = next;
                }
                _ => return,
            }
        }
    }

    fn literal(&mut self, at: usize) {
        let byte = usize::from(self.byte(at));
        self.block.tokens += 1;
        if let Some(count) = self.block.literals.get_mut(byte) {
            *count += 1;
        }
    }

    fn matched(&mut self, length: usize, distance: usize) {
        let code =
            |bases: &[usize], value: usize| bases.partition_point(|base| *base <= value).saturating_sub(1);
        self.block.tokens += 1;
        if let Some(count) = self
            .block
            .literals
            .get_mut(FIRST_LENGTH + code(&LENGTH_BASES, length))
        {
            *count += 1;
        }
        if let Some(count) = self.block.distances.get_mut(code(&DISTANCE_BASES, distance)) {
            *count += 1;
        }
    }

    fn finish_block(&mut self, index: usize) {
        let block = std::mem::take(&mut self.block);
        if block.tokens == 0 {
            return;
        }
        let stored = self
            .block_start
            .map(|start| index - start)
            .filter(|length| *length <= LARGEST_STORED);
        self.block_start = Some(index);
        let size = block.coded_size();
        match stored {
            Some(length) if (length as u64 + 5) * 8 < size => {
                self.bits = (self.bits + 3).div_ceil(8) * 8 + 32 + length as u64 * 8;
            }
            _ => self.bits += size,
        }
    }
}

impl Block {
    /// The bits of the block with the better of fixed and own codes.
    fn coded_size(mut self) -> u64 {
        self.literals[END_OF_BLOCK] = 1;
        let extra: u64 = self.literals[FIRST_LENGTH..]
            .iter()
            .zip(LENGTH_EXTRA)
            .chain(self.distances.iter().zip(DISTANCE_EXTRA))
            .map(|(count, bits)| count * bits)
            .sum();
        let fixed_length = |symbol: usize| match symbol {
            144..=255 => 9,
            256..=279 => 7,
            _ => 8,
        };
        let fixed: u64 = self
            .literals
            .iter()
            .enumerate()
            .map(|(symbol, count)| count * fixed_length(symbol))
            .sum::<u64>()
            + self.distances.iter().sum::<u64>() * 5;
        if self.distances.iter().all(|count| *count == 0) {
            self.distances[0] = 1;
        }
        let used = |counts: &[u64]| {
            counts
                .iter()
                .rposition(|count| *count > 0)
                .map_or(0, |last| last + 1)
        };
        let literal_lengths = code_lengths(&self.literals, 15);
        let distance_lengths = code_lengths(&self.distances, 15);
        let all: Vec<u64> = literal_lengths[..used(&self.literals)]
            .iter()
            .chain(&distance_lengths[..used(&self.distances)])
            .copied()
            .collect();
        let cost = |counts: &[u64], lengths: &[u64]| -> u64 {
            counts
                .iter()
                .zip(lengths)
                .map(|(count, length)| count * length)
                .sum()
        };
        let own = header_size(&all)
            + cost(&self.literals, &literal_lengths)
            + cost(&self.distances, &distance_lengths);
        3 + extra + fixed.min(own)
    }
}

/// The bits that say which codes a block has, without the three that every block begins with.
fn header_size(lengths: &[u64]) -> u64 {
    const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
    let mut counts = [0_u64; 19];
    let mut add = |symbol: usize, times: u64| {
        if let Some(count) = counts.get_mut(symbol) {
            *count += times;
        }
    };
    for run in lengths.chunk_by(|one, other| one == other) {
        let mut left = run.len();
        let length = usize::try_from(run.first().copied().unwrap_or_default()).unwrap_or_default();
        if length == 0 {
            while left >= 11 {
                add(18, 1);
                left -= left.min(138);
            }
            if left >= 3 {
                add(17, 1);
                left = 0;
            }
        } else {
            add(length, 1);
            left -= 1;
            while left >= 3 {
                add(16, 1);
                left -= left.min(6);
            }
        }
        add(length, left as u64);
    }
    let written = ORDER
        .iter()
        .rposition(|symbol| counts.get(*symbol).is_some_and(|count| *count > 0))
        .map_or(0, |last| last + 1)
        .max(4);
    let code: u64 = code_lengths(&counts, 7)
        .iter()
        .zip(&counts)
        .map(|(length, count)| length * count)
        .sum();
    5 + 5 + 4 + 3 * written as u64 + code + counts[16] * 2 + counts[17] * 3 + counts[18] * 7
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digits without a pattern, of the sort that makes compressors differ.
    fn digits(count: usize) -> Vec<u8> {
        let mut state = 1_u32;
        std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b"0123456789abcdef"[(state >> 28) as usize]
        })
        .take(count)
        .collect()
    }

    #[test]
    fn sizes_are_those_that_go_writes_but_for_a_few_bytes() {
        for (bytes, expected) in [
            (Vec::new(), SIZES[0]),
            (b"hello hello hello hello".to_vec(), SIZES[1]),
            (vec![b'a'; 100_000], SIZES[2]),
            (digits(200_000), SIZES[3]),
            (b"apiVersion: v1\nkind: ConfigMap\n".repeat(3000), SIZES[4]),
        ] {
            let size = gzip_size(&bytes);
            assert!(
                size.abs_diff(expected) <= 2,
                "{} bytes: {size} instead of {expected}",
                bytes.len()
            );
        }
    }

    /// What Go 1.26 wrote for the inputs above.
    const SIZES: [u64; 5] = [23, 32, 137, 104_993, 301];
}
