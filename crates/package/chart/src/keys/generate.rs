//! Private keys from any stream of random bytes: RSA, DSA and ECDSA.

use num_bigint::BigUint;

use super::der;
use super::montgomery::{Base, Modulus};

/// Fills a buffer with random bytes.
pub(crate) type Random<'a> = &'a mut dyn FnMut(&mut [u8]);

/// Odd primes below this are tried by division before the costly test: about where it stops paying.
const SIEVE_LIMIT: u32 = 1 << 15;

/// How often a candidate of any size is tested: an error is less likely than 4 to the power of minus this.
const MILLER_RABIN_ROUNDS: usize = 24;

/// From so many bits on, fewer tests of a random candidate leave less doubt (FIPS 186-5, table B.1).
const LARGE_BITS: u64 = 1024;
const MILLER_RABIN_ROUNDS_FOR_LARGE: usize = 5;

/// How many candidates are sieved at a time; about one in 400 odd numbers of 1024 bits is a prime.
const WINDOW: usize = 2048;

/// The order of the group of NIST's curve P-256.
const P256_ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];

/// Makes an RSA private key with the public exponent 65537: PKCS#1 in DER.
pub(crate) fn rsa_private_key(random: Random<'_>, bits: u32) -> Vec<u8> {
    let one = BigUint::from(1u8);
    let exponent = BigUint::from(65537u32);
    let sieve = small_primes();
    // Below 32 bits there may be no second prime to find.
    let bits = u64::from(bits.max(32));
    loop {
        // Both factors have their two highest bits set, so that the product has all its bits.
        let first = random_prime(random, bits - bits / 2, &sieve);
        let second = random_prime(random, bits / 2, &sieve);
        if first == second {
            continue;
        }
        let (p, q) = if first > second {
            (first, second)
        } else {
            (second, first)
        };
        let (p_less, q_less) = (&p - &one, &q - &one);
        let Some(private) = exponent.modinv(&(&p_less * &q_less)) else {
            continue;
        };
        let Some(coefficient) = q.modinv(&p) else { continue };
        return der::sequence(&[
            der::integer(&BigUint::ZERO),
            der::integer(&(&p * &q)),
            der::integer(&exponent),
            der::integer(&private),
            der::integer(&p),
            der::integer(&q),
            der::integer(&(&private % &p_less)),
            der::integer(&(&private % &q_less)),
            der::integer(&coefficient),
        ]);
    }
}

/// Makes a DSA key (2048-bit modulus, 256-bit group): version, p, q, g, y, x in DER.
pub(crate) fn dsa_private_key(random: Random<'_>) -> Vec<u8> {
    const MODULUS_BITS: u64 = 2048;
    const GROUP_BITS: u64 = 256;
    let one = BigUint::from(1u8);
    let sieve = small_primes();
    let (modulus, group) = loop {
        let group = random_prime(random, GROUP_BITS, &sieve);
        let step = &group << 1u8;
        let start = random_bits(random, MODULUS_BITS);
        // The next number from `start` on that is 1 modulo twice the group.
        let start = &start - (&start % &step) + &one;
        if let Some(modulus) = search_prime(random, start, &step, MODULUS_BITS, &sieve) {
            break (modulus, group);
        }
    };
    let cofactor = (&modulus - &one) / &group;
    let generator = (2u32..1000)
        .map(|base| BigUint::from(base).modpow(&cofactor, &modulus))
        .find(|generator| *generator > one)
        .unwrap_or(one);
    let private = loop {
        let private = BigUint::from_bytes_be(&random_octets(random, GROUP_BITS / 8));
        if private != BigUint::ZERO && private < group {
            break private;
        }
    };
    let public = generator.modpow(&private, &modulus);
    der::sequence(&[
        der::integer(&BigUint::ZERO),
        der::integer(&modulus),
        der::integer(&group),
        der::integer(&generator),
        der::integer(&public),
        der::integer(&private),
    ])
}

/// Makes the scalar of an ECDSA P-256 key.
pub(crate) fn ecdsa_p256_private_key(random: Random<'_>) -> [u8; 32] {
    loop {
        let mut scalar = [0; 32];
        random(&mut scalar);
        if scalar != [0; 32] && scalar < P256_ORDER {
            return scalar;
        }
    }
}

/// Returns the odd primes that [`search_prime`] divides by.
fn small_primes() -> Vec<u32> {
    let limit = SIEVE_LIMIT as usize;
    let mut composite = vec![false; limit];
    let mut primes = Vec::new();
    for number in (3..limit).step_by(2) {
        if composite[number] {
            continue;
        }
        primes.push(number as u32);
        for multiple in (number * number..limit).step_by(number * 2) {
            composite[multiple] = true;
        }
    }
    primes
}

fn random_octets(random: Random<'_>, count: u64) -> Vec<u8> {
    let mut bytes = vec![0; count as usize];
    random(&mut bytes);
    bytes
}

/// Returns an odd number of exactly `bits` bits with its two highest bits set.
fn random_bits(random: Random<'_>, bits: u64) -> BigUint {
    let mut number = BigUint::from_bytes_be(&random_octets(random, bits.div_ceil(8)));
    number >>= bits.div_ceil(8) * 8 - bits;
    number.set_bit(0, true);
    number.set_bit(bits - 1, true);
    number.set_bit(bits - 2, true);
    number
}

fn random_prime(random: Random<'_>, bits: u64, sieve: &[u32]) -> BigUint {
    loop {
        let start = random_bits(random, bits);
        if let Some(prime) = search_prime(random, start, &BigUint::from(2u8), bits, sieve) {
            return prime;
        }
    }
}

