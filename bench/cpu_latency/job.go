//go:build linux

package main

import (
	"context"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// job is a request that computes a number of units. A checkpoint, where the job may be paused, follows each unit.
type job struct {
	path  string
	units func() int
	unit  func(sum uint32) uint32
	tight bool // the job has no checkpoints
}

// On the machine of the published figures a unit takes 7 µs, a short job 1 ms, a long one half a second.
const (
	shortUnits = 140
	longUnits  = 70_000
)

var jobs = []job{
	{path: "/job", units: between(10_000, 20_000), unit: checksum},
	{path: "/short", units: between(shortUnits, shortUnits), unit: checksum},
	{path: "/long", units: between(longUnits, longUnits), unit: checksum},
	{path: "/tight", units: between(longUnits, longUnits), unit: checksum, tight: true},
	{path: "/allocating", units: between(5000, 10_000), unit: allocate},
}

// run computes until the job or ctx ends, and returns the number of units and their checksum.
func (j job) run(ctx context.Context, checkpoint func(context.Context) error) (n int, sum uint32, err error) {
	n = j.units()
	for range n {
		sum = j.unit(sum)
		done.Add(1)
		if j.tight {
			continue
		}
		if err := checkpoint(ctx); err != nil {
			return n, sum, err
		}
	}
	return n, sum, nil
}

// responseFormat is the body of a response: the number of units and their checksum.
const responseFormat = "%d checksums, %08x\n"

func between(least, most int) func() int {
	return func() int { return least + rand.IntN(most-least+1) }
}

// block is the input of a checksum, the same as that of examples/cpuserver.
var block = make([]byte, 256<<10)

func checksum(sum uint32) uint32 { return crc32.Update(sum, crc32.IEEETable, block) }

// cell is what allocating jobs allocate: 56 bytes, one field of which is a pointer that the collector follows.
type cell struct {
	next *cell
	_    [5]uint64
	mark uint64
}

// recentCells are the lists of the last units.
var recentCells [64]atomic.Pointer[cell]

// allocate makes 600 cells, and keeps the last hundred of them reachable for a while.
func allocate(sum uint32) uint32 {
	var list *cell
	for i := range 600 {
		if i%100 == 0 {
			list = nil
		}
		list = &cell{next: list, mark: uint64(sum) + uint64(i)}
	}
	recentCells[rand.IntN(len(recentCells))].Store(list)
	return crc32.Update(sum, crc32.IEEETable, block[:8])
}

// done counts the computed units, including those of running jobs.
var done = new(atomic.Uint64)

// countIn maps a file into memory as the counter done, so that several processes share the counter.
func countIn(f *os.File) error {
	memory, err := syscall.Mmap(int(f.Fd()), 0, 8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	done = (*atomic.Uint64)(unsafe.Pointer(&memory[0]))
	return nil
}
