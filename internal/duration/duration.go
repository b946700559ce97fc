// Package duration reads durations with days.
//
//	age, err := duration.Parse("7d12h")
package duration

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Pattern is a regular expression of the durations of a configuration, for JSON Schema.
const Pattern = `^-?([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+$`

var days = regexp.MustCompile(`[0-9.]+d`)

// Parse is time.ParseDuration with a further unit: d, 24 hours.
func Parse(text string) (time.Duration, error) {
	hours := days.ReplaceAllStringFunc(text, func(s string) string {
		n, err := strconv.ParseFloat(s[:len(s)-1], 64)
		if err != nil {
			return s // which time refuses
		}
		return strconv.FormatFloat(24*n, 'f', -1, 64) + "h"
	})
	d, err := time.ParseDuration(hours)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not a duration, or is longer than 292 years: write 100ms, 10s, 1m30s or 7d", text)
	}
	return d, nil
}
