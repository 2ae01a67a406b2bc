//! Powers modulo an odd number in Montgomery's form: what a search for primes spends its time on.

use num_bigint::BigUint;

/// An odd modulus, prepared for many multiplications.
pub(crate) struct Modulus {
    limbs: Vec<u64>,
    /// The negated inverse of the lowest limb, modulo 2⁶⁴.
    inverse: u64,
    /// One, in Montgomery's form.
    one: Vec<u64>,
    /// What takes a number into Montgomery's form.
    square_of_radix: Vec<u64>,
}

impl Modulus {
    /// Prepares an odd number above 1; none for others.
    pub(crate) fn new(number: &BigUint) -> Option<Modulus> {
        if !number.bit(0) || number.bits() < 2 {
            return None;
        }
        let limbs = number.to_u64_digits();
        let width = limbs.len();
        let radix = BigUint::from(1u8) << (width * 64);
        let one = padded(&(&radix % number), width);
        let square_of_radix = padded(&((&radix * &radix) % number), width);
        // Newton's iteration doubles the number of right bits: 3 to begin with, 96 after five rounds.
        let lowest = limbs[0];
        let mut inverse = lowest.wrapping_mul(3) ^ 2;
        for _ in 0..5 {
            inverse = inverse.wrapping_mul(2_u64.wrapping_sub(lowest.wrapping_mul(inverse)));
        }
        Some(Modulus {
            limbs,
            inverse: inverse.wrapping_neg(),
            one,
            square_of_radix,
        })
    }

    /// Returns one, in Montgomery's form.
    pub(crate) fn one(&self) -> &[u64] {
        &self.one
    }

    /// Returns minus one, in Montgomery's form.
    pub(crate) fn minus_one(&self) -> Vec<u64> {
        let mut result = self.limbs.clone();
        subtract(&mut result, &self.one);
        result
    }

    /// Takes a number below the modulus into Montgomery's form.
    pub(crate) fn enter(&self, number: &BigUint) -> Vec<u64> {
        let number = padded(number, self.limbs.len());
        let mut result = vec![0; self.limbs.len() + 2];
        self.multiply(&number, &self.square_of_radix, &mut result);
        result.truncate(self.limbs.len());
        result
    }

    /// Squares a number in Montgomery's form.
    pub(crate) fn square(&self, number: &mut [u64]) {
        // The sizes of the factors of 2048-bit and 4096-bit keys get code of their own: the search for them is nearly
        // all squaring, and loops of known length are quicker.
        let done = match self.limbs.len() {
            16 => self.square_sized::<16>(number),
            32 => self.square_sized::<32>(number),
            _ => None,
        };
        if done.is_none() {
            let mut result = vec![0; self.limbs.len() + 2];
            self.multiply(number, number, &mut result);
            number.copy_from_slice(&result[..self.limbs.len()]);
        }
    }

    fn square_sized<const WIDTH: usize>(&self, number: &mut [u64]) -> Option<()> {
        let number = number.first_chunk_mut::<WIDTH>()?;
        *number = square(number, self.limbs.first_chunk::<WIDTH>()?, self.inverse);
        Some(())
    }

    /// Returns a power of a number in Montgomery's form; for two, multiplying is doubling.
    pub(crate) fn power(&self, base: &Base, exponent: &BigUint) -> Vec<u64> {
        let width = self.limbs.len();
        let mut result = self.one.clone();
        let mut product = vec![0; width + 2];
        for bit in (0..exponent.bits()).rev() {
            self.square(&mut result);
            if !exponent.bit(bit) {
                continue;
            }
            match base {
                Base::Two => self.double(&mut result),
                Base::Number(number) => {
                    self.multiply(&result, number, &mut product);
                    result.copy_from_slice(&product[..width]);
                }
            }
        }
        result
    }

    fn double(&self, number: &mut [u64]) {
        let mut carry = 0;
        for limb in number.iter_mut() {
            let doubled = (*limb << 1) | carry;
            carry = *limb >> 63;
            *limb = doubled;
        }
        if carry == 1 || !is_less(number, &self.limbs) {
            subtract(number, &self.limbs);
        }
    }

    /// Multiplies and divides by the radix in one pass; `result` has two limbs more than the modulus.
    fn multiply(&self, left: &[u64], right: &[u64], result: &mut [u64]) {
        let modulus = &self.limbs[..];
        let width = modulus.len();
        let result = &mut result[..width + 2];
        let (left, right) = (&left[..width], &right[..width]);
        result.fill(0);
        for factor in left {
            let mut carry = 0;
            for (place, limb) in result.iter_mut().zip(right) {
                (*place, carry) = multiply_add(*factor, *limb, *place, carry);
            }
            let (sum, overflow) = result[width].overflowing_add(carry);
            result[width] = sum;
            result[width + 1] = u64::from(overflow);

            let quotient = result[0].wrapping_mul(self.inverse);
            let (_, mut carry) = multiply_add(quotient, modulus[0], result[0], 0);
            for index in 1..width {
                let (low, high) = multiply_add(quotient, modulus[index], result[index], carry);
                result[index - 1] = low;
                carry = high;
            }
            let (sum, overflow) = result[width].overflowing_add(carry);
            result[width - 1] = sum;
            result[width] = result[width + 1] + u64::from(overflow);
        }
        if result[width] != 0 || !is_less(&result[..width], modulus) {
            subtract(&mut result[..width], modulus);
        }
    }
}

/// The most limbs that [`square`] is used with.
const MAX_SIZED_WIDTH: usize = 32;

