//! A source that repeats itself: what one render was given, the next is given again.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::source::Source;

/// The most answers that are kept; a render that asks more is given fresh ones from there on.
const MAX_ANSWERS: usize = 100_000;

/// Wraps a source so that a chart that is rendered again gets the same time, randomness and keys again.
///
/// An operator renders the same resource many times. With fresh passwords each time every render would be a change;
/// with this the second render is equal to the first, and makes no keys. Where the templates ask for something else
/// than last time, the answers are fresh from that question on.
pub struct RepeatingSource {
    inner: Rc<dyn Source>,
    tape: RefCell<Tape>,
}

#[derive(Default)]
struct Tape {
    answers: Vec<(Question, Vec<u8>)>,
    next: usize,
}

/// What was asked; an answer is given again only to the same question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Question {
    Now,
    Elapsed,
    Bytes(usize),
    RsaKey(u32),
    EcdsaKey,
    Ed25519Key,
    DsaKey,
}

impl RepeatingSource {
    /// Wraps a source; the first render gets its answers from there.
    pub fn new(inner: Rc<dyn Source>) -> RepeatingSource {
        RepeatingSource {
            inner,
            tape: RefCell::default(),
        }
    }

    /// Starts over: the next render gets what the last one got.
    pub fn rewind(&self) {
        self.tape.borrow_mut().next = 0;
    }

    fn answer(&self, question: Question, fresh: impl FnOnce(&dyn Source) -> Vec<u8>) -> Vec<u8> {
        let mut tape = self.tape.borrow_mut();
        let next = tape.next;
        if let Some((_, answer)) = tape.answers.get(next).filter(|(asked, _)| *asked == question) {
            let answer = answer.clone();
            tape.next += 1;
            return answer;
        }
        tape.answers.truncate(next);
        let answer = fresh(self.inner.as_ref());
        if next < MAX_ANSWERS {
            tape.answers.push((question, answer.clone()));
            tape.next += 1;
        }
        answer
    }

    fn sized<const SIZE: usize>(
        &self,
        question: Question,
        fresh: impl Fn(&dyn Source) -> [u8; SIZE],
    ) -> [u8; SIZE] {
        let answer = self.answer(question, |source| fresh(source).to_vec());
        <[u8; SIZE]>::try_from(answer).unwrap_or_else(|_| fresh(self.inner.as_ref()))
    }
}

impl Source for RepeatingSource {
    fn now(&self) -> Timestamp {
        let nanoseconds = self.sized(Question::Now, |source| source.now().as_nanosecond().to_le_bytes());
        Timestamp::from_nanosecond(i128::from_le_bytes(nanoseconds)).unwrap_or_else(|_| self.inner.now())
    }

    fn elapsed(&self) -> Duration {
        let nanoseconds = self.sized(Question::Elapsed, |source| {
            (source.elapsed().as_nanos() as u64).to_le_bytes()
        });
        Duration::from_nanos(u64::from_le_bytes(nanoseconds))
    }

    fn local_zone(&self) -> TimeZone {
        self.inner.local_zone()
    }

    fn random_bytes(&self, buffer: &mut [u8]) {
        let length = buffer.len();
        let answer = self.answer(Question::Bytes(length), |source| {
            let mut bytes = vec![0; length];
            source.random_bytes(&mut bytes);
            bytes
        });
        buffer.copy_from_slice(&answer);
    }

    fn rsa_private_key(&self, bits: u32) -> Vec<u8> {
        self.answer(Question::RsaKey(bits), |source| source.rsa_private_key(bits))
    }

    fn ecdsa_p256_private_key(&self) -> [u8; 32] {
        self.sized(Question::EcdsaKey, |source| source.ecdsa_p256_private_key())
    }

    fn ed25519_private_key(&self) -> [u8; 32] {
        self.sized(Question::Ed25519Key, |source| source.ed25519_private_key())
    }

    fn dsa_private_key(&self) -> Vec<u8> {
        self.answer(Question::DsaKey, |source| source.dsa_private_key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SystemSource;

    fn bytes(source: &RepeatingSource, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        source.random_bytes(&mut bytes);
        bytes
    }

    #[test]
    fn the_same_questions_get_the_same_answers_after_a_rewind() {
        let source = RepeatingSource::new(Rc::new(SystemSource));
        let ask = || {
            (
                source.now(),
                source.elapsed(),
                bytes(&source, 16),
                source.ed25519_private_key(),
            )
        };
        let first = ask();
        assert_ne!(ask(), first, "without a rewind everything is new");
        source.rewind();
        assert_eq!(ask(), first);
    }

    #[test]
    fn another_question_gets_a_fresh_answer_and_so_does_everything_after_it() {
        let source = RepeatingSource::new(Rc::new(SystemSource));
        let (first, second, third) = (bytes(&source, 16), bytes(&source, 16), bytes(&source, 16));
        source.rewind();
        assert_eq!(bytes(&source, 16), first);
        assert_eq!(bytes(&source, 8).len(), 8);
        let after = bytes(&source, 16);
        assert!(after != second && after != third);
        source.rewind();
        assert_eq!(bytes(&source, 16), first);
        bytes(&source, 8);
        assert_eq!(bytes(&source, 16), after, "the new answers are kept");
    }
}
