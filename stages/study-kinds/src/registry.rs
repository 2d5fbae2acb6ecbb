// One row per stage kind: its type, the constant that holds its source fingerprint, and the crates (or other modules
// here) whose source can change its output. Included by `lib.rs`, which makes the registry, and by `build.rs`, which makes the fingerprints.
stage_kinds! {
    catalog::Catalog => CATALOG ["study-cdn", "study-import", "study-units", "study-ident", "study-table"];
    routing::Routing => ROUTING ["study-cdn", "study-import", "study-link", "study-units", "study-ident", "study-table"];
    simulate::Simulate => SIMULATE [
        "study-sim", "study-trial", "study-stacks", "study-shaper", "study-transport", "study-link", "study-cdn", "study-units",
        "study-ident", "study-table"
    ];
    explain::Explain => EXPLAIN [
        "simulate", "study-sim", "study-transport", "study-link", "study-cdn", "study-units", "study-ident", "study-stats", "study-table"
    ];
    aggregate::Aggregate => AGGREGATE ["study-stats", "study-table"];
    bootstrap::Bootstrap => BOOTSTRAP ["study-stats", "study-ident", "study-table"];
    report::Report => REPORT ["study-report", "study-stats", "study-table"];
}
