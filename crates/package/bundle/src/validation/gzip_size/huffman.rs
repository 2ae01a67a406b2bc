//! The lengths of the best codes for symbols of given frequency.

/// The length of every symbol's code when none may be longer than `limit`; 0 for symbols that don't occur.
pub(super) fn code_lengths(counts: &[u64], limit: usize) -> Vec<u64> {
    let mut lengths = vec![0; counts.len()];
    let mut leaves: Vec<(u64, usize)> = counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(symbol, count)| (*count, symbol))
        .collect();
    if leaves.len() <= 2 {
        for (_, symbol) in leaves {
            if let Some(length) = lengths.get_mut(symbol) {
                *length = 1;
            }
        }
        return lengths;
    }
    leaves.sort_unstable();
    // Package-merge: `limit` times, pair what there is by weight and lay the symbols beside it; a symbol's code is as
    // long as the number of times it is among the cheapest.
    let mut packages: Vec<Package> = Vec::new();
    for _ in 0..limit {
        let mut items: Vec<Package> = leaves
            .iter()
            .map(|(weight, symbol)| Package {
                weight: *weight,
                symbols: vec![*symbol],
            })
            .collect();
        items.append(&mut packages);
        items.sort_by_key(|package| package.weight);
        packages = items.chunks_exact_mut(2).map(paired).collect();
        if packages.len() + 1 >= leaves.len() {
            packages.truncate(leaves.len() - 1);
        }
    }
    for symbol in packages.into_iter().flat_map(|package| package.symbols) {
        if let Some(length) = lengths.get_mut(symbol) {
            *length += 1;
        }
    }
    lengths
}

struct Package {
    weight: u64,
    symbols: Vec<usize>,
}

fn paired(pair: &mut [Package]) -> Package {
    let weight = pair.iter().map(|package| package.weight).sum();
    let symbols = pair
        .iter_mut()
        .flat_map(|package| std::mem::take(&mut package.symbols))
        .collect();
    Package { weight, symbols }
}
