//! `study cache`: the store.

use crate::args::{CacheArgs, CacheCommand, GcArgs, StoreArgs, VerifyArgs};
use crate::exit::{Exit, Failure};
use crate::load::SCHEMA_VERSION;
use crate::terminal::{Terminal, to_stdout};
use crate::wording;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;
use study_store::{GcOptions, Store};
use study_units::{Bytes, Quantity};

pub fn execute(command: &CacheCommand, terminal: &Terminal) -> Result<Exit, Failure> {
    match command {
        CacheCommand::Stats(args) => stats(args, terminal),
        CacheCommand::Verify(args) => verify(args, terminal),
        CacheCommand::Gc(args) => gc(args, terminal),
    }
}

/// The store, if there is one; without one there is nothing to say.
fn existing(args: &StoreArgs, terminal: &Terminal) -> Result<Option<Store>, Failure> {
    let folder = args.folder();
    let store = Store::open_existing(&folder)?;
    if store.is_none() {
        terminal.note(&format!("there is no store in `{}` yet", folder.display()));
    }
    Ok(store)
}

/// A report for scripts.
fn print_json<T: Serialize + Default>(name: &str, report: Option<&T>) -> Result<(), Failure> {
    let empty = T::default();
    let report = serde_json::to_value(report.unwrap_or(&empty)).unwrap_or(Value::Null);
    let document = json!({ "schema_version": SCHEMA_VERSION, name: report });
    to_stdout(format!("{document:#}\n").as_bytes())
}

fn stats(args: &CacheArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let stats = existing(&args.store, terminal)?.map(|store| store.stats()).transpose()?;
    if args.json {
        print_json("stats", stats.as_ref())?;
    } else if let Some(stats) = stats {
        let mut text = format!("{:>10} objects   {:>10}\n", stats.objects, wording::bytes(stats.object_bytes));
        let _ = writeln!(text, "{:>10} records   {:>10}", stats.records, wording::bytes(stats.record_bytes));
        if stats.quarantined > 0 {
            let size = wording::bytes(stats.quarantined_bytes);
            let _ = writeln!(
                text,
                "{:>10} corrupt   {size:>10}  set aside; `study cache gc` removes them",
                stats.quarantined
            );
        }
        to_stdout(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

fn verify(VerifyArgs { cache: args, repair }: &VerifyArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let look = |store: Store| if *repair { store.repair() } else { store.verify() };
    let report = existing(&args.store, terminal)?.map(look).transpose()?;
    if args.json {
        print_json("verify", report.as_ref())?;
    }
    let Some(report) = report else { return Ok(Exit::Ok) };
    if !args.json {
        let mut text = format!(
            "{} objects ({}) and {} records read\n",
            report.objects,
            wording::bytes(report.bytes),
            report.records
        );
        for bad in &report.bad {
            let _ = writeln!(text, "{} {}: {}", bad.what, bad.name, bad.problem);
        }
        to_stdout(text.as_bytes())?;
    }
    match report.bad.len() {
        0 => Ok(Exit::Ok),
        _ if *repair => Ok(Exit::Ok),
        n => Err(Failure::new(Exit::Corrupt, format!("{} in the store cannot be trusted", wording::count(n, "file")))
            .help("run `study cache verify --repair` and the study again: what was set aside is made anew")),
    }
}

fn gc(args: &GcArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let older_than = args.older_than.as_deref().map(age).transpose()?;
    let max_size = args.max_size.as_deref().map(size).transpose()?;
    let options = GcOptions { dry_run: args.dry_run, older_than, max_size, ..GcOptions::default() };
    let report = existing(&args.store, terminal)?.map(|store| store.gc(&options)).transpose()?;
    if args.json {
        print_json("gc", report.as_ref())?;
    } else if let Some(report) = report {
        let mut text = String::new();
        for (reason, count) in &report.removed {
            let _ = writeln!(text, "{:>10} {reason:<15} {:>10}", count.items, wording::bytes(count.bytes));
        }
        let verb = if report.dry_run { "would be removed" } else { "removed" };
        let (gone, kept) = (wording::bytes(report.removed_bytes()), wording::bytes(report.kept.bytes));
        let _ = writeln!(text, "{gone} {verb}, {kept} in {} stay", wording::count(report.kept.items as usize, "file"));
        to_stdout(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

/// `30 d`, `12 h`, `90 min`, `10 s`.
fn age(text: &str) -> Result<Duration, Failure> {
    let refuse = || {
        Failure::usage(format!("`{text}` is not an age"))
            .help("write a whole number and `s`, `min`, `h` or `d`, e.g. `30 d`")
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().map_err(|_| refuse())?;
    let unit = match text[digits..].trim() {
        "s" => 1,
        "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(refuse()),
    };
    number.checked_mul(unit).map(Duration::from_secs).ok_or_else(refuse)
}

/// `10 GiB`.
fn size(text: &str) -> Result<u64, Failure> {
    Bytes::parse_quantity(text).map(|bytes| bytes.get()).map_err(|e| Failure::usage(e.to_string()).help(e.help()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_unit() {
        assert_eq!(age("30 d").unwrap(), Duration::from_secs(30 * 86_400));
        assert_eq!(age("90min").unwrap(), Duration::from_secs(5400));
        for text in ["", "30", "d", "1.5 d", "-1 d", "30 weeks", "99999999999999999999 s", "999999999999999999 d"] {
            assert_eq!(age(text).unwrap_err().exit, Exit::Usage, "{text}");
        }
    }

    #[test]
    fn sizes_are_quantities() {
        assert_eq!(size("2 KiB").unwrap(), 2048);
        assert!(size("2").is_err());
    }
}
