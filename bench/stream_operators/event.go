package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// event is a decoded measurement of a device.
type event struct {
	Device string
	Value  float64
	At     int64 // Unix nanoseconds
}

// result is the mean of a window. device and start are empty for windows by count.
type result struct {
	device string
	start  int64
	mean   float64
}

// threshold is the filter: events with a greater value pass.
const threshold = 30.0

const (
	windowCount = 100
	windowTime  = 10 * time.Second
)

// events returns the events of one run, one each millisecond.
func events() []event {
	random := rand.New(rand.NewPCG(15, 2))
	all := make([]event, 1<<16)
	for i := range all {
		all[i] = event{
			Device: fmt.Sprintf("device-%02d", random.IntN(100)),
			Value:  float64(random.IntN(60*8)) / 8, // sums are exact, in any order
			At:     1_700_000_000_000_000_000 + int64(i)*int64(time.Millisecond),
		}
	}
	return all
}
