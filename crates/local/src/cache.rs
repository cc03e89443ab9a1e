//! Memories of the last conversations, so that a prompt is read only where it is new.
//!
//! Invariants
//! - At most so many memories and so many bytes are kept, whatever comes.
//! - A conversation that goes on keeps its memory; one that branches off gets a copy of
//!   what both share.

use crate::transformer::Memory;

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLimits {
    /// Most conversations.
    pub conversations: usize,
    /// Most bytes of all of them.
    pub bytes: usize,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { conversations: 4, bytes: 128 * 1024 * 1024 }
    }
}

/// The memories, the one used last at the end.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    limits: CacheLimits,
    memories: Vec<Memory>,
}

impl Cache {
    pub(crate) fn new(limits: CacheLimits) -> Self {
        Self { limits, memories: Vec::new() }
    }

    /// A memory that holds the longest known beginning of these tokens, but never all of
    /// them: the last one must be read to know what follows.
    pub(crate) fn take(&mut self, tokens: &[u32], fresh: impl Fn() -> Memory) -> Memory {
        let all_but_last = tokens.len().saturating_sub(1);
        let head = tokens.get(..all_but_last).unwrap_or_default();
        let best = self.memories.iter().enumerate().max_by_key(|(_, memory)| memory.common(head));
        let Some((at, shared, whole)) =
            best.map(|(at, memory)| (at, memory.common(head), memory.tokens().len()))
        else {
            return fresh();
        };
        let goes_on = shared * 2 >= whole;
        if goes_on && shared > 0 {
            let mut memory = self.memories.remove(at);
            memory.cut(shared);
            return memory;
        }
        match self.memories.get(at) {
            Some(memory) if shared > 0 => memory.copy(shared),
            _ => fresh(),
        }
    }

    /// Keeps a memory, as the one used last.
    pub(crate) fn keep(&mut self, memory: Memory) {
        self.memories.push(memory);
        while self.memories.len() > self.limits.conversations || self.bytes() > self.limits.bytes {
            if self.memories.is_empty() {
                return;
            }
            self.memories.remove(0);
        }
    }

    fn bytes(&self) -> usize {
        self.memories.iter().map(Memory::bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(tokens: &[u32]) -> Memory {
        let mut memory = Memory::new(0, 0);
        memory.grow(tokens);
        memory
    }

    fn fresh() -> Memory {
        memory(&[])
    }

    #[test]
    fn a_conversation_that_goes_on_gets_its_memory_back() {
        let mut cache = Cache::new(CacheLimits::default());
        cache.keep(memory(&[1, 2, 3]));
        cache.keep(memory(&[7, 8]));
        assert_eq!(cache.take(&[1, 2, 3, 4, 5], fresh).tokens(), [1, 2, 3]);
        assert_eq!(cache.memories.len(), 1);
    }

    #[test]
    fn the_last_token_of_a_prompt_is_always_read_anew() {
        let mut cache = Cache::new(CacheLimits::default());
        cache.keep(memory(&[1, 2, 3]));
        assert_eq!(cache.take(&[1, 2, 3], fresh).tokens(), [1, 2]);
    }

    #[test]
    fn a_branch_takes_a_copy_and_leaves_the_other_conversation_its_memory() {
        let mut cache = Cache::new(CacheLimits::default());
        cache.keep(memory(&[1, 2, 3, 4, 5, 6]));
        assert_eq!(cache.take(&[1, 2, 9, 9], fresh).tokens(), [1, 2]);
        assert_eq!(cache.memories.len(), 1);
    }

    #[test]
    fn the_oldest_memory_goes_when_there_are_too_many() {
        let mut cache = Cache::new(CacheLimits { conversations: 2, bytes: usize::MAX });
        for first in 1..=3 {
            cache.keep(memory(&[first, 0]));
        }
        assert!(cache.take(&[1, 0, 0], fresh).tokens().is_empty());
        assert_eq!(cache.take(&[3, 0, 0], fresh).tokens(), [3, 0]);
    }
}
