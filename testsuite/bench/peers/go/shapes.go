// Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.

package main

import (
	"sort"
	"sync/atomic"
	"time"
)

func chain(args []string) {
	colors, each := number(args[1]), number(args[3])/number(args[1])
	var done *latch
	tasks := make([]*task, colors)
	for i := range tasks {
		tasks[i] = &task{color: newColor(1), steps: stepsOf(number(args[2])), i: i}
		tasks[i].fn = func(t *task) {
			t.work()
			t.left--
			if t.left > 0 {
				t.post()
			} else {
				done.hit(t.i)
			}
		}
	}
	best := bestOf(3, colors, func(l *latch) {
		done = l
		for _, t := range tasks {
			t.left = each
			t.post()
		}
	})
	report("chain", "tasks/s", float64(each*colors)*1e9/best, "1/s")
}

func unbalanced(args []string) {
	events, long, rounds := number(args[0]), number(args[2]), number(args[3])
	seed, total := uint64(12345), uint64(0)
	random := func() uint64 {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		return seed
	}
	var done *latch
	tasks := make([]*task, events)
	for i := range tasks {
		t := &task{color: newColor(1), steps: stepsOf(number(args[1])), i: i}
		if random()%1000 < uint64(long) {
			t.steps *= 100 + random()%401
		}
		total += t.steps
		t.fn = func(t *task) {
			t.work()
			done.hit(t.i)
		}
		tasks[i] = t
	}
	root := &task{color: newColor(1), fn: func(*task) {
		for _, t := range tasks {
			t.post()
		}
		done.hit(events)
	}}
	round := func(l *latch) {
		done = l
		root.post()
	}
	bestOf(1, events+1, round)
	best := bestOf(rounds, events+1, round)
	ideal := float64(total) * 1000 / perUs / float64(workers)
	report("unbalanced", "events/s", float64(events)*1e9/best, "1/s")
	report("unbalanced", "ideal/actual", ideal/best, "x")
}

func fanout(args []string) {
	colors, rounds := number(args[0]), number(args[2])
	var done *latch
	home := newColor(colors + 1)
	out := make([]*task, colors)
	root := &task{color: home, fn: func(t *task) {
		t.i = colors
		for _, t := range out {
			t.post()
		}
	}}
	back := func(*task) {
		root.i--
		if root.i > 0 {
			return
		}
		root.left--
		if root.left > 0 {
			root.post()
		} else {
			done.hit(0)
		}
	}
	for i := range out {
		reply := &task{color: home, fn: back}
		out[i] = &task{color: newColor(1), steps: stepsOf(number(args[1]))}
		out[i].fn = func(t *task) {
			t.work()
			reply.post()
		}
	}
	best := bestOf(3, 1, func(l *latch) {
		done = l
		root.left = rounds
		root.post()
	})
	report("fanout", "per color", best/float64(rounds)/float64(colors), "ns")
}

func idle(args []string) {
	const batch = 1024
	count := number(args[0])
	colors := make([]color, count)
	for i := range colors {
		colors[i] = nil // touch it: the list itself is not to be counted
	}
	before, begin := resident(), time.Now()
	for i := range colors {
		colors[i] = newColor(1)
	}
	for first := 0; first < count; first += batch {
		some := colors[first:min(count, first+batch)]
		done := newLatch(len(some))
		for i, c := range some {
			i := i
			c <- &task{fn: func(*task) { done.hit(i) }}
		}
		<-done.done
	}
	report("idle", "first task", float64(time.Since(begin).Nanoseconds())/float64(count), "ns")
	report("idle", "per color", (resident()-before)/float64(count), "B")
}

func wake(args []string) {
	gap, count := time.Duration(number(args[1]))*time.Microsecond, number(args[2])
	start := time.Now()
	done := newLatch(1)
	var at, seen atomic.Int64
	var latency []float64
	woken := &task{color: newColor(1), fn: func(*task) {
		at.Store(int64(time.Since(start)))
		seen.Add(1)
	}}
	busy := &task{color: newColor(1)}
	busy.fn = func(t *task) {
		for begin := time.Now(); time.Since(begin) < gap; {
		}
		before, begin := seen.Load(), int64(time.Since(start))
		woken.post()
		for seen.Load() == before {
		}
		latency = append(latency, float64(at.Load()-begin))
		if len(latency) < count {
			t.post()
		} else {
			done.hit(0)
		}
	}
	busy.post()
	<-done.done
	sort.Float64s(latency)
	report("wake", "p50", latency[(count-1)/2], "ns")
	report("wake", "p99", latency[(count-1)*99/100], "ns")
}

func pingpong(args []string) {
	hops := number(args[0])
	left := 0
	var done *latch
	var tasks [2]*task
	for i := range tasks {
		tasks[i] = &task{color: newColor(1), i: i, fn: func(t *task) {
			left--
			if left > 0 {
				tasks[1-t.i].post()
			} else {
				done.hit(0)
			}
		}}
	}
	best := bestOf(3, 1, func(l *latch) {
		done, left = l, hops
		tasks[0].post()
	})
	report("pingpong", "per hop", best/float64(hops), "ns")
}

func inject(args []string) {
	count, colorsNum := number(args[0]), number(args[1])
	var done *latch
	colors := make([]color, colorsNum)
	for i := range colors {
		colors[i] = newColor(count)
	}
	tasks := make([]*task, count)
	for i := range tasks {
		tasks[i] = &task{color: colors[i%colorsNum], steps: stepsOf(number(args[2])), i: i}
		tasks[i].fn = func(t *task) {
			t.work()
			done.hit(t.i)
		}
	}
	best := bestOf(3, count, func(l *latch) {
		done = l
		for _, t := range tasks {
			t.post()
		}
	})
	report("inject", "per task", best/float64(count), "ns")
}

func sfs(args []string) {
	clients, each := number(args[0]), number(args[3])/number(args[0])
	parallelNs, serialNs := number(args[1]), number(args[2])
	var done *latch
	shared := newColor(clients)
	serial, parallel := make([]*task, clients), make([]*task, clients)
	for i := range serial {
		serial[i] = &task{color: shared, steps: stepsOf(serialNs), i: i}
		parallel[i] = &task{color: newColor(1), steps: stepsOf(parallelNs), i: i}
		serial[i].fn = func(t *task) {
			t.work()
			parallel[t.i].post()
		}
		parallel[i].fn = func(t *task) {
			t.work()
			t.left--
			if t.left > 0 {
				serial[t.i].post()
			} else {
				done.hit(t.i)
			}
		}
	}
	best := bestOf(3, clients, func(l *latch) {
		done = l
		for i, t := range serial {
			parallel[i].left = each
			t.post()
		}
	})
	rate := float64(each*clients) / best
	report("sfs", "requests/s", rate*1e9, "1/s")
	report("sfs", "speed-up", rate*float64(parallelNs+serialNs), "x")
}
