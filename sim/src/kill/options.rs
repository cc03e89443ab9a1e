//! The words after `bowline-sim kill`.

use std::path::PathBuf;

use super::sabotage::Sabotage;

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The program to kill.
    pub bowline: PathBuf,
    /// The program that plays the world: this one.
    pub sim: PathBuf,
    /// The checker's script.
    pub checker: PathBuf,
    /// Where everything is written; a short path, since a socket lies in it.
    pub folder: PathBuf,
    /// How many kills.
    pub count: u64,
    /// How many of them at least inside a recovery.
    pub doubles: u64,
    /// And inside the recovery of a recovery.
    pub triples: u64,
    /// What chance is drawn from.
    pub seed: u64,
    /// How many batches at once.
    pub workers: usize,
    /// Only this batch.
    pub batch: Option<u64>,
    /// Instead: every fault of a small run, of the writes those at every so-manieth.
    pub every: Option<usize>,
    /// Instead: so many migrations of an old store.
    pub migrations: Option<usize>,
    /// The statements that make an old store.
    pub old_store: PathBuf,
    /// Break a promise on purpose instead.
    pub sabotage: Option<Sabotage>,
}

impl Options {
    /// Reads the words; `sim` and `folder` are what they are if nothing is said.
    pub fn parse(words: &[&str], sim: PathBuf, folder: PathBuf) -> Result<Self, String> {
        let mut options = Self {
            bowline: PathBuf::new(),
            sim,
            checker: PathBuf::new(),
            folder,
            count: 500,
            doubles: 0,
            triples: 0,
            seed: 1,
            workers: 2,
            batch: None,
            every: None,
            migrations: None,
            old_store: PathBuf::new(),
            sabotage: None,
        };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let value = rest.next().ok_or_else(|| format!("{word} needs a value"))?;
            options.set(word, value)?;
        }
        for (name, path) in [("--bowline", &options.bowline), ("--checker", &options.checker)] {
            if path.as_os_str().is_empty() {
                return Err(format!("{name} is missing"));
            }
        }
        if options.migrations.is_some() && options.old_store.as_os_str().is_empty() {
            return Err("--migrations needs --old-store".into());
        }
        Ok(options)
    }

    fn set(&mut self, word: &str, value: &str) -> Result<(), String> {
        let number =
            || value.parse::<u64>().map_err(|_| format!("{word} needs a whole number, not {value:?}"));
        match word {
            "--bowline" => self.bowline = value.into(),
            "--checker" => self.checker = value.into(),
            "--dir" => self.folder = value.into(),
            "--count" => self.count = number()?,
            "--doubles" => self.doubles = number()?,
            "--triples" => self.triples = number()?,
            "--seed" => self.seed = number()?,
            "--every" => self.every = usize::try_from(number()?).ok().filter(|step| *step > 0),
            "--migrations" => self.migrations = usize::try_from(number()?).ok(),
            "--old-store" => self.old_store = value.into(),
            "--batch" => self.batch = Some(number()?),
            "--workers" => {
                let workers = number()?;
                self.workers = usize::try_from(workers)
                    .ok()
                    .filter(|count| (1..=64).contains(count))
                    .ok_or_else(|| format!("--workers must be 1 to 64, not {workers}"))?;
            }
            "--sabotage" => {
                let known: Vec<&str> = Sabotage::ALL.iter().map(|one| one.word()).collect();
                let found = Sabotage::parse(value);
                let unknown = || format!("there is no sabotage {value:?}; there are {}", known.join(", "));
                self.sabotage = Some(found.ok_or_else(unknown)?);
            }
            _ => return Err(format!("{word} is not known")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Options, String> {
        let words: Vec<&str> = words.split_whitespace().collect();
        Options::parse(&words, "sim".into(), "tmp".into())
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let options = parse("--bowline b --checker c").unwrap();
        assert_eq!((options.count, options.seed, options.workers), (500, 1, 2));
        let options =
            parse("--bowline b --checker c --count 7 --seed 9 --batch 3 --sabotage pay-again").unwrap();
        assert_eq!((options.count, options.seed, options.batch), (7, 9, Some(3)));
        assert_eq!(options.sabotage, Some(Sabotage::PayAgain));
    }

    #[test]
    fn words_that_make_no_sense_are_refused_by_name() {
        for (words, said) in [
            ("--bowline b", "--checker is missing"),
            ("--bowline b --checker c --count", "--count needs a value"),
            ("--bowline b --checker c --count many", "--count needs a whole number, not \"many\""),
            ("--bowline b --checker c --workers 0", "--workers must be 1 to 64, not 0"),
            ("--bowline b --checker c --migrations 9", "--migrations needs --old-store"),
            ("--speed 3", "--speed is not known"),
        ] {
            assert_eq!(parse(words), Err(said.to_owned()));
        }
        assert!(parse("--sabotage x").unwrap_err().contains("there are pay-again, lose-writes"));
    }
}
