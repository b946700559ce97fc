package doctor

import (
	"fmt"
	"math"

	"example.com/ferry/internal/membudget"
	"example.com/ferry/node/config"
)

// memory compares what the process may use with what the configuration lets it use.
func (x *exam) memory() {
	group, limit := membudget.Group(x.Machine.Root), x.Machine.MemoryLimit()
	if group > 0 && limit != math.MaxInt64 && limit > group {
		x.fault(Finding{
			What:  fmt.Sprintf("GOMEMLIMIT is %s, and the control group has %s", human(limit), human(group)),
			Where: "GOMEMLIMIT",
			Why:   "the kernel ends the process before Go collects garbage",
			Mend:  fmt.Sprintf("GOMEMLIMIT=%d, which is %d %% of the control group's limit", int64(membudget.GoShare*float64(group)), int(100*membudget.GoShare)),
		})
	}
	if group > 0 && limit == math.MaxInt64 && x.Node.Proxy == nil { // a proxy sets it
		x.warning(Finding{
			What:  fmt.Sprintf("the control group has %s, and GOMEMLIMIT is not set", human(group)),
			Where: "memory.max of the control group",
			Why:   "Go collects garbage by the growth of the heap, not by the limit: the kernel may end the process while half of it is garbage",
			Mend:  fmt.Sprintf("set GOMEMLIMIT=%d in the environment of the node", int64(membudget.GoShare*float64(group))),
		})
	}
	budget, from := membudget.FindAt(x.Machine.Root)
	if budget == 0 {
		x.unchecked("how much memory the node may use is not known")
		return
	}
	x.compare(budget, from)
	x.fine("the node may use %s (%s)", human(budget), from)
}

// compare reports the limits of the configuration that exceed budget.
func (x *exam) compare(budget int64, from string) {
	c := x.Node
	has := fmt.Sprintf("the node may use %s (%s)", human(budget), from)
	if p := c.Proxy; p != nil && int64(p.Overload.Memory) > budget {
		x.fault(Finding{
			What: fmt.Sprintf("proxy.overload.memory is %v, and %s", p.Overload.Memory, has), Where: x.at("proxy.overload.memory"),
			Why:  "the overload manager acts only when the memory is used up already",
			Mend: "leave it out: the node then finds the limit itself",
		})
	}
	if len(c.Listeners) == 0 {
		return
	}
	l := c.Limits
	client := int64(l.MaxFrame + l.Window + l.Queue + l.CallWindow + l.CallQueue)
	if client > budget/2 {
		x.warning(Finding{
			What:  fmt.Sprintf("one client may make the node keep %s (limits.max_frame, window, queue, call_window and call_queue), and %s", human(client), has),
			Where: x.at("limits"),
			Why:   "two slow clients use up the memory",
			Mend:  "lower limits.call_queue and limits.call_window, such as 1MiB each",
		})
	}
	guests := int64(0)
	for _, f := range c.Functions {
		if f.Wasm != "" {
			guests += int64(f.Memory) * int64(max(f.Concurrency, 1))
		}
	}
	if guests == 0 && int64(l.WasmMemory) > budget && c.Deploy.Functions >= 0 {
		x.warning(Finding{
			What: fmt.Sprintf("limits.wasm_memory is %v, and %s", l.WasmMemory, has), Where: x.at("limits.wasm_memory"),
			Why:  "functions that ferry deploy brings may together use more than there is",
			Mend: fmt.Sprintf("limits: {wasm_memory: %dMiB}, or deploy: {functions: -1}", max(budget/4>>20, 1)),
		})
	}
	kept := guests + int64(x.retained()) + x.streamsInMemory()
	if kept > budget {
		x.fault(Finding{
			What:  fmt.Sprintf("streams in memory, retained messages and wasm functions may together take %s, and %s", human(kept), has),
			Where: x.at("limits"),
			Why:   "the kernel ends the process when they are full",
			Mend:  "lower retention.size of the streams with storage memory, mqtt.retained_size, or concurrency and memory of wasm functions",
		})
	}
}

// retained returns the bound of retained messages, if there is a listener for MQTT.
func (x *exam) retained() config.Size {
	for _, l := range x.Node.Listeners {
		if l.MQTT() {
			return x.Node.MQTT.RetainedSize
		}
	}
	return 0
}

// streamsInMemory returns the bytes that streams may keep in memory.
func (x *exam) streamsInMemory() (sum int64) {
	for _, s := range x.Node.Streams {
		if s.Storage == config.StorageMemory {
			sum += int64(s.Retention.Size)
		}
	}
	return sum
}
