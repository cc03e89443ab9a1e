//! From runs to figures: what became of each task at each budget, and how sure the
//! difference to a single shot is.

use super::tasks::{Family, Trial};

/// How often tasks are drawn anew for an interval.
const DRAWS: usize = 2000;

/// What became of one run, as far as a budget goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Fate {
    /// An answer was accepted, and it is right.
    pub(crate) right: bool,
    /// An answer was accepted, and it is wrong.
    pub(crate) wrong: bool,
    /// Tokens read and written.
    pub(crate) tokens: u64,
    /// Time of the model, in milliseconds.
    pub(crate) ms: u64,
}

/// One answer in the life of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Try {
    /// By the oracle.
    pub(crate) right: bool,
    /// Tokens read and written.
    pub(crate) tokens: u64,
    /// Milliseconds.
    pub(crate) ms: u64,
    /// It was only held against an output.
    pub(crate) rival: bool,
}

/// What a run with so many calls came to; a run that had more is cut there, which is
/// exact: no call knows how many there may be.
pub(crate) fn within(tries: &[Try], committed: bool, calls: usize) -> Fate {
    let made = tries.get(..calls.min(tries.len())).unwrap_or_default();
    let accepted = committed && tries.len() <= calls;
    let right = made.iter().rfind(|made| !made.rival).is_some_and(|last| last.right);
    Fate {
        right: accepted && right,
        wrong: accepted && !right,
        tokens: made.iter().map(|one| one.tokens).sum(),
        ms: made.iter().map(|one| one.ms).sum(),
    }
}

/// The model asked once, and believed.
pub(crate) fn single(tries: &[Try]) -> Fate {
    within(tries.get(..1).unwrap_or_default(), true, 1)
}

/// A task and its fates, one for each seed.
pub(crate) struct Row<'t> {
    /// The task.
    pub(crate) trial: &'t Trial,
    /// Of a single shot.
    pub(crate) single: Vec<Fate>,
    /// Of the loop.
    pub(crate) looped: Vec<Fate>,
}

/// Figures of some tasks: shares of all runs, and tokens and time of one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    /// Right and accepted.
    pub(crate) success: f64,
    /// Wrong and accepted.
    pub(crate) false_commits: f64,
    /// Not accepted.
    pub(crate) failed: f64,
    /// Tokens of a run.
    pub(crate) tokens: f64,
    /// Seconds of a run.
    pub(crate) seconds: f64,
}

impl Figures {
    /// Of these fates.
    pub(crate) fn of<'f>(fates: impl Iterator<Item = &'f Fate>) -> Self {
        let (mut count, mut sum) = (0_u32, Self::default());
        for fate in fates {
            count += 1;
            sum.success += f64::from(u8::from(fate.right));
            sum.false_commits += f64::from(u8::from(fate.wrong));
            sum.tokens += fate.tokens as f64;
            sum.seconds += fate.ms as f64 / 1000.0;
        }
        let all = f64::from(count.max(1));
        let [success, false_commits] = [sum.success / all, sum.false_commits / all];
        Self {
            success,
            false_commits,
            // Never below nothing, whatever the sum rounds to.
            failed: (1.0 - success - false_commits).max(0.0),
            tokens: sum.tokens / all,
            seconds: sum.seconds / all,
        }
    }
}

/// How much more often the loop is right than a single shot: the mean over tasks, and
/// between what 95 of 100 draws of as many tasks lie.
pub(crate) fn gain(rows: &[&Row<'_>]) -> (f64, [f64; 2]) {
    let share = |fates: &[Fate]| Figures::of(fates.iter()).success;
    let each: Vec<f64> = rows.iter().map(|row| share(&row.looped) - share(&row.single)).collect();
    let mean = |sum: f64| sum / each.len().max(1) as f64;
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let at = usize::try_from(state % each.len().max(1) as u64).unwrap_or_default();
        each.get(at).copied().unwrap_or_default()
    };
    let mut means: Vec<f64> = (0..DRAWS).map(|_| mean((0..each.len()).map(|_| draw()).sum())).collect();
    means.sort_by(f64::total_cmp);
    let at = |percent: usize| means.get(DRAWS * percent / 1000).copied().unwrap_or(f64::NAN);
    (mean(each.iter().sum()), [at(25), at(975)])
}

