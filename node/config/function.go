package config

import "time"

// Function is one function that the node runs: one that the program brings, or a program of its own.
type Function struct {
	// Name stands in logs and metrics; it is started and stopped by it.
	Name string `yaml:"name" schema:"required"`

	// Run is the name of a function that ferry brings: averages, alerts or checksum.
	Run string `yaml:"run,omitempty"`

	// Command is a program that calls worker.Serve, and its arguments. Either run or command is given.
	Command []string `yaml:"command,omitempty"`

	// Observe are the tags whose messages it gets; + and # are wildcards.
	Observe []string `yaml:"observe" schema:"required"`

	// Where is a predicate over the payload; what it does not hold for never reaches the function.
	Where string `yaml:"where,omitempty"`

	// Group names a set of functions, in this node or connected to it, of which one gets each message.
	Group string `yaml:"group,omitempty"`

	// Policy says what becomes of messages the function has no room for: block makes their publishers wait.
	Policy Policy `yaml:"policy,omitempty"`

	// CPU says where it runs: light on a goroutine, heavy on a token of the pool, worker in processes of its own. A command
	// is a worker; a run is light if nothing is said.
	CPU Class `yaml:"cpu,omitempty"`

	// Timeout bounds the handling of one message, waiting for a token or a process not counted: a light or heavy function's
	// context ends, a worker's process is killed if it goes on. Zero means no bound.
	Timeout time.Duration `yaml:"timeout,omitempty"`

	// Processes are how many a worker has, each with one message at a time. Zero means 1.
	Processes int `yaml:"processes,omitempty" schema:"min=0"`

	// Concurrency is how many messages of different tags or sources a light or heavy function may handle, or wait for a token
	// with, at once. Zero means 64 for a heavy one, and one for each CPU for a light one.
	Concurrency int `yaml:"concurrency,omitempty" schema:"min=0"`
}

// Class says where a function runs.
type Class string

// The values of Class.
const (
	Light  Class = "light"
	Heavy  Class = "heavy"
	Worker Class = "worker"
)

// Policy says what becomes of messages that a function has no room for.
type Policy string

// The values of Policy.
const (
	Block      Policy = "block"
	DropOldest Policy = "drop-oldest"
	DropNewest Policy = "drop-newest"
)

// CPU is the pool that heavy functions share.
type CPU struct {
	// Tokens are how many heavy calls run at once. Zero means one for each core the node may use.
	Tokens int `yaml:"tokens,omitempty" schema:"min=0"`

	// KernelSlices gives the node's threads short time slices, where the kernel has them: Linux from 6.12 on.
	KernelSlices bool `yaml:"kernel_slices"`

	// Queue bounds the calls that wait for a token. It must hold the concurrency of all heavy functions.
	Queue int `yaml:"queue,omitempty" schema:"min=1"`
}

// heavyConcurrency is the default of a heavy function: enough to tell short calls from long ones.
const heavyConcurrency = 64

// complete fills in what f left out.
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

// heavyCalls is how many calls may wait for a token at once.
func (c *Config) heavyCalls() int {
	sum := 0
	for _, f := range c.Functions {
		if f.CPU == Heavy {
			sum += f.Concurrency
		}
	}
	return sum
}
