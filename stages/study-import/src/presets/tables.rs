//! The numbers of the presets, as their sources give them.

use super::Latency::{OneWay, RoundTrip, Sent};
use super::{Latency, Row, Set};

const fn row(name: &'static str, down: u64, up: u64, latency: Latency) -> Row {
    Row { name, kbit: (Some(down), Some(up)), latency, loss: (0.0, 0.0), jitter: (0.0, 0.0), note: "" }
}

impl Row {
    const fn loss(self, percent: f64) -> Self {
        Self { loss: (percent, percent), ..self }
    }
    /// Loss of what the shaped machine sends.
    const fn sent_loss(self, percent: f64) -> Self {
        Self { loss: (0.0, percent), kbit: (None, self.kbit.1), ..self }
    }
    const fn jitter(self, down: f64, up: f64) -> Self {
        Self { jitter: (down, up), ..self }
    }
    const fn unlimited(self) -> Self {
        Self { kbit: (None, None), ..self }
    }
    const fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }
}

pub(super) const SETS: &[Set] = &[WEBPAGETEST, ATC, DEVTOOLS, LIGHTHOUSE, SITESPEED, COMCAST, LOADERO];

const WEBPAGETEST: Set = Set {
    name: "webpagetest",
    source: "WebPageTest, www/settings/connectivity.ini.sample",
    licence: "PolyForm Shield 1.0.0, earlier versions BSD-style; numbers only",
    reading: "`latency` is the round trip in ms, `bwIn` and `bwOut` are bit/s, and 0 is unlimited",
    rows: &[
        row("Cable", 5_000, 1_000, RoundTrip(28.0)),
        row("DSL", 1_500, 384, RoundTrip(50.0)),
        row("FIOS", 20_000, 5_000, RoundTrip(4.0)),
        row("Dial", 49, 30, RoundTrip(120.0)),
        row("3G", 1_600, 768, RoundTrip(300.0)),
        row("3GFast", 1_600, 768, RoundTrip(150.0)),
        row("3GSlow", 780, 330, RoundTrip(200.0)),
        row("Edge", 240, 200, RoundTrip(840.0)),
        row("2G", 35, 32, RoundTrip(1_300.0)),
        row("Native", 0, 0, RoundTrip(0.0)).unlimited(),
    ],
};

const ATC: Set = Set {
    name: "atc",
    source: "Facebook Augmented Traffic Control, utils/profiles/*.json",
    licence: "BSD-3-Clause",
    reading: "`delay` is one way, per direction, in ms; `rate` is kbit/s",
    rows: &[
        row("Cable", 6_000, 1_000, OneWay(2.0, 2.0)),
        row("DSL", 2_000, 256, OneWay(5.0, 5.0)),
        row("3G-Average", 780, 330, OneWay(100.0, 100.0)),
        row("3G-Good", 850, 420, OneWay(90.0, 100.0)),
        row("Edge-Average", 240, 200, OneWay(400.0, 440.0)),
        row("Edge-Good", 250, 200, OneWay(350.0, 370.0)),
        row("Edge-Lossy", 240, 200, OneWay(400.0, 440.0)).loss(1.0),
        row("2G-DevelopingUrban", 35, 32, OneWay(650.0, 650.0)),
        row("2G-DevelopingRural", 20, 18, OneWay(650.0, 650.0)).loss(2.0),
        row("NoConnectivity", 1, 1, OneWay(0.0, 0.0))
            .note("1 kbit/s is no dead link: a full packet takes 12 s; for an outage write `outages`"),
    ],
};

const DEVTOOLS: Set = Set {
    name: "devtools",
    source: "Chrome DevTools, front_end/core/sdk/NetworkManager.ts",
    licence: "BSD-3-Clause",
    reading: "`targetLatency` is the round trip, and the rates are those before the factors of 0.8 and 0.9 that the browser lays \
              over requests; its raw `latency` is 2.75 to 5 times as large and is not used",
    rows: &[
        row("3G", 500, 500, RoundTrip(400.0)).note("called Slow 3G until 2024"),
        row("Slow 4G", 1_600, 750, RoundTrip(150.0)).note("called Fast 3G until May 2024"),
        row("Fast 4G", 9_000, 1_500, RoundTrip(60.0)),
    ],
};

