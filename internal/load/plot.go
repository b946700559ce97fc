package load

import (
	"fmt"
	"math"
	"strings"
	"time"
)

const (
	plotWidth = 50 // cells of the longest bar
	plotBars  = 14 // at most
)

// plot returns the distribution as lines of text with bars. The bars are for ranges on a logarithmic scale; their limits are 1, 2 or 5
// times a power of ten where that makes at most plotBars bars, and powers of ten otherwise.
func (h *Histogram) plot(width int) string {
	if h.Count() == 0 {
		return ""
	}
	limits := h.limits(1, 2, 5)
	if len(limits) > plotBars+1 {
		limits = h.limits(1)
	}
	counts := make([]int, len(limits)-1)
	most := 1
	for _, bar := range h.hdr.Distribution() {
		if bar.Count == 0 {
			continue
		}
		middle := time.Duration(bar.From+bar.To) / 2
		for i := range counts {
			if middle < limits[i+1] || i == len(counts)-1 {
				counts[i] += int(bar.Count)
				most = max(most, counts[i])
				break
			}
		}
	}
	var b strings.Builder
	for i, n := range counts {
		line := fmt.Sprintf("%9s - %-8s%10d %s", limits[i], limits[i+1], n, Bar(float64(n)/float64(most)*float64(width)))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// limits returns the limits of ranges that hold all durations: steps times powers of ten.
func (h *Histogram) limits(steps ...int) []time.Duration {
	all := []time.Duration{0}
	for power := time.Duration(1); ; power *= 10 {
		for _, step := range steps {
			limit := time.Duration(step) * power
			if limit <= h.min {
				all = all[:0] // the ranges below it are empty
			}
			if all = append(all, limit); limit > h.max {
				return all
			}
		}
	}
}

// Bar returns a bar of a number of cells, with a precision of an eighth. A bar above 0 is never empty.
func Bar(cells float64) string {
	eighths := int(math.Round(cells * 8))
	if cells > 0 {
		eighths = max(eighths, 1)
	}
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar
}
