package traffic

import (
	"math"

	"example.com/ferry/internal/invalid"
)

// LogConfig configures an access log. Each line is a JSON object.
type LogConfig struct {
	// File is the path of the file that lines are appended to, or "-" for standard output. Empty means no log.
	File string `yaml:"file,omitempty"`

	// Sample is the fraction of requests that are logged: above 0, up to 1. Zero means 1. Requests whose response is 5xx, or a
	// Bolt status other than success, are always logged.
	Sample float64 `yaml:"sample,omitempty"`
}

// Check returns an error for every invalid field of c as invalid.Errors, or nil.
func (c *LogConfig) Check() error {
	var errs invalid.Errors
	if c.Sample < 0 || c.Sample > 1 || math.IsNaN(c.Sample) {
		errs.Add("traffic", "sample", "%v is not a fraction of the requests: write a number above 0, up to 1", c.Sample)
	}
	return errs.Err()
}

// threshold returns the limit for sampling. A request is logged if the upper 53 of its 64 random bits are below the
// limit.
func (c *LogConfig) threshold() uint64 {
	const all = 1 << 53
	if c.Sample == 0 {
		return all
	}
	return uint64(c.Sample * all)
}