const LIGHTHOUSE: Set = Set {
    name: "lighthouse",
    source: "Lighthouse, core/config/constants.js",
    licence: "Apache-2.0",
    reading: "`rttMs` is the round trip; kilo is read as 1,000, though its throttling guide gives 1,638 kbit/s, which is 1.6 times 1,024",
    rows: &[row("mobileSlow4G", 1_600, 750, RoundTrip(150.0))],
};

const SITESPEED: Set = Set {
    name: "sitespeed",
    source: "sitespeed.io throttle, README",
    licence: "MIT",
    reading: "rates are kbit/s and `rtt` is the round trip in ms",
    rows: &[row("3g", 780, 330, RoundTrip(200.0))],
};

const COMCAST: Set = Set {
    name: "comcast",
    source: "tylertreat/comcast, README",
    licence: "Apache-2.0",
    reading: "the latency is added once, to what the machine sends that runs the tool; here that is the viewer's",
    rows: &[
        row("GPRS", 0, 50, Sent(500.0)).sent_loss(2.0),
        row("EDGE", 0, 250, Sent(300.0)).sent_loss(1.5),
        row("3G", 0, 750, Sent(250.0)).sent_loss(1.5),
        row("dial-up", 0, 40, Sent(185.0)).sent_loss(2.0),
        row("DSL poor", 0, 2_000, Sent(70.0)).sent_loss(2.0),
        row("DSL good", 0, 8_000, Sent(40.0)).sent_loss(0.5),
        row("WiFi", 0, 30_000, Sent(40.0)).sent_loss(0.2),
        row("satellite", 0, 0, Sent(1_500.0)).sent_loss(0.2).unlimited().note("the bandwidth `-` is unlimited"),
    ],
};

const LOADERO: Set = Set {
    name: "loadero",
    source: "Loadero, wiki.loadero.com, network conditions",
    licence: "no licence stated; numbers only",
    reading: "the page does not say what its latency is: it is read as the round trip, half in each direction; a blank is unlimited",
    rows: &[
        row("4G", 100_000, 50_000, RoundTrip(45.0)).loss(0.2).jitter(5.0, 15.0),
        row("3.5G", 20_000, 10_000, RoundTrip(150.0)).loss(0.5).jitter(10.0, 10.0),
        row("3G", 1_200, 1_200, RoundTrip(250.0)).loss(0.5).jitter(50.0, 50.0),
        row("GPRS", 80, 20, RoundTrip(650.0)).loss(1.0).jitter(100.0, 100.0),
        row("Edge", 200, 260, RoundTrip(650.0)).loss(1.0).jitter(100.0, 100.0),
        row("asymmetric", 500, 1_000, RoundTrip(50.0)).jitter(10.0, 10.0),
        row("satellite phone", 1_000, 256, RoundTrip(600.0)),
        row("5% packetloss", 0, 0, RoundTrip(0.0)).unlimited().loss(5.0),
        row("10% packetloss", 0, 0, RoundTrip(0.0)).unlimited().loss(10.0),
        row("20% packetloss", 0, 0, RoundTrip(0.0)).unlimited().loss(20.0),
        row("50% packetloss", 0, 0, RoundTrip(0.0)).unlimited().loss(50.0),
        row("100% packetloss", 0, 0, RoundTrip(0.0)).unlimited().loss(100.0).note("nothing ever passes"),
        row("high latency", 0, 0, RoundTrip(500.0)).unlimited().jitter(50.0, 50.0),
        row("high jitter", 0, 0, RoundTrip(200.0)).unlimited().jitter(100.0, 100.0),
    ],
};
