package wasm

import (
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"example.com/ferry/format"
)

// The defaults and bounds of a Config.
const (
	DefaultMemory     = 16 << 20         // bytes
	DefaultTimeout    = time.Second      // for one message
	DefaultMaxMessage = 4 << 20          // bytes
	MaxGuest          = 32 << 20         // bytes of a module
	MinTimeout        = time.Millisecond // a shorter Timeout is an error
	pageSize          = 64 << 10         // of a guest's memory
	maxMemory         = 65536 * pageSize // what 32 bits address
	maxTableEntries   = 64 << 10         // of each table
)

// Config configures a Pool. A zero value means the default.
type Config struct {
	// Name is the guest's name in errors and the log. Empty means "guest".
	Name string

	// Memory bounds the memory of one instance, in bytes, rounded down to pages of 64 KiB. Zero means DefaultMemory.
	Memory int64

	// Timeout bounds the handling of one message, without the time in which a Sender waits. Zero means DefaultTimeout. A call is
	// ended at most a quarter later, or 200 ms if that is less.
	Timeout time.Duration

	// Instances is how many calls run at once, each in an instance of its own. Further calls wait. Zero means one for each CPU.
	Instances int

	// MaxMessage is the largest payload that the guest may send, in bytes. Zero means DefaultMaxMessage.
	MaxMessage int

	// Formats read the fields of messages.
	Formats []format.Format

	// Env is the guest's environment.
	Env map[string]string

	// Mounts are the directories that the guest may open files in.
	Mounts []Mount

	// MinBackoff and MaxBackoff bound the pause before an instance is made in place of one that has trapped. The pause doubles
	// each time, and is MinBackoff again after a message was handled. Zero means 10 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration

	// Log gets what the guest logs and prints. Nil discards it.
	Log *slog.Logger
}

// Mount is a directory that a guest sees.
type Mount struct {
	Host  string // the directory
	Guest string // its path in the guest, such as /data
	Write bool   // the guest may change files
}

// withDefaults checks c and returns it with its defaults.
func (c Config) withDefaults() (Config, error) {
	if c.Name == "" {
		c.Name = "guest"
	}
	setDefault(&c.Memory, DefaultMemory)
	setDefault(&c.Timeout, DefaultTimeout)
	setDefault(&c.Instances, runtime.GOMAXPROCS(0))
	setDefault(&c.MaxMessage, DefaultMaxMessage)
	setDefault(&c.MinBackoff, 10*time.Millisecond)
	setDefault(&c.MaxBackoff, 5*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	switch {
	case c.Memory < pageSize || c.Memory > maxMemory:
		return c, fmt.Errorf("wasm: Memory %d: want 64 KiB to 4 GiB", c.Memory)
	case c.Timeout < MinTimeout:
		return c, fmt.Errorf("wasm: Timeout %v: want %v or more", c.Timeout, MinTimeout)
	case c.Instances < 0 || c.MaxMessage < 0:
		return c, fmt.Errorf("wasm: Instances %d, MaxMessage %d: want none below 0", c.Instances, c.MaxMessage)
	case c.MinBackoff < 0 || c.MaxBackoff < c.MinBackoff:
		return c, fmt.Errorf("wasm: MinBackoff %v, MaxBackoff %v: want the first to be 0 or more, and the second not below it", c.MinBackoff, c.MaxBackoff)
	}
	return c, nil
}

func setDefault[T int | int64 | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}
