//go:build linux

package main

import (
	"context"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/cpu"
)

// cost measures the time of calls of package cpu in this process.
func (r row) cost(budget time.Duration) (harness.Figures, error) {
	if r.name != ferryPool {
		return nil, nil
	}
	pool, err := cpu.New(cpu.Config{})
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	ctx := context.Background()
	nothing := func(context.Context) (struct{}, error) { return struct{}{}, nil }
	do := harness.Time(func(n int) {
		for range n {
			if _, e := cpu.Do(ctx, pool, nothing); e != nil {
				err = e
			}
		}
	}, budget)
	var checkpoint harness.Figures
	_, e := cpu.Do(ctx, pool, func(ctx context.Context) (struct{}, error) {
		checkpoint = harness.Time(func(n int) {
			for range n {
				if e := cpu.Checkpoint(ctx); e != nil {
					err = e
				}
			}
		}, budget)
		return struct{}{}, nil
	})
	if e != nil {
		err = e
	}
	return harness.Figures{doNs: do[harness.NsPerOp], doAllocs: do[harness.AllocsPerOp], checkpointNs: checkpoint[harness.NsPerOp]}, err
}
