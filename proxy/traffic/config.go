package traffic

import (
	"math"

	"example.com/ferry/internal/invalid"
)

// LogConfig is an access log: a JSON object a line.
type LogConfig struct {
	// File is the path of the file lines are added to, or "-" for standard output. Empty means no log.
	File string `yaml:"file,omitempty"`

	// Sample is the share of requests that are logged: above 0, up to 1. Zero means 1, all of them. Requests that were answered
	// 5xx, or with a status of Bolt other than success, are logged in any case.
	Sample float64 `yaml:"sample,omitempty"`
}

// Check reports what is wrong in c: nil or invalid.Errors.
func (c *LogConfig) Check() error {
	var errs invalid.Errors
	if c.Sample < 0 || c.Sample > 1 || math.IsNaN(c.Sample) {
		errs.Add("traffic", "sample", "%v is not the share of requests to log: write a number above 0, up to 1", c.Sample)
	}
	return errs.Err()
}

// threshold is what the upper 53 of 64 random bits are below for a request that is logged.
func (c *LogConfig) threshold() uint64 {
	const all = 1 << 53
	if c.Sample == 0 {
		return all
	}
	return uint64(c.Sample * all)
}
