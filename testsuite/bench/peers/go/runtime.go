// Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.

// Colored tasks in Go: a color is a goroutine that reads its own channel, posting is a send. The
// shapes and their figures are those of ../../colored.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

type color chan *task

type task struct {
	fn    func(*task)
	color color
	steps uint64
	sum   uint64
	left  int
	i     int
}

// newColor makes a color with room for so many tasks that no poster of the shape ever blocks.
func newColor(room int) color {
	c := make(color, room)
	go func() {
		for t := range c {
			t.fn(t)
		}
	}()
	return c
}

func (t *task) post() {
	t.color <- t
}

func (t *task) work() {
	t.sum = workSteps(t.sum, t.steps)
}

//go:noinline
func workSteps(x, steps uint64) uint64 {
	for ; steps > 0; steps-- {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

const latchGroups = 64

// latch counts tasks down, neighbours in a group, as ../../colored/latch.h does.
type latch struct {
	size       int
	groupsLeft atomic.Int64
	done       chan struct{}
	groups     [latchGroups]struct {
		left atomic.Int64
		_    [56]byte
	}
}

func newLatch(count int) *latch {
	l := &latch{size: (count + latchGroups - 1) / latchGroups, done: make(chan struct{})}
	l.groupsLeft.Store(int64((count + l.size - 1) / l.size))
	for i := 0; count > 0; i++ {
		l.groups[i].left.Store(int64(min(count, l.size)))
		count -= l.size
	}
	return l
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func (l *latch) hit(i int) {
	if l.groups[i/l.size].left.Add(-1) == 0 && l.groupsLeft.Add(-1) == 0 {
		close(l.done)
	}
}

// bestOf returns the least of some rounds in nanoseconds; round posts what starts it.
func bestOf(rounds, hits int, round func(l *latch)) float64 {
	best := 0.0
	for r := 0; r < rounds; r++ {
		l := newLatch(hits)
		begin := time.Now()
		round(l)
		<-l.done
		ns := float64(time.Since(begin).Nanoseconds())
		if r == 0 || ns < best {
			best = ns
		}
	}
	return best
}

func report(shape, metric string, value float64, unit string) {
	name := os.Getenv("BENCH_NAME")
	if name == "" {
		name = "Go channels"
	}
	fmt.Printf("%s\t%s\t%s\t%.6g\t%s\n", shape, name, metric, value, unit)
}

func die(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		die("%q is not a number", text)
	}
	return n
}

// stepsPerUs is what the runner measured, or is measured now.
func stepsPerUs() float64 {
	if text := os.Getenv("BENCH_STEPS_PER_US"); text != "" {
		return float64(number(text))
	}
	const steps = 2000000
	best := 0.0
	for r := uint64(0); r < 7; r++ {
		begin := time.Now()
		workSteps(r, steps)
		found := steps * 1000 / float64(time.Since(begin).Nanoseconds())
		if found > best {
			best = found
		}
	}
	return best
}

// resident is the physical memory of the process in bytes.
func resident() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		die("%v", err)
	}
	var total, pages float64
	if _, err := fmt.Sscan(string(text), &total, &pages); err != nil {
		die("/proc/self/statm: %v", err)
	}
	return pages * float64(os.Getpagesize())
}
