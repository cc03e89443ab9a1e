//! A set of small numbers of which the least is wanted.

use serde::{Deserialize, Serialize};

use crate::plan::index::{at, number};

const BITS: u32 = 32;

/// Words without zeros at the end, so that equal sets are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Bits(Vec<u32>);

impl Bits {
    pub(super) fn set(&mut self, bit: u32) {
        let place = at(bit / BITS);
        if self.0.len() <= place {
            self.0.resize(place + 1, 0);
        }
        if let Some(word) = self.0.get_mut(place) {
            *word |= 1 << (bit % BITS);
        }
    }

    pub(super) fn clear(&mut self, bit: u32) {
        if let Some(word) = self.0.get_mut(at(bit / BITS)) {
            *word &= !(1 << (bit % BITS));
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    pub(super) fn first(&self) -> Option<u32> {
        let (place, word) = self.0.iter().enumerate().find(|(_, word)| **word != 0)?;
        number(place).checked_mul(BITS)?.checked_add(word.trailing_zeros())
    }
}
