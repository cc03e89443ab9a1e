//! The network: the same scores however it is asked.

use super::*;
use crate::tiny::Tiny;

fn open(tiny: Tiny, threads: usize) -> Transformer {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    tiny.write(&path);
    Transformer::open(&mut Gguf::open(&path).unwrap(), threads).unwrap()
}

fn tokens(count: u32) -> Vec<u32> {
    (0..count).map(|at| at * 31 % 250).collect()
}

#[test]
fn scores_do_not_depend_on_how_the_tokens_were_cut_or_on_the_threads() {
    for architecture in ["llama", "qwen2"] {
        let tiny = Tiny { architecture, ..Tiny::default() };
        let one = open(tiny, 1);
        let mut memory = one.remember();
        let whole = one.feed(&mut memory, &tokens(200)).unwrap();
        for threads in [1, 2, 3] {
            let model = open(tiny, threads);
            let mut memory = model.remember();
            let mut scores = Vec::new();
            for part in tokens(200).chunks(7) {
                scores = model.feed(&mut memory, part).unwrap();
            }
            assert_eq!(whole, scores, "{architecture}, {threads} threads");
        }
    }
}

#[test]
fn a_memory_cut_back_or_copied_goes_on_as_a_fresh_one() {
    let model = open(Tiny::default(), 2);
    let mut cold = model.remember();
    let wanted = model.feed(&mut cold, &tokens(40)).unwrap();
    let mut warm = model.remember();
    model.feed(&mut warm, &tokens(25)).unwrap();
    model.feed(&mut warm, &[1, 2, 3, 4]).unwrap();
    let mut copied = warm.copy(25);
    warm.cut(25);
    for memory in [&mut warm, &mut copied] {
        let scores = model.feed(memory, &tokens(40)[25..]).unwrap();
        assert_eq!(wanted, scores);
        assert_eq!(memory.tokens(), tokens(40));
    }
}

#[test]
fn another_order_of_tokens_gives_other_scores() {
    let model = open(Tiny::default(), 1);
    let scores = |tokens: &[u32]| model.feed(&mut model.remember(), tokens).unwrap();
    assert_ne!(scores(&[5, 9, 7]), scores(&[9, 5, 7]));
}
