package config

import (
	"time"

	"example.com/ferry/stream/pipeline"
	"example.com/ferry/stream/wasm"
)

// Function is one function that the node runs: a function of this program, or a separate program.
type Function struct {
	// Name is shown in logs, metrics and the dashboard.
	Name string `yaml:"name" schema:"required"`

	// Run is the name of a function of ferry: averages, alerts or checksum.
	Run string `yaml:"run,omitempty"`

	// Command is a program that calls worker.Serve, and its arguments. Give one of run, command and wasm.
	Command []string `yaml:"command,omitempty"`

	// Wasm is the file of a WebAssembly guest (docs/wasm.md). The node uses a changed file within a few seconds.
	Wasm string `yaml:"wasm,omitempty"`

	// Pipeline are steps that ferry runs on each message, in order. Give it instead of run, command or wasm. A pipeline is light, and
	// handles one message at a time.
	Pipeline []pipeline.Step `yaml:"pipeline,omitempty"`

	// State is the tag below which a pipeline with a durable saves its windows and other state: STATE/# belongs to a stream with
	// delivery at-least-once. After a restart the function goes on with it.
	State string `yaml:"state,omitempty"`

	// MaxGroups bounds the groups that a pipeline keeps state for. Messages of further groups are dropped and counted. Zero means
	// 10000.
	MaxGroups int `yaml:"max_groups,omitempty" schema:"min=0"`

	// GroupIdle drops a group of a pipeline, with its state, that has had no message for this long and holds no window. Zero means
	// never.
	GroupIdle time.Duration `yaml:"group_idle,omitempty"`

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
	// worker for a command, heavy for a wasm guest and light for a run.
	CPU Class `yaml:"cpu,omitempty"`

	// Timeout bounds the handling of one message, from when it has a token or a process: the context of a light or heavy
	// function ends; a worker's process that goes on is killed, and so is an instance of a wasm guest. Zero means 1s for a wasm
	// guest, and no bound for others. limits.wasm_timeout bounds it for wasm guests.
	Timeout time.Duration `yaml:"timeout,omitempty"`

	// Processes is the number of processes of a worker. Each handles one message at a time. Zero means 1.
	Processes int `yaml:"processes,omitempty" schema:"min=0"`

	// Concurrency is how many messages, of different tags or sources, a light or heavy function handles at once; those that wait
	// for a token count. Zero means 4 for a wasm guest, 64 for another heavy function, and one for each CPU for a light one.
	Concurrency int `yaml:"concurrency,omitempty" schema:"min=0"`

	// Memory bounds the memory of one instance of a wasm guest, which has an instance for each message that it handles at once.
	// Zero means 16MiB. limits.wasm_memory bounds all instances together.
	Memory Size `yaml:"memory,omitempty"`

	// Env is the environment of a wasm guest.
	Env map[string]string `yaml:"env,omitempty" secret:"true"`

	// Mounts are the directories whose files a wasm guest may open. Empty means none.
	Mounts []Mount `yaml:"mounts,omitempty"`
}

// Mount is a directory that a wasm guest sees.
type Mount struct {
	// Host is the directory.
	Host string `yaml:"host" schema:"required"`

	// Guest is its path in the guest, such as /data.
	Guest string `yaml:"guest" schema:"required"`

	// Write lets the guest change files.
	Write bool `yaml:"write,omitempty"`
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

// The defaults of Concurrency.
const (
	heavyConcurrency = 64 // enough for the pool to run short calls before long ones
	wasmConcurrency  = 4  // each has its memory
)

// Complete sets the defaults of f, as loading a configuration does.
func (f *Function) Complete() {
	if f.Policy == "" {
		f.Policy = Block
	}
	switch {
	case f.CPU != "":
	case len(f.Command) > 0:
		f.CPU = Worker
	case f.Wasm != "":
		f.CPU = Heavy
	default:
		f.CPU = Light
	}
	if f.Wasm != "" {
		f.completeWasm()
	}
	switch {
	case len(f.Pipeline) > 0 && f.Concurrency == 0:
		f.Concurrency = 1
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

// completeWasm sets the defaults of a wasm guest.
func (f *Function) completeWasm() {
	if f.Memory == 0 {
		f.Memory = wasm.DefaultMemory
	}
	if f.Timeout == 0 {
		f.Timeout = wasm.DefaultTimeout
	}
	if f.Concurrency == 0 {
		f.Concurrency = wasmConcurrency
	}
}
