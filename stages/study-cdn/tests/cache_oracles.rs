//! The cache policies against published and independently computed figures.
#![allow(clippy::unwrap_used)]

use study_cdn::cache::{CacheChoice, CachePolicy};
use study_cdn::popularity::{Popularity, TitleSampler, ZipfExponent};
use study_units::{Bytes, SimTime};

/// SplitMix64: the state grows by the golden gamma before each output.
struct SplitMix64(u64);

impl SplitMix64 {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn zipf_trace(exponent: f64, requests: usize) -> Vec<u64> {
    let weights = Popularity::Zipf(ZipfExponent::new(exponent).unwrap()).weights(10_000);
    let sampler = TitleSampler::new(&weights).unwrap();
    let mut random = SplitMix64(42);
    (0..requests).map(|_| sampler.title(random.uniform()) as u64).collect()
}

/// Hits of a trace of unit-size objects.
fn hits(cache: &mut dyn CachePolicy, keys: impl Iterator<Item = u64>) -> u64 {
    let mut hits = 0;
    for key in keys {
        if cache.get(key, SimTime::ZERO) {
            hits += 1;
        } else {
            cache.insert(key, 1, SimTime::ZERO, None);
        }
    }
    hits
}

#[test]
fn the_portable_trace_begins_as_published() {
    assert_eq!(zipf_trace(0.8, 10), [2848, 16, 78, 157, 1, 5483, 37, 3907, 151, 1371]);
    assert_eq!(zipf_trace(1.0, 10), [796, 2, 8, 15, 0, 2753, 4, 1420, 15, 238]);
}

#[test]
fn miss_ratios_of_the_portable_trace_agree_to_every_digit() {
    let trace = zipf_trace(0.8, 500_000);
    let published = [(CacheChoice::Lru, ["0.844042", "0.564656"]), (CacheChoice::Arc, ["0.734066", "0.488564"])];
    for (policy, ratios) in published {
        for (capacity, expected) in [100, 1_000].into_iter().zip(ratios) {
            let mut cache = policy.build(Bytes::new(capacity));
            let misses = 500_000 - hits(&mut *cache, trace.iter().copied());
            assert_eq!(format!("{:.6}", misses as f64 / 500_000.0), expected, "{} of {capacity}", policy.name());
        }
    }
}

/// The blocks of the ARC paper's trace P3: each line is a first block, a count, a field to ignore, a sequence number.
fn p3() -> Vec<u64> {
    let compressed = include_bytes!("../testdata/cache-trace/P3.lis.zst");
    let text = String::from_utf8(zstd::decode_all(&compressed[..]).unwrap()).unwrap();
    text.lines()
        .flat_map(|line| {
            let mut fields = line.split_ascii_whitespace().map(|f| f.parse::<u64>().unwrap());
            let (first, count) = (fields.next().unwrap(), fields.next().unwrap());
            first..first + count
        })
        .collect()
}

#[test]
fn hits_of_the_arc_papers_trace_p3_agree() {
    let blocks = p3();
    assert_eq!(blocks.len(), 3_912_296, "requests, table III of the paper");
    let run = |policy: CacheChoice| hits(&mut *policy.build(Bytes::new(65_536)), blocks.iter().copied());
    assert_eq!(run(CacheChoice::Lru), 497_558);
    assert_eq!(run(CacheChoice::Arc), 1_051_962);
}
