package top

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// short returns v with about three digits and a suffix: 950, 12.3k, 4.56M.
func short(v float64) string {
	for _, suffix := range []string{"", "k", "M", "G", "T"} {
		if v < 999.5 || suffix == "T" {
			return digits(v) + suffix
		}
		v /= 1000
	}
	return ""
}

// digits returns v with three digits, and at most two behind the point.
func digits(v float64) string {
	switch {
	case v == math.Trunc(v) || v >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// whole returns v as an integer with separators: 12,345.
func whole(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func perSecond(v float64) string { return short(v) + "/s" }

// size returns bytes: 1.5 KiB.
func size(v float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for v >= 999.5 && i < len(units)-1 {
		v /= 1024
		i++
	}
	return digits(v) + " " + units[i]
}

func sizePerSecond(v float64) string { return size(v) + "/s" }

func percent(v float64) string { return fmt.Sprintf("%.1f %%", v) }

// latency returns seconds as us, ms or s.
func latency(v float64) string {
	switch {
	case v < 1e-3:
		return digits(v*1e6) + " us"
	case v < 1:
		return digits(v*1e3) + " ms"
	}
	return digits(v) + " s"
}

// plural returns n and the noun, with an s unless n is 1.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return whole(float64(n)) + " " + strings.TrimSuffix(noun, "s") + "s"
}
