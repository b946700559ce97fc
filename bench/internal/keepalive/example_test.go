package keepalive_test

import (
	"fmt"
	"time"

	"example.com/ferry/bench/internal/keepalive"
)

func ExampleHistogram_Quantile() {
	var h keepalive.Histogram
	for ms := range 100 {
		h.Add(time.Duration(ms+1) * time.Millisecond)
	}
	fmt.Println(h.Mean(), h.Quantile(0.99).Round(5*time.Millisecond))
	// Output: 50.5ms 100ms
}
