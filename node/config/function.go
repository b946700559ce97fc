package config

import "time"

// Function is one function that the node runs: a function of this program, or a separate program.
type Function struct {
	// Name is shown in logs, metrics and the dashboard.
	Name string `yaml:"name" schema:"required"`

	// Run is the name of a function of ferry: averages, alerts or checksum.
	Run string `yaml:"run,omitempty"`

	// Command is a program that calls worker.Serve, and its arguments. Give either run or command.
	Command []string `yaml:"command,omitempty"`

	// Observe are the tags whose messages it gets; + and # are wildcards.
	Observe []string `yaml:"observe" schema:"required"`

	// Where is a predicate over the payload. The function gets only messages for which it holds.
	Where string `yaml:"where,omitempty"`

	// Group is a consumer group: one of its members, in this node or connected to it, gets each message.
	Group string `yaml:"group,omitempty"`

	// Durable is the name under which the function consumes a stream with delivery at-least-once: each message until it is handled
	// without an error, also after a restart. Functions and clients with the same durable share the messages.
	Durable string `yaml:"durable,omitempty"`

	// From is where a new durable begins, or, without a durable, where the function begins to read the stream each time it starts:
	// first, new, a sequence number, or a time as in RFC 3339. Empty means new messages.
	From string `yaml:"from,omitempty"`

	// Policy is what happens while the function's queue is full: block withholds credit from the publishers, drop-oldest and
	// drop-newest drop messages.
	Policy Policy `yaml:"policy,omitempty"`

	// CPU is where it runs: light on a goroutine, heavy on a token of the pool, worker in processes of its own. Empty means
	// worker for a command and light for a run.
	CPU Class `yaml:"cpu,omitempty"`

	// Timeout bounds the handling of one message, from when it has a token or a process: the context of a light or heavy
	// function ends; a worker's process that goes on is killed. Zero means no bound.
	Timeout time.Duration `yaml:"timeout,omitempty"`

	// Processes is the number of processes of a worker. Each handles one message at a time. Zero means 1.
	Processes int `yaml:"processes,omitempty" schema:"min=0"`

	// Concurrency is how many messages, of different tags or sources, a light or heavy function handles at once; those that wait
	// for a token count. Zero means 64 for a heavy function, and one for each CPU for a light one.
	Concurrency int `yaml:"concurrency,omitempty" schema:"min=0"`
}

// Class is where a function runs.
type Class string

// The values of Class.
const (
	Light  Class = "light"
	Heavy  Class = "heavy"
	Worker Class = "worker"
)

// Policy is what happens while a function's queue is full.
type Policy string

// The values of Policy.
const (
	Block      Policy = "block"
	DropOldest Policy = "drop-oldest"
	DropNewest Policy = "drop-newest"
)

// CPU is the pool that heavy functions share.
type CPU struct {
	// Tokens is how many heavy calls run at once. Zero means one for each core the node may use.
	Tokens int `yaml:"tokens,omitempty" schema:"min=0"`

	// KernelSlices gives the node's threads short time slices, where the kernel has them: Linux from 6.12 on.
	KernelSlices bool `yaml:"kernel_slices"`

	// Queue bounds the calls that wait for a token. It must hold the concurrency of all heavy functions.
	Queue int `yaml:"queue,omitempty" schema:"min=1"`
}

// heavyConcurrency is the default of a heavy function: enough for the pool to run short calls before long ones.
const heavyConcurrency = 64

// complete sets the defaults of f.
func (f *Function) complete() {
	if f.Policy == "" {
		f.Policy = Block
	}
	switch {
	case f.CPU != "":
	case len(f.Command) > 0:
		f.CPU = Worker
	default:
		f.CPU = Light
	}
	switch {
	case f.CPU == Worker && f.Processes == 0:
		f.Processes = 1
	case f.CPU == Heavy && f.Concurrency == 0:
		f.Concurrency = heavyConcurrency
	}
}

// Heavy reports whether any function of c shares the pool.
func (c *Config) Heavy() bool { return c.heavyCalls() > 0 }

// heavyCalls returns how many calls may wait for a token at once.
func (c *Config) heavyCalls() int {
	sum := 0
	for _, f := range c.Functions {
		if f.CPU == Heavy {
			sum += f.Concurrency
		}
	}
	return sum
}
