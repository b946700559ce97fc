package worker

import (
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/ferry"
)

// Config configures a Pool. Command is required. A zero value in any other field means the default.
type Config struct {
	// Name is the pool's name in errors. Empty means the program's name.
	Name string

	// Command is the program and its arguments. The program calls Serve.
	Command []string

	// Env is the environment of the processes, as "key=value". Nil means the environment of this process.
	Env []string

	// Dir is the working directory of the processes. Empty means the working directory of this process.
	Dir string

	// Workers is how many processes run. Each process handles one message at a time. Zero means 1.
	Workers int

	// Queue is how many calls may wait for a process. Further calls fail with ErrBusy. Zero means 64; negative means
	// that no call waits.
	Queue int

	// Deadline limits the handling of one message, from when a process begins it. The time is not counted while the
	// call waits for a process or while the Sender handles a response. Zero means that only the context limits the
	// handling.
	Deadline time.Duration

	// Grace is how long a handler may continue after its context has ended. Then its process is killed. Zero means 100
	// ms.
	Grace time.Duration

	// MaxMessage is the largest payload of a request or a response, in bytes, up to 1 GiB. Zero means 4 MiB.
	MaxMessage int

	// StartTimeout limits the time from the start of a process to its call of Serve. Zero means 10 s.
	StartTimeout time.Duration

	// MinBackoff and MaxBackoff bound the pause before a process that ended is started again. The pause doubles each
	// time. After a process has lived for longer than MaxBackoff, the pause is MinBackoff again. Zero means 50 ms and 5
	// s.
	MinBackoff, MaxBackoff time.Duration

	// Nice is the nice value of the processes, 1 to 19. A higher present value is left unchanged. Zero means 10;
	// negative means that the present value is kept.
	Nice int

	// Idle gives the processes only CPU time that no other process uses: SCHED_IDLE on Linux, nice 19 on other systems.
	// On a busy machine the processes may make no progress.
	Idle bool

	// Stderr receives what the processes write to stdout and stderr, one Write at a time. Nil discards it, except for
	// the last bytes, which errors quote.
	Stderr io.Writer
}

const maxMaxMessage = 1 << 30

// longest is 73 years. Twice a configured duration up to this length does not overflow.
const longest = time.Duration(1 << 61)

// withDefaults returns c with its defaults. The error names the field with an invalid value.
func (c Config) withDefaults() (Config, error) {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return c, errors.New("worker: Config.Command is empty: name the program that calls worker.Serve")
	}
	if c.Name == "" {
		c.Name = c.Command[0]
	}
	for _, n := range [...]struct {
		name     string
		v        *int
		def, max int
	}{
		{"Workers", &c.Workers, 1, 1 << 10},
		{"MaxMessage", &c.MaxMessage, 4 << 20, maxMaxMessage},
	} {
		if *n.v < 0 || *n.v > n.max {
			return c, fmt.Errorf("worker: %s: Config.%s is %d: want 0 to %d", c.Name, n.name, *n.v, n.max)
		}
		if *n.v == 0 {
			*n.v = n.def
		}
	}
	for _, d := range [...]struct {
		name string
		v    *time.Duration
		def  time.Duration
	}{
		{"Deadline", &c.Deadline, 0},
		{"Grace", &c.Grace, 100 * time.Millisecond},
		{"StartTimeout", &c.StartTimeout, 10 * time.Second},
		{"MinBackoff", &c.MinBackoff, 50 * time.Millisecond},
		{"MaxBackoff", &c.MaxBackoff, 5 * time.Second},
	} {
		if *d.v < 0 {
			return c, fmt.Errorf("worker: %s: Config.%s is %v: want 0 or more", c.Name, d.name, *d.v)
		}
		if *d.v == 0 {
			*d.v = d.def
		}
		*d.v = min(*d.v, longest)
	}
	if c.Nice > 19 {
		return c, fmt.Errorf("worker: %s: Config.Nice is %d: want at most 19", c.Name, c.Nice)
	}
	if c.Nice == 0 {
		c.Nice = 10
	}
	if c.Queue == 0 {
		c.Queue = 64
	}
	c.MaxBackoff = max(c.MaxBackoff, c.MinBackoff)
	return c, nil
}

// checkSize returns an error if a message does not fit in a frame.
func checkSize(m *ferry.Message, maxMessage int) error {
	if len(m.Payload) > maxMessage {
		return fmt.Errorf("%w: the payload on tag %q has %d bytes, MaxMessage is %d", ErrTooLarge, m.Tag, len(m.Payload), maxMessage)
	}
	if len(m.Tag) > maxTag {
		return fmt.Errorf("%w: the tag has %d bytes, at most %d are allowed", ErrTooLarge, len(m.Tag), maxTag)
	}
	return nil
}
