package cpu

import (
	"fmt"
	"time"
)

// Config configures a Pool. The zero value works; negative values are errors.
type Config struct {
	// Tokens is how many jobs run at a time. Zero means Cores(). Cores()+1 keeps the cores busier if other programs use them
	// too. A lower number leaves part of a container's quota to I/O.
	Tokens int `yaml:"tokens,omitempty"`

	// Queue is how many new jobs may wait for a token. A further job gets ErrBusy. Zero means 1024.
	Queue int `yaml:"queue,omitempty"`

	// Lend is how long a job that is asked to yield keeps its token before the token is lent to a shorter job. Zero means 5
	// ms.
	Lend time.Duration `yaml:"lend,omitempty"`

	// FirstSlice is how long a new job runs before it is asked to yield. The slice doubles as the job grows older. Zero means
	// 250 us.
	FirstSlice time.Duration `yaml:"first_slice,omitempty"`

	// LongestSlice bounds the doubling of slices. Zero means 4 ms, or FirstSlice if that is longer.
	LongestSlice time.Duration `yaml:"longest_slice,omitempty"`
}

// longest is 73 years. The age of a pool plus a configured duration up to this length does not overflow.
const longest = time.Duration(1 << 61)

// withDefaults checks c and fills in the defaults.
func (c Config) withDefaults() (Config, error) {
	for _, n := range []struct {
		name  string
		value int
	}{{"Tokens", c.Tokens}, {"Queue", c.Queue}} {
		if n.value < 0 {
			return c, fmt.Errorf("cpu: Config.%s is %d: want 0 for the default, or more", n.name, n.value)
		}
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
	}{{"Lend", &c.Lend}, {"FirstSlice", &c.FirstSlice}, {"LongestSlice", &c.LongestSlice}} {
		if *d.value < 0 {
			return c, fmt.Errorf("cpu: Config.%s is %v: want 0 for the default, or more", d.name, *d.value)
		}
		*d.value = min(*d.value, longest)
	}
	if c.Tokens == 0 {
		c.Tokens = Cores()
	}
	if c.Queue == 0 {
		c.Queue = 1024
	}
	if c.Lend == 0 {
		c.Lend = 5 * time.Millisecond
	}
	if c.FirstSlice == 0 {
		c.FirstSlice = 250 * time.Microsecond
	}
	if c.LongestSlice == 0 {
		c.LongestSlice = max(4*time.Millisecond, c.FirstSlice)
	}
	if c.LongestSlice < c.FirstSlice {
		return c, fmt.Errorf("cpu: Config.LongestSlice is %v, shorter than FirstSlice, %v: want at least that",
			c.LongestSlice, c.FirstSlice)
	}
	return c, nil
}
