package config

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/internal/naming"
	"example.com/ferry/internal/topic"
	"example.com/ferry/stream"
)

// checkFunctions checks the functions and their pool. known are the valid values of run.
func (c *Config) checkFunctions(known []string, errs *configErrors) {
	names := map[string]string{}
	if c.Live.Functions {
		names["averages"], names["alerts"] = "live.functions", "live.functions"
	}
	for i, f := range c.Functions {
		at := fmt.Sprintf("functions[%d].", i)
		if other, taken := names[f.Name]; taken {
			errs.add(at+"name", "%q is taken by %s: names are unique", f.Name, other)
		} else if !naming.ValidWith(f.Name, ".") {
			errs.add(at+"name", "%q is no name: want 1 to 64 letters, digits, dots, hyphens and underscores", f.Name)
		}
		names[f.Name] = fmt.Sprintf("functions[%d]", i)
		f.check(at, known, errs)
		f.checkWasm(at, c.Limits, errs)
		f.checkStored(at, c.Streams, errs)
		f.checkPipeline(at, c.Streams, errs)
	}
	c.checkCycles(errs)
	if memory := c.WasmMemory(); memory > c.Limits.WasmMemory {
		errs.add("limits.wasm_memory", "%v, but the code and the instances of the wasm guests, and the compiler, may have %v together: lower their concurrency or memory, leave large modules out, or raise the limit",
			c.Limits.WasmMemory, memory)
	}
	if calls := c.heavyCalls(); calls > c.CPU.Queue {
		errs.add("cpu.queue", "%d calls may wait, but the heavy functions have %d at once: write %d or more, or lower their concurrency",
			c.CPU.Queue, calls, calls)
	}
}

func (f Function) check(at string, known []string, errs *configErrors) {
	switch {
	case f.Run == "" && len(f.Command) == 0 && f.Wasm == "" && f.Pipeline == nil:
		errs.add(at+"name", "%q has nothing to run: give it a run, a command, a wasm or a pipeline", f.Name)
	case f.Wasm != "" && (f.Run != "" || len(f.Command) > 0):
		errs.add(at+"wasm", "beside run or command: give one of them")
	case f.Run != "" && len(f.Command) > 0:
		errs.add(at+"command", "beside run: give one of them")
	case f.Run != "" && !slices.Contains(known, f.Run):
		errs.add(at+"run", "%s", unknown(f.Run, known))
	case len(f.Command) > 0:
		if _, err := exec.LookPath(f.Command[0]); err != nil {
			errs.add(at+"command[0]", "%v", err)
		}
		if f.CPU != Worker {
			errs.add(at+"cpu", "%q is for functions that ferry brings: a command runs in processes of its own, write worker or leave it out", f.CPU)
		}
	}
	if len(f.Observe) == 0 {
		errs.add(at+"observe", "none: name the tags whose messages it gets, or # for all")
	}
	checkFilters(at+"observe", f.Observe, errs)
	if f.Where != "" {
		if _, err := field.ParsePredicate(f.Where); err != nil {
			errs.add(at+"where", "%v", err)
		}
	}
	switch {
	case f.CPU != Worker && f.Processes > 0:
		errs.add(at+"processes", "means nothing for a %s function: write cpu: worker, or leave it out", f.CPU)
	case f.CPU == Worker && f.Concurrency > 0:
		errs.add(at+"concurrency", "means nothing for a worker, which handles a message in each of its processes: set processes")
	}
}

// checkStored checks a function that reads a stream.
func (f Function) checkStored(at string, streams []Stream, errs *configErrors) {
	if f.From != "" {
		if _, err := stream.ParseFrom(f.From); err != nil {
			errs.add(at+"from", "%s", strings.TrimPrefix(err.Error(), "stream: "))
		}
	}
	key := "from"
	switch {
	case f.Durable != "" && !naming.Valid(f.Durable):
		errs.add(at+"durable", "%q is no name: want 1 to 64 letters, digits, hyphens and underscores", f.Durable)
		return
	case f.Durable != "":
		key = "durable"
	case f.From == "":
		return
	}
	switch {
	case f.Group != "":
		errs.add(at+"group", "beside %s: the functions with one durable share its messages, so leave the group out", key)
	case f.Policy != Block:
		errs.add(at+"policy", "%q is for messages that are not stored: with %s write block, or leave it out", f.Policy, key)
	case f.Durable != "" && len(f.Observe) > 1:
		errs.add(at+"observe", "%d filters: a function with a durable has one", len(f.Observe))
	}
	for i, filter := range f.Observe {
		reads := slices.IndexFunc(streams, func(s Stream) bool {
			return slices.ContainsFunc(s.Tags, func(tags string) bool { return topic.Covers(tags, filter) })
		})
		switch {
		case reads < 0:
			errs.add(fmt.Sprintf("%sobserve[%d]", at, i), "%q is not within the tags of one stream: with %s the function reads one of streams", filter, key)
		case f.Durable != "" && streams[reads].Delivery != AtLeastOnce:
			errs.add(at+"durable", "streams[%d] has delivery %s: write delivery: at-least-once there, or leave the durable out", reads, streams[reads].Delivery)
		}
	}
}

// unknown returns the error text for a function got that is not in known.
func unknown(got string, known []string) string {
	if len(known) == 0 {
		return fmt.Sprintf("unknown function %q: this program brings none", got)
	}
	return fmt.Sprintf("unknown function %q: want one of %s", got, strings.Join(known, ", "))
}