/// Which tasks a line of the report is about.
#[derive(Clone, Copy)]
pub(crate) enum About {
    /// One kind of work.
    Family(Family),
    /// Those that were looked at, or those that were not.
    Split(bool),
    /// All of them.
    All,
}

impl About {
    /// Every line of a table.
    pub(crate) const LINES: [Self; 6] = [
        Self::Family(Family::Extraction),
        Self::Family(Family::Tools),
        Self::Family(Family::Repair),
        Self::Split(true),
        Self::Split(false),
        Self::All,
    ];

    /// In words.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Family(family) => family.word(),
            Self::Split(true) => "all, tuning half",
            Self::Split(false) => "all, held-out half",
            Self::All => "**all**",
        }
    }

    /// Whether a task is one of them.
    pub(crate) fn has(self, trial: &Trial) -> bool {
        match self {
            Self::Family(family) => trial.family == family,
            Self::Split(tuning) => trial.tuning == tuning,
            Self::All => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gain::tasks;

    fn tries(right: &[bool]) -> Vec<Try> {
        right.iter().map(|&right| Try { right, tokens: 10, ms: 100, rival: false }).collect()
    }

    #[test]
    fn a_run_is_cut_where_its_budget_ends_and_only_its_last_answer_counts() {
        let made = tries(&[false, false, true]);
        assert_eq!(within(&made, true, 8), Fate { right: true, wrong: false, tokens: 30, ms: 300 });
        assert_eq!(within(&made, true, 2), Fate { right: false, wrong: false, tokens: 20, ms: 200 });
        assert_eq!(
            within(&tries(&[true, false]), true, 2),
            Fate { right: false, wrong: true, tokens: 20, ms: 200 }
        );
        assert_eq!(within(&made, false, 8), Fate { right: false, wrong: false, tokens: 30, ms: 300 });
        assert!(single(&tries(&[true, false])).right && single(&made).wrong);
        let rival = Try { right: false, tokens: 1, ms: 1, rival: true };
        let made: Vec<Try> = made.into_iter().chain([rival]).collect();
        assert_eq!(within(&made, true, 4), Fate { right: true, wrong: false, tokens: 31, ms: 301 });
        assert_eq!(within(&made, true, 3), Fate { right: false, wrong: false, tokens: 30, ms: 300 });
    }

    #[test]
    fn the_gain_is_a_difference_of_pairs_and_its_interval_holds_it() {
        let trials = tasks::all().unwrap();
        let fate = |right| Fate { right, wrong: !right, tokens: 1, ms: 1 };
        let rows: Vec<Row<'_>> = trials
            .iter()
            .enumerate()
            .map(|(place, trial)| Row {
                trial,
                single: vec![fate(false)],
                looped: vec![fate(place % 3 == 0)],
            })
            .collect();
        let (mean, [low, high]) = gain(&rows.iter().collect::<Vec<_>>());
        assert!((mean - 1.0 / 3.0).abs() < 1e-9 && low < mean && mean < high && low > 0.2 && high < 0.45);
        let again = gain(&rows.iter().collect::<Vec<_>>());
        assert_eq!(again.1, [low, high], "drawn the same every time");
    }

    #[test]
    fn shares_come_to_one() {
        let fates = [single(&tries(&[true])), single(&tries(&[false])), within(&tries(&[true]), false, 1)];
        let found = Figures::of(fates.iter());
        let third = 1.0 / 3.0;
        assert!(
            [found.success, found.false_commits, found.failed]
                .iter()
                .all(|share| (share - third).abs() < 1e-9)
        );
    }
}
