package loop

import (
	"fmt"
	"math"
	"runtime"
	"time"
)

// MaxKeepAlive is the largest value of Config.KeepAlive. Linux refuses a longer interval (MAX_TCP_KEEPIDLE).
const MaxKeepAlive = 32767 * time.Second

// DefaultMaxConns returns how many connections all loops of a Group accept together if Config.MaxConns is zero. It is the
// process's limit of descriptors (RLIMIT_NOFILE), less a reserve of an eighth, but at least 64. The reserve is for dialled
// connections, listeners and files. On a system without such a limit DefaultMaxConns returns the largest int32.
func DefaultMaxConns() int { return acceptLimit(descriptorLimit()) }

func acceptLimit(descriptors int) int {
	if descriptors <= 0 {
		return math.MaxInt32
	}
	return max(descriptors-max(descriptors/8, 64), 1)
}

// Config configures a Group. The zero value works.
type Config struct {
	// Loops is how many loops run. Zero means one for each core Go may use.
	Loops int `yaml:"loops,omitempty"`
	// ReusePort lets other processes of the same user listen on the same TCP ports, if they set it too.
	ReusePort bool `yaml:"reuse_port,omitempty"`
	// Sockets has sockets that listen already. Nil means none.
	Sockets Sockets `yaml:"-"`
	// Portable uses goroutines instead of epoll on Linux too. Other systems always do.
	Portable bool `yaml:"-"`
	// MaxConns is how many accepted connections one loop holds. Further clients wait in the kernel. Zero means that each loop
	// gets an equal share of DefaultMaxConns.
	MaxConns int `yaml:"max_conns,omitempty"`
	// ReadBuffer is the most bytes that one read returns. Each loop has one buffer of this size. Zero means 72 KiB: 64 KiB and a head.
	ReadBuffer int `yaml:"read_buffer,omitempty"`
	// TurnBytes is how many bytes the loop reads from one connection, and writes to it, before it serves the others. Zero
	// means 256 KiB.
	TurnBytes int `yaml:"turn_bytes,omitempty"`
	// MaxUnread is how many received bytes a handler may leave unread, for example an incomplete message. Zero means 1 MiB.
	MaxUnread int `yaml:"max_unread,omitempty"`
	// HighWater is the length of a connection's write queue, in bytes, at which Conn.Full becomes true. Zero means 256 KiB.
	HighWater int `yaml:"high_water,omitempty"`
	// LowWater is the length of the write queue, in bytes, at which Conn.Full becomes false and Drained is called. Zero means
	// a quarter of HighWater.
	LowWater int `yaml:"low_water,omitempty"`
	// QueueMemory is how many bytes the write queues and unread bytes of one loop, and those that handlers hold (Loop.Hold), may
	// take together before each connection is limited to 8 KiB queued and 16 KiB unread. Accepted connections that leave more
	// unread are reset. Zero means no limit.
	QueueMemory int `yaml:"queue_memory,omitempty"`
	// Mailbox is how many posted functions one loop queues. Zero means 4096.
	Mailbox int `yaml:"mailbox,omitempty"`
	// CloseTimeout is how long a closed connection waits for its peer to read more of the queue. After that it is reset. Zero
	// means 5 s.
	CloseTimeout time.Duration `yaml:"close_timeout,omitempty"`
	// HandshakeTimeout bounds the handshake of a layer on an accepted connection: see Conn.SetLayer. Zero means 10 s.
	HandshakeTimeout time.Duration `yaml:"handshake_timeout,omitempty"`
	// KeepAlive is the interval of TCP probes to a silent peer, at most MaxKeepAlive. Zero means 15 s; negative means no
	// probes.
	KeepAlive time.Duration `yaml:"keep_alive,omitempty"`
}

// withDefaults returns a copy in which each zero is replaced by its default. The error names the field with an invalid value.
func (c *Config) withDefaults() (Config, error) {
	var out Config
	if c != nil {
		out = *c
	}
	fields := []struct {
		name  string
		value *int
		zero  int
		least int
	}{
		{"Loops", &out.Loops, runtime.GOMAXPROCS(0), 1},
		{"MaxConns", &out.MaxConns, 0, 1}, // zero is replaced below
		{"ReadBuffer", &out.ReadBuffer, 72 << 10, 512},
		{"TurnBytes", &out.TurnBytes, 256 << 10, 512},
		{"MaxUnread", &out.MaxUnread, 1 << 20, 512},
		{"HighWater", &out.HighWater, 256 << 10, 1},
		{"LowWater", &out.LowWater, max(out.HighWater, 0) / 4, 0},
		{"QueueMemory", &out.QueueMemory, math.MaxInt, 1},
		{"Mailbox", &out.Mailbox, 4096, 1},
	}
	for _, f := range fields {
		if *f.value == 0 {
			*f.value = f.zero
		}
		switch {
		case f.name == "MaxConns" && out.MaxConns == 0:
			out.MaxConns = max(DefaultMaxConns()/out.Loops, 1) // Loops is not zero: the list above sets it first
		case f.name == "LowWater" && out.LowWater == 0:
			out.LowWater = out.HighWater / 4
		}
		if *f.value < f.least {
			return out, fmt.Errorf("loop: %s is %d: give at least %d, or 0 for the default", f.name, *f.value, f.least)
		}
	}
	if out.LowWater >= out.HighWater && out.HighWater > 1 {
		return out, fmt.Errorf("loop: LowWater %d is not below HighWater %d", out.LowWater, out.HighWater)
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		zero  time.Duration
	}{{"CloseTimeout", &out.CloseTimeout, 5 * time.Second}, {"HandshakeTimeout", &out.HandshakeTimeout, 10 * time.Second}} {
		if *d.value < 0 {
			return out, fmt.Errorf("loop: %s is %v: give a positive duration, or 0 for the default", d.name, *d.value)
		}
		if *d.value == 0 {
			*d.value = d.zero
		}
	}
	if out.KeepAlive > MaxKeepAlive {
		return out, fmt.Errorf("loop: KeepAlive is %v: give at most %v, or a negative duration for no probes", out.KeepAlive, MaxKeepAlive)
	}
	if out.KeepAlive == 0 {
		out.KeepAlive = 15 * time.Second
	}
	return out, nil
}
