// Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.

//! Colored tasks in Tokio: a color is a spawned task that reads an unbounded channel, posting is a
//! send. A message is a number; what it means is the color's function's.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Instant;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{unbounded_channel, UnboundedSender};

pub type Color = UnboundedSender<u64>;

/// The receiver lives as long as the process: a send that fails is a mistake of ours.
pub fn post(color: &Color, message: u64) {
    color.send(message).expect("the color is gone");
}

/// `run` is called with each message, and with the color itself to post to again.
pub fn color_new<F>(runtime: &Runtime, mut run: F) -> Color
where
    F: FnMut(u64, &Color) + Send + 'static,
{
    let (sender, mut receiver) = unbounded_channel();
    let own = sender.clone();
    runtime.spawn(async move {
        while let Some(message) = receiver.recv().await {
            run(message, &own);
        }
    });
    sender
}

const GROUPS: usize = 64;

#[repr(align(64))]
#[derive(Default)]
struct Counter(AtomicI64);

/// Counts tasks down, neighbours in a group, as ../../../colored/latch.h does.
pub struct Latch {
    groups: [Counter; GROUPS],
    groups_left: Counter,
    size: AtomicI64,
    done: Mutex<bool>,
    changed: Condvar,
}

impl Latch {
    pub fn new() -> Self {
        Latch {
            groups: std::array::from_fn(|_| Counter::default()),
            groups_left: Counter::default(),
            size: AtomicI64::new(1),
            done: Mutex::new(false),
            changed: Condvar::new(),
        }
    }

    pub fn set(&self, count: u64) {
        let mut left = count as i64;
        let size = (left + GROUPS as i64 - 1) / GROUPS as i64;
        self.size.store(size, Ordering::SeqCst);
        let used = (left + size - 1) / size;
        self.groups_left.0.store(used, Ordering::SeqCst);
        for group in &self.groups {
            group.0.store(left.min(size), Ordering::SeqCst);
            left = (left - size).max(0);
        }
        *self.done.lock().unwrap() = false;
    }

    pub fn hit(&self, i: u64) {
        let group = i as usize / self.size.load(Ordering::Relaxed) as usize;
        if self.groups[group].0.fetch_sub(1, Ordering::SeqCst) == 1
            && self.groups_left.0.fetch_sub(1, Ordering::SeqCst) == 1
        {
            *self.done.lock().unwrap() = true;
            self.changed.notify_one();
        }
    }

    pub fn wait(&self) {
        let mut done = self.done.lock().unwrap();
        while !*done {
            done = self.changed.wait(done).unwrap();
        }
    }
}

/// The least of some rounds in nanoseconds; `round` posts what starts it.
pub fn best_of(rounds: u64, hits: u64, latch: &Latch, mut round: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..rounds {
        latch.set(hits);
        let begin = Instant::now();
        round();
        latch.wait();
        best = best.min(begin.elapsed().as_nanos() as f64);
    }
    best
}

pub fn work(x: &mut u64, steps: u64) {
    for _ in 0..steps {
        let next = x.wrapping_mul(6364136223846793005);
        *x = std::hint::black_box(next.wrapping_add(1442695040888963407));
    }
}

/// What the runner measured, or what is measured now.
pub fn steps_per_us() -> f64 {
    if let Ok(text) = std::env::var("BENCH_STEPS_PER_US") {
        return text.parse().expect("BENCH_STEPS_PER_US is not a number");
    }
    const STEPS: u64 = 2_000_000;
    let mut best = 0f64;
    for round in 0..7 {
        let begin = Instant::now();
        work(&mut { round }, STEPS);
        best = best.max(STEPS as f64 * 1000.0 / begin.elapsed().as_nanos() as f64);
    }
    best
}

/// The physical memory of the process in bytes.
pub fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("/proc/self/statm");
    let pages: f64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096.0
}

pub fn report(shape: &str, metric: &str, value: f64, unit: &str) {
    let name = std::env::var("BENCH_NAME").unwrap_or_else(|_| "Tokio channels".to_string());
    println!("{shape}\t{name}\t{metric}\t{value:.6e}\t{unit}");
}
