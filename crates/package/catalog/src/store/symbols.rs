//! Texts as numbers: every text once, sorted, so that comparing two numbers compares the texts.

use std::collections::HashMap;

use super::error::StoreError;
use super::format::{Record as _, Table};

/// The sorted texts of a store.
#[derive(Debug, Clone, Copy)]
pub(super) struct Symbols<'a> {
    offsets: Table<'a, u32>,
    texts: &'a [u8],
}

impl<'a> Symbols<'a> {
    /// The texts whose boundaries `offsets` are.
    pub(super) fn new(offsets: Table<'a, u32>, texts: &'a [u8]) -> Self {
        Self { offsets, texts }
    }

    /// How many texts there are.
    pub(super) fn len(self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The text that a symbol stands for; empty if the symbol is unknown.
    pub(super) fn text(self, symbol: u32) -> &'a str {
        self.bytes(symbol as usize)
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }

    fn bytes(self, position: usize) -> Option<&'a [u8]> {
        let start = self.offsets.get(position)?;
        let end = self.offsets.get(position.checked_add(1)?)?;
        self.texts.get(start as usize..end as usize)
    }

    /// The symbol of a text, if the store has it.
    pub(super) fn find(self, text: &str) -> Option<u32> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.bytes(middle)?.cmp(text.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return u32::try_from(middle).ok(),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

/// Collects texts while a store is written; their symbols are known when all of them are.
#[derive(Debug, Default)]
pub(super) struct Collector {
    numbers: HashMap<Box<str>, u32>,
}

/// The collected texts in their final order.
#[derive(Debug)]
pub(super) struct Collected {
    /// The boundaries of the texts, encoded.
    pub(super) offsets: Vec<u8>,
    /// The texts.
    pub(super) texts: Vec<u8>,
    symbols: Vec<u32>,
}

impl Collector {
    /// A preliminary number for a text.
    pub(super) fn number(&mut self, text: &str) -> Result<u32, StoreError> {
        if let Some(number) = self.numbers.get(text) {
            return Ok(*number);
        }
        let number = u32::try_from(self.numbers.len())
            .ok()
            .filter(|number| *number < u32::MAX)
            .ok_or(StoreError::TooLarge {
                what: "different texts",
                limit: u64::from(u32::MAX),
            })?;
        self.numbers.insert(text.into(), number);
        Ok(number)
    }

    /// The texts by their preliminary numbers.
    pub(super) fn texts(&self) -> Vec<&str> {
        let mut texts = vec![""; self.numbers.len()];
        for (text, number) in &self.numbers {
            texts[*number as usize] = text;
        }
        texts
    }

    /// Sorts the texts and gives each its symbol.
    pub(super) fn finish(self) -> Result<Collected, StoreError> {
        let mut sorted: Vec<(Box<str>, u32)> = self.numbers.into_iter().collect();
        sorted.sort_unstable();
        let mut symbols = vec![0; sorted.len()];
        let mut offsets = Vec::with_capacity((sorted.len() + 1) * u32::LENGTH);
        let mut texts = Vec::new();
        let boundary = |length: usize| {
            u32::try_from(length).map_err(|_| StoreError::TooLarge {
                what: "bytes of names",
                limit: u64::from(u32::MAX),
            })
        };
        for (symbol, (text, number)) in sorted.iter().enumerate() {
            symbols[*number as usize] = symbol as u32;
            boundary(texts.len())?.append(&mut offsets);
            texts.extend_from_slice(text.as_bytes());
        }
        boundary(texts.len())?.append(&mut offsets);
        Ok(Collected {
            offsets,
            texts,
            symbols,
        })
    }
}

impl Collected {
    /// The symbol of a text that had this preliminary number.
    pub(super) fn symbol(&self, number: u32) -> u32 {
        self.symbols[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_in_the_order_of_their_texts() {
        let mut collector = Collector::default();
        let texts = ["stable", "", "alpha", "Ω", "stable", "alpha-1"];
        let numbers: Vec<u32> = texts.iter().map(|text| collector.number(text).unwrap()).collect();
        let collected = collector.finish().unwrap();
        let symbols = Symbols::new(Table::new(&collected.offsets), &collected.texts);
        assert_eq!(symbols.len(), 5);
        for (text, number) in texts.iter().zip(numbers) {
            let symbol = collected.symbol(number);
            assert_eq!(symbols.text(symbol), *text);
            assert_eq!(symbols.find(text), Some(symbol));
        }
        let all: Vec<&str> = (0..5).map(|symbol| symbols.text(symbol)).collect();
        assert!(all.is_sorted());
        assert_eq!(symbols.find("beta"), None);
        assert_eq!(symbols.text(5), "");
    }
}