/// Squares and divides by the radix: products of different limbs are computed once and doubled.
fn square<const WIDTH: usize>(number: &[u64; WIDTH], modulus: &[u64; WIDTH], inverse: u64) -> [u64; WIDTH] {
    let mut wide = [0; 2 * MAX_SIZED_WIDTH];
    let wide = &mut wide[..2 * WIDTH];
    for row in 0..WIDTH {
        let mut carry = 0;
        let factor = number[row];
        for (place, limb) in wide[2 * row + 1..row + WIDTH].iter_mut().zip(&number[row + 1..]) {
            (*place, carry) = multiply_add(factor, *limb, *place, carry);
        }
        wide[row + WIDTH] = carry;
    }
    double_and_add_squares(wide, number);
    let mut top = false;
    for row in 0..WIDTH {
        let quotient = wide[row].wrapping_mul(inverse);
        let mut carry = 0;
        for (place, limb) in wide[row..row + WIDTH].iter_mut().zip(modulus) {
            (*place, carry) = multiply_add(quotient, *limb, *place, carry);
        }
        let (sum, first) = wide[row + WIDTH].overflowing_add(carry);
        let (sum, second) = sum.overflowing_add(u64::from(top));
        wide[row + WIDTH] = sum;
        top = first || second;
    }
    let mut result = [0; WIDTH];
    result.copy_from_slice(&wide[WIDTH..]);
    if top || !is_less(&result, modulus) {
        subtract(&mut result, modulus);
    }
    result
}

/// Completes a square of which the products of different limbs are there once.
fn double_and_add_squares(wide: &mut [u64], number: &[u64]) {
    let mut shifted_out = 0;
    let mut carry = false;
    for (pair, limb) in wide.chunks_exact_mut(2).zip(number) {
        let square = u128::from(*limb) * u128::from(*limb);
        let doubled_low = (pair[0] << 1) | shifted_out;
        let doubled_high = (pair[1] << 1) | (pair[0] >> 63);
        shifted_out = pair[1] >> 63;
        let (low, first) = doubled_low.overflowing_add(square as u64);
        let (low, second) = low.overflowing_add(u64::from(carry));
        let (high, third) = doubled_high.overflowing_add((square >> 64) as u64);
        let (high, fourth) = high.overflowing_add(u64::from(first) + u64::from(second));
        carry = third || fourth;
        pair[0] = low;
        pair[1] = high;
    }
}

/// What a power is taken of.
pub(crate) enum Base {
    /// Two.
    Two,
    /// A number in Montgomery's form.
    Number(Vec<u64>),
}

/// Returns `left * right + addend + carry` as its low and high half, which always fit.
fn multiply_add(left: u64, right: u64, addend: u64, carry: u64) -> (u64, u64) {
    let wide = u128::from(left) * u128::from(right) + u128::from(addend) + u128::from(carry);
    (wide as u64, (wide >> 64) as u64)
}

fn padded(number: &BigUint, width: usize) -> Vec<u64> {
    let mut limbs = number.to_u64_digits();
    limbs.resize(width, 0);
    limbs
}

fn is_less(left: &[u64], right: &[u64]) -> bool {
    left.iter().rev().cmp(right.iter().rev()).is_lt()
}

/// Subtracts, forgetting a borrow out of the highest limb.
fn subtract(number: &mut [u64], amount: &[u64]) {
    let mut borrow = false;
    for (limb, amount) in number.iter_mut().zip(amount) {
        let (difference, first) = limb.overflowing_sub(*amount);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        *limb = difference;
        borrow = first || second;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn powers_are_those_of_plain_arithmetic(
            modulus in proptest::collection::vec(any::<u8>(), 1..48),
            base in proptest::collection::vec(any::<u8>(), 1..48),
            exponent in proptest::collection::vec(any::<u8>(), 0..24),
        ) {
            let mut number = BigUint::from_bytes_be(&modulus);
            number.set_bit(0, true);
            prop_assume!(number.bits() >= 2);
            let modulus = Modulus::new(&number).expect("an odd number");
            let base = BigUint::from_bytes_be(&base) % &number;
            let exponent = BigUint::from_bytes_be(&exponent);
            let entered = Base::Number(modulus.enter(&base));
            let expected = modulus.enter(&base.modpow(&exponent, &number));
            prop_assert_eq!(modulus.power(&entered, &exponent), expected);
            let two = BigUint::from(2u8) % &number;
            let expected = modulus.enter(&two.modpow(&exponent, &number));
            prop_assert_eq!(modulus.power(&Base::Two, &exponent), expected);
        }
    }

    #[test]
    fn squares_of_every_size_are_products() {
        for width in 1..=34 {
            let bytes: Vec<u8> = (0..width * 8).map(|index| (index * 37 + 255) as u8 | 1).collect();
            let number = BigUint::from_bytes_be(&bytes);
            let modulus = Modulus::new(&number).expect("an odd number");
            for base in [&number - 1u8, &number >> 1u8, &number >> 40u8] {
                let mut squared = modulus.enter(&base);
                modulus.square(&mut squared);
                assert_eq!(
                    squared,
                    modulus.enter(&(&base * &base % &number)),
                    "{width} limbs"
                );
            }
        }
    }

    #[test]
    fn an_even_number_is_no_modulus() {
        assert!(Modulus::new(&BigUint::from(10u8)).is_none());
        assert!(Modulus::new(&BigUint::from(1u8)).is_none());
    }
}
