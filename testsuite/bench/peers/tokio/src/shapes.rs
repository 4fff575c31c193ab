// Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.

//! The shapes of ../../../colored, see there. A task's state is in its color's function.

use crate::runtime::*;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

pub struct Setup {
    pub runtime: Runtime,
    pub workers: u64,
    pub per_us: f64,
    pub latch: Arc<Latch>,
}

impl Setup {
    fn steps(&self, ns: u64) -> u64 {
        (ns as f64 * self.per_us / 1000.0) as u64
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number"))
}

/// Colors that know each other need a place that is filled once all exist.
type Later<T> = Arc<OnceLock<T>>;

pub fn chain(s: &Setup, args: &[String]) {
    let (count, steps) = (number(&args[1]), s.steps(number(&args[2])));
    let each = number(&args[3]) / count;
    let colors: Vec<Color> = (0..count)
        .map(|i| {
            let (latch, mut x) = (s.latch.clone(), 1);
            color_new(&s.runtime, move |left, own| {
                work(&mut x, steps);
                if left > 1 {
                    post(own, left - 1);
                } else {
                    latch.hit(i);
                }
            })
        })
        .collect();
    let best = best_of(3, count, &s.latch, || colors.iter().for_each(|c| post(c, each)));
    report("chain", "tasks/s", (each * count) as f64 * 1e9 / best, "1/s");
}

pub fn unbalanced(s: &Setup, args: &[String]) {
    let (count, short) = (number(&args[0]), s.steps(number(&args[1])));
    let (long, rounds) = (number(&args[2]), number(&args[3]));
    let (mut seed, mut total) = (12345u64, 0);
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let colors: Vec<Color> = (0..count)
        .map(|i| {
            let is_long = random() % 1000 < long;
            let steps = if is_long { short * (100 + random() % 401) } else { short };
            total += steps;
            let (latch, mut x) = (s.latch.clone(), 1);
            color_new(&s.runtime, move |_, _| {
                work(&mut x, steps);
                latch.hit(i);
            })
        })
        .collect();
    let latch = s.latch.clone();
    let root = color_new(&s.runtime, move |_, _| {
        colors.iter().for_each(|c| post(c, 0));
        latch.hit(count);
    });
    best_of(1, count + 1, &s.latch, || post(&root, 0));
    let best = best_of(rounds, count + 1, &s.latch, || post(&root, 0));
    let ideal = total as f64 * 1000.0 / s.per_us / s.workers as f64;
    report("unbalanced", "events/s", count as f64 * 1e9 / best, "1/s");
    report("unbalanced", "ideal/actual", ideal / best, "x");
}

/// Message to the root: 0 is an answer, n > 0 begins n rounds.
pub fn fanout(s: &Setup, args: &[String]) {
    let (count, steps) = (number(&args[0]), s.steps(number(&args[1])));
    let rounds = number(&args[2]);
    let out: Later<Vec<Color>> = Later::default();
    let (known, latch) = (out.clone(), s.latch.clone());
    let (mut answers_left, mut rounds_left) = (0, 0);
    let root = color_new(&s.runtime, move |message, own| {
        if message > 0 {
            rounds_left = message;
            answers_left = count;
            known.get().unwrap().iter().for_each(|c| post(c, 0));
            return;
        }
        answers_left -= 1;
        if answers_left == 0 && rounds_left > 1 {
            post(own, rounds_left - 1);
        } else if answers_left == 0 {
            latch.hit(0);
        }
    });
    let made = (0..count).map(|_| {
        let (root, mut x) = (root.clone(), 1);
        color_new(&s.runtime, move |_, _| {
            work(&mut x, steps);
            post(&root, 0);
        })
    });
    out.set(made.collect()).unwrap();
    let best = best_of(3, 1, &s.latch, || post(&root, rounds));
    report("fanout", "per color", best / rounds as f64 / count as f64, "ns");
}

pub fn idle(s: &Setup, args: &[String]) {
    let count = number(&args[0]);
    // Filled once beforehand: the list itself is not to be counted.
    let mut colors: Vec<Option<Color>> = vec![None; count as usize];
    let (before, begin) = (resident(), Instant::now());
    for color in &mut colors {
        let latch = s.latch.clone();
        *color = Some(color_new(&s.runtime, move |i, _| latch.hit(i)));
    }
    for batch in colors.chunks(1024) {
        s.latch.set(batch.len() as u64);
        for (i, color) in batch.iter().flatten().enumerate() {
            post(color, i as u64);
        }
        s.latch.wait();
    }
    let ns = begin.elapsed().as_nanos() as f64;
    report("idle", "first task", ns / count as f64, "ns");
    report("idle", "per color", (resident() - before) / count as f64, "B");
}

/// A task that does not start within this is not going to: its worker is the one that waits.
const NEVER: Duration = Duration::from_millis(20);

pub fn wake(s: &Setup, args: &[String]) {
    let (gap, count) = (Duration::from_micros(number(&args[1])), number(&args[2]));
    let start = Instant::now();
    let now = move || start.elapsed().as_nanos() as u64;
    // Written first the time, then the count (release); read the other way round.
    let seen: Arc<(AtomicU64, AtomicU64)> = Arc::default();
    let (writer, reader) = (seen.clone(), seen);
    let woken = color_new(&s.runtime, move |_, _| {
        writer.0.store(now(), Relaxed);
        writer.1.fetch_add(1, Release);
    });
    let latency: Arc<Mutex<Vec<u64>>> = Arc::default();
    let (found, latch) = (latency.clone(), s.latch.clone());
    let busy = color_new(&s.runtime, move |left, own| {
        let pause = Instant::now();
        while pause.elapsed() < gap {}
        let (before, begin) = (reader.1.load(SeqCst), now());
        post(&woken, 0);
        while reader.1.load(Acquire) == before {
            if now() - begin > NEVER.as_nanos() as u64 {
                eprintln!("not while the poster runs");
                std::process::exit(77);
            }
            std::hint::spin_loop();
        }
        found.lock().unwrap().push(reader.0.load(Relaxed) - begin);
        if left > 1 {
            post(own, left - 1);
        } else {
            latch.hit(0);
        }
    });
    best_of(1, 1, &s.latch, || post(&busy, count));
    let mut sorted = latency.lock().unwrap().clone();
    sorted.sort();
    let at = |percent: usize| sorted[(sorted.len() - 1) * percent / 100] as f64;
    report("wake", "p50", at(50), "ns");
    report("wake", "p99", at(99), "ns");
}

pub fn pingpong(s: &Setup, args: &[String]) {
    let hops = number(&args[0]);
    let other: Later<Color> = Later::default();
    let (known, latch) = (other.clone(), s.latch.clone());
    let ping = color_new(&s.runtime, move |left, _| match left {
        1 => latch.hit(0),
        _ => post(known.get().unwrap(), left - 1),
    });
    let (back, latch) = (ping.clone(), s.latch.clone());
    let pong = color_new(&s.runtime, move |left, _| match left {
        1 => latch.hit(0),
        _ => post(&back, left - 1),
    });
    other.set(pong).unwrap();
    let best = best_of(3, 1, &s.latch, || post(&ping, hops));
    report("pingpong", "per hop", best / hops as f64, "ns");
}

pub fn inject(s: &Setup, args: &[String]) {
    let (count, colors_num) = (number(&args[0]), number(&args[1]));
    let steps = s.steps(number(&args[2]));
    let colors: Vec<Color> = (0..colors_num)
        .map(|_| {
            let (latch, mut x) = (s.latch.clone(), 1);
            color_new(&s.runtime, move |i, _| {
                work(&mut x, steps);
                latch.hit(i);
            })
        })
        .collect();
    let best = best_of(3, count, &s.latch, || {
        (0..count).for_each(|i| post(&colors[(i % colors_num) as usize], i))
    });
    report("inject", "per task", best / count as f64, "ns");
}

/// A message is the client's number in its low half, the requests it has left above.
pub fn sfs(s: &Setup, args: &[String]) {
    let (count, parallel_ns, serial_ns) = (number(&args[0]), number(&args[1]), number(&args[2]));
    let each = number(&args[3]) / count;
    let (parallel_steps, serial_steps) = (s.steps(parallel_ns), s.steps(serial_ns));
    let clients: Later<Vec<Color>> = Later::default();
    let (known, mut x) = (clients.clone(), 1);
    let shared = color_new(&s.runtime, move |message, _| {
        work(&mut x, serial_steps);
        let i = (message & 0xffff_ffff) as usize;
        post(&known.get().unwrap()[i], message >> 32);
    });
    let made = (0..count).map(|i| {
        let (shared, latch, mut x) = (shared.clone(), s.latch.clone(), 1);
        color_new(&s.runtime, move |left, _| {
            work(&mut x, parallel_steps);
            if left > 1 {
                post(&shared, (left - 1) << 32 | i);
            } else {
                latch.hit(i);
            }
        })
    });
    clients.set(made.collect()).unwrap();
    let best =
        best_of(3, count, &s.latch, || (0..count).for_each(|i| post(&shared, each << 32 | i)));
    let rate = (each * count) as f64 / best;
    report("sfs", "requests/s", rate * 1e9, "1/s");
    report("sfs", "speed-up", rate * (parallel_ns + serial_ns) as f64, "x");
}
