//! Private keys from any stream of random bytes: RSA, DSA and ECDSA.

use num_bigint::BigUint;

use super::der;

/// Fills a buffer with random bytes.
pub(crate) type Random<'a> = &'a mut dyn FnMut(&mut [u8]);

/// Odd primes below this are tried by division before the costly test: about where it stops paying.
const SIEVE_LIMIT: u32 = 1 << 15;

/// How often a random candidate is tested: an error is less likely than 4 to the power of minus this.
const MILLER_RABIN_ROUNDS: usize = 24;

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
        let (p, q) = if first > second { (first, second) } else { (second, first) };
        let (p_less, q_less) = (&p - &one, &q - &one);
        let Some(private) = exponent.modinv(&(&p_less * &q_less)) else { continue };
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
    let generator = (2u32..)
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
    let remainder = |number: &BigUint, prime: u32| {
        (number % prime).iter_u32_digits().next().unwrap_or_default()
    };
    let mut residues: Vec<(u32, u32, u32)> =
        sieve.iter().map(|prime| (remainder(&start, *prime), remainder(step, *prime), *prime)).collect();
    let short = start.bits() <= 32;
    let mut candidate = start;
    while candidate.bits() <= bits {
        let divisible = residues.iter().any(|(residue, _, prime)| {
            // A short candidate may be one of the small primes itself.
            *residue == 0 && !(short && candidate == BigUint::from(*prime))
        });
        if !divisible && is_probably_prime(random, &candidate) {
            return Some(candidate);
        }
        candidate += step;
        for (residue, advance, prime) in &mut residues {
            *residue = (*residue + *advance) % *prime;
        }
    }
    None
}

/// Miller and Rabin's test of an odd number above 3, first with the base 2 and then with random bases.
fn is_probably_prime(random: Random<'_>, candidate: &BigUint) -> bool {
    let one = BigUint::from(1u8);
    let two = BigUint::from(2u8);
    let less = candidate - &one;
    let Some(twos) = less.trailing_zeros() else { return false };
    let odd = &less >> twos;
    let width = candidate.bits().div_ceil(8);
    (0..MILLER_RABIN_ROUNDS).all(|round| {
        let base = if round == 0 {
            two.clone()
        } else {
            BigUint::from_bytes_be(&random_octets(random, width)) % (candidate - &two) + &two
        };
        let mut power = base.modpow(&odd, candidate);
        if power == one || power == less || base == *candidate {
            return true;
        }
        (1..twos).any(|_| {
            power = power.modpow(&two, candidate);
            power == less
        })
    })
}
