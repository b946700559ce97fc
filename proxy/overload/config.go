package overload

import (
	"cmp"
	"time"

	"example.com/ferry/internal/bytesize"
	"example.com/ferry/internal/invalid"
)

// Config configures the overload manager of a proxy. The zero value has the defaults.
type Config struct {
	// Off turns the overload manager off.
	Off bool `yaml:"off,omitempty"`

	// Memory is the budget of the whole process. Above 90 % of it idle connections are closed, above 93 % requests are refused,
	// above 97 % connections. Zero means the smallest of the control group's limit, GOMEMLIMIT with a reserve, and the memory
	// that is available when the proxy starts.
	Memory bytesize.Size `yaml:"memory,omitempty"`

	// LoopLatency is how late an event loop may be, for a whole second, before requests are refused. Zero means 1 s; negative
	// means that it does not matter.
	LoopLatency time.Duration `yaml:"loop_latency,omitempty"`
}

// minMemory is the least budget: the process alone takes about half of it.
const minMemory = 32 << 20

// Check returns an error for every invalid field of c as invalid.Errors, or nil.
func (c *Config) Check() error {
	var errs invalid.Errors
	if c.Memory != 0 && c.Memory < minMemory {
		errs.Add("overload", "memory", "%s: write at least %s, or 0 for what the system allows", c.Memory, bytesize.Size(minMemory))
	}
	errs.AddDuration("overload", "loop_latency", c.LoopLatency)
	return errs.Err()
}

// Budget returns the memory that the process may use, in bytes; 0 means no limit. allowed is what the system allows.
func (c *Config) Budget(allowed int64) int64 {
	switch {
	case c.Off:
		return 0
	case c.Memory > 0:
		return int64(c.Memory)
	}
	return allowed
}

// loopLatency returns the limit of the loops' delay; 0 means none.
func (c *Config) loopLatency() time.Duration { return max(cmp.Or(c.LoopLatency, time.Second), 0) }