/// Searches upwards from `start` in steps for a prime; none when the numbers get longer than `bits`.
fn search_prime(
    random: Random<'_>,
    start: BigUint,
    step: &BigUint,
    bits: u64,
    sieve: &[u32],
) -> Option<BigUint> {
    let remainder =
        |number: &BigUint, prime: u32| (number % prime).iter_u32_digits().next().unwrap_or_default();
    let mut window_start = start;
    while window_start.bits() <= bits {
        let mut composite = [false; WINDOW];
        for prime in sieve {
            let (residue, advance) = (remainder(&window_start, *prime), remainder(step, *prime));
            let Some(first) = first_multiple(residue, advance, *prime) else {
                continue;
            };
            // A short candidate may be one of the small primes itself.
            let spared = index_of(&BigUint::from(*prime), &window_start, step);
            for index in (first..WINDOW).step_by(*prime as usize) {
                composite[index] |= spared != Some(index);
            }
        }
        for (index, is_composite) in composite.iter().enumerate() {
            if *is_composite {
                continue;
            }
            let candidate = &window_start + step * index;
            if candidate.bits() > bits {
                return None;
            }
            if is_probably_prime(random, &candidate) {
                return Some(candidate);
            }
        }
        window_start += step * WINDOW;
    }
    None
}

/// Returns the index of a number in the progression, where it is in it and short.
fn index_of(number: &BigUint, start: &BigUint, step: &BigUint) -> Option<usize> {
    if number < start || start.bits() > 32 {
        return None;
    }
    usize::try_from((number - start) / step).ok()
}

/// Returns the first index at which `residue + index * advance` is a multiple of the prime; none where the
/// residue does not change.
fn first_multiple(residue: u32, advance: u32, prime: u32) -> Option<usize> {
    if advance == 0 {
        return None;
    }
    let (prime, advance, residue) = (u64::from(prime), u64::from(advance), u64::from(residue));
    let inverse = power_modulo(advance, prime - 2, prime);
    Some(((prime - residue) % prime * inverse % prime) as usize)
}

fn power_modulo(mut base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        exponent >>= 1;
    }
    result
}

/// Miller and Rabin's test of an odd number above 3, first with the base 2 and then with random bases.
fn is_probably_prime(random: Random<'_>, candidate: &BigUint) -> bool {
    let one = BigUint::from(1u8);
    let two = BigUint::from(2u8);
    let less = candidate - &one;
    let (Some(twos), Some(modulus)) = (less.trailing_zeros(), Modulus::new(candidate)) else {
        return false;
    };
    let odd = &less >> twos;
    let width = candidate.bits().div_ceil(8);
    let minus_one = modulus.minus_one();
    let rounds = if candidate.bits() >= LARGE_BITS {
        MILLER_RABIN_ROUNDS_FOR_LARGE
    } else {
        MILLER_RABIN_ROUNDS
    };
    (0..rounds).all(|round| {
        let base = if round == 0 {
            Base::Two
        } else {
            let base = BigUint::from_bytes_be(&random_octets(random, width)) % (candidate - &two) + &two;
            Base::Number(modulus.enter(&(base % candidate)))
        };
        let mut power = modulus.power(&base, &odd);
        if power == modulus.one() || power == minus_one {
            return true;
        }
        (1..twos).any(|_| {
            modulus.square(&mut power);
            power == minus_one
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that repeats for the same seed; far from random, and enough to find primes with.
    fn stream(mut state: u64) -> impl FnMut(&mut [u8]) {
        move |buffer| {
            for byte in buffer {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                *byte = (state >> 56) as u8;
            }
        }
    }

    #[test]
    fn small_primes_are_found_and_composites_are_not() {
        let sieve = small_primes();
        for bits in 3..20 {
            let prime = random_prime(&mut stream(bits), bits, &sieve);
            let number = u64::try_from(&prime).expect("a short number");
            assert!(
                (2..number)
                    .take_while(|divisor| divisor * divisor <= number)
                    .all(|d| number % d != 0),
                "{prime}"
            );
            assert_eq!(prime.bits(), bits);
        }
    }

    #[test]
    fn carmichael_numbers_are_not_taken_for_primes() {
        for number in [561u32, 1105, 1729, 2465, 2821, 6601, 8911, 41041, 825_265] {
            assert!(
                !is_probably_prime(&mut stream(1), &BigUint::from(number)),
                "{number}"
            );
        }
        for number in [5u32, 7, 65_537, 2_147_483_647] {
            assert!(
                is_probably_prime(&mut stream(1), &BigUint::from(number)),
                "{number}"
            );
        }
    }

    #[test]
    fn a_key_decrypts_what_it_encrypted_and_repeats_for_its_seed() {
        let key = rsa_private_key(&mut stream(7), 1024);
        assert_eq!(key, rsa_private_key(&mut stream(7), 1024));
        let mut reader = der::Reader::new(&key).enter(0x30).expect("a sequence");
        let numbers: Vec<BigUint> = std::iter::from_fn(|| reader.unsigned()).collect();
        let [_, modulus, public, private, p, q, ..] = &numbers[..] else {
            panic!("nine integers")
        };
        assert_eq!(modulus.bits(), 1024);
        assert_eq!(&(p * q), modulus);
        let message = BigUint::from(123_456_789u32);
        assert_eq!(message.modpow(public, modulus).modpow(private, modulus), message);
    }
}
