// Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.

package main

import (
	"fmt"
	"os"
	"runtime"
)

var workers int
var perUs float64

func stepsOf(ns int) uint64 {
	return uint64(float64(ns) * perUs / 1000)
}

var shapes = []struct {
	name string
	args int
	run  func(args []string)
	help string
}{
	{"chain", 4, chain, "spread|skew COLORS WORK_NS TASKS"},
	{"unbalanced", 4, unbalanced, "EVENTS SHORT_NS LONG_PERMILLE ROUNDS"},
	{"fanout", 3, fanout, "COLORS WORK_NS ROUNDS"},
	{"idle", 1, idle, "COLORS"},
	{"wake", 3, wake, "same|other GAP_US COUNT"},
	{"pingpong", 1, pingpong, "HOPS"},
	{"inject", 3, inject, "TASKS COLORS WORK_NS"},
	{"sfs", 4, sfs, "CLIENTS PARALLEL_NS SERIAL_NS REQUESTS"},
}

func main() {
	for _, shape := range shapes {
		if len(os.Args) == 3+shape.args && os.Args[1] == shape.name {
			workers = number(os.Args[2])
			perUs = stepsPerUs()
			runtime.GOMAXPROCS(workers)
			shape.run(os.Args[3:])
			return
		}
	}
	for _, shape := range shapes {
		fmt.Fprintf(os.Stderr, "%s %s WORKERS %s\n", os.Args[0], shape.name, shape.help)
	}
	os.Exit(2)
}
