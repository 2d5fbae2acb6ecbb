//! "Did you mean".

/// The known word nearest to `given`, as a help line; `None` when nothing is near (more than a third of the letters off).
#[must_use]
pub fn did_you_mean(given: &str, known: &[&str]) -> Option<String> {
    let given_lower = given.to_lowercase();
    known
        .iter()
        .map(|word| (distance(&given_lower, &word.to_lowercase()), word))
        .filter(|(d, word)| *d * 3 <= word.chars().count().max(given.chars().count()).max(3))
        .min_by_key(|(d, _)| *d)
        .map(|(_, word)| format!("did you mean `{word}`?"))
}

/// Optimal string alignment distance: insertions, deletions, substitutions, swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let width = b.len() + 1;
    let mut d = vec![0usize; (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            d[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let cost = usize::from(a[i - 1] != b[j - 1]);
                let mut best =
                    (d[(i - 1) * width + j] + 1).min(d[i * width + j - 1] + 1).min(d[(i - 1) * width + j - 1] + cost);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(d[(i - 2) * width + j - 2] + 1);
                }
                best
            };
        }
    }
    d[a.len() * width + b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        let known = ["resamples", "unit", "needs", "round_robin"];
        assert_eq!(did_you_mean("resample", &known).unwrap(), "did you mean `resamples`?");
        assert_eq!(did_you_mean("ruond_robin", &known).unwrap(), "did you mean `round_robin`?");
        assert_eq!(did_you_mean("Units", &known).unwrap(), "did you mean `unit`?");
        assert_eq!(did_you_mean("banana", &known), None);
    }
}
