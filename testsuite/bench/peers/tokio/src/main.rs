// Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.

mod runtime;
mod shapes;

use shapes::Setup;
use std::sync::Arc;

type Shape = (&'static str, usize, fn(&Setup, &[String]), &'static str);

const SHAPES: [Shape; 8] = [
    ("chain", 4, shapes::chain, "spread|skew COLORS WORK_NS TASKS"),
    ("unbalanced", 4, shapes::unbalanced, "EVENTS SHORT_NS LONG_PERMILLE ROUNDS"),
    ("fanout", 3, shapes::fanout, "COLORS WORK_NS ROUNDS"),
    ("idle", 1, shapes::idle, "COLORS"),
    ("wake", 3, shapes::wake, "same|other GAP_US COUNT"),
    ("pingpong", 1, shapes::pingpong, "HOPS"),
    ("inject", 3, shapes::inject, "TASKS COLORS WORK_NS"),
    ("sfs", 4, shapes::sfs, "CLIENTS PARALLEL_NS SERIAL_NS REQUESTS"),
];

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let found = SHAPES.iter().find(|shape| args.len() == 3 + shape.1 && args[1] == shape.0);
    let Some((_, _, run, _)) = found else {
        for (name, _, _, help) in SHAPES {
            eprintln!("{} {name} WORKERS {help}", args[0]);
        }
        std::process::exit(2);
    };
    let workers: u64 = args[2].parse().expect("WORKERS is not a number");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers as usize)
        .build()
        .expect("the runtime does not start");
    let setup = Setup {
        runtime,
        workers,
        per_us: runtime::steps_per_us(),
        latch: Arc::new(runtime::Latch::new()),
    };
    run(&setup, &args[3..]);
    // Colors keep themselves alive: nothing to wait for.
    std::process::exit(0);
}
