// Wasm_call measures what it costs to pass a message to a WebAssembly guest.
package main

import (
	"fmt"
	"time"

	"example.com/ferry/bench/internal/harness"
)

func main() { harness.Main(question()) }

// The rows.
const (
	ferryRow   = "ferry"
	nativeRow  = "native Go"
	bareRow    = "wazero, not ended"
	endableRow = "wazero, ended by its context"

	wasmtimeRow = "wasmtime, from Python"
)

// sizes are the sizes of a message in bytes.
var sizes = []int{100, 1 << 10, 10 << 10, 100 << 10, 1 << 20}

// The two kinds of guest.
const (
	payload = "hash the payload"
	field   = "read one field"
)

// workload is a case.
type workload struct {
	kind string
	size int
}

// workloads returns the cases by name, and their order.
func workloads() (byName map[string]workload, order []string) {
	byName = map[string]workload{}
	for _, kind := range []string{payload, field} {
		for _, size := range sizes {
			name := fmt.Sprintf("%s, %d B", kind, size)
			byName[name] = workload{kind, size}
			order = append(order, name)
		}
	}
	return byName, order
}

func question() harness.Question {
	cases, order := workloads()
	q := harness.Question{
		Name:   "wasm_call",
		Title:  "Passing a message to a WebAssembly guest",
		Unit:   harness.NsPerOp,
		Better: harness.Lower,
		About: "Micro. One guest gets the payload copied to its memory and hashes it byte by byte (FNV-1a), the other reads the first field of a JSON message. " +
			"Ferry's row is wasm.Pool.Handle: a guest that can be ended at any time, with bounded memory, in an instance that no other call has. " +
			"The bare wazero calls the same modules: it writes the payload into the guest's memory, or looks the field up in a function of the host, and nothing can end the guest. " +
			"The same with WithCloseOnContextDone is wazero's own way to end it. Native Go hashes and looks up the same bytes without a guest. " +
			"wasmtime is called from Python, whose part of a call is most of it below 10 KiB.",
		Cases:   order,
		Figures: []string{harness.AllocsPerOp, harness.BytesPerOp, harness.CPUPerOp},
		Checks:  []harness.Check{{Name: "each row finds the hash and the field that the message has, and finds a wrong one wrong", Run: check}},
		Goals:   goals(order),
		Notes: []string{
			"The result of each timed call is checked too: the guest compares what it has found with what the message says.",
		},
	}
	for _, r := range rows {
		q.Contenders = append(q.Contenders, harness.Contender{
			Name: r.name, Kind: r.kind, Version: r.version,
			Measure: func(name string, budget time.Duration) (harness.Figures, error) {
				w := cases[name]
				call, end, err := r.open(w)
				if err != nil {
					return nil, err
				}
				defer end()
				var failed error
				figures := harness.Time(func(n int) {
					message := w.message()
					for range n {
						if err := call(message); err != nil {
							failed = err
						}
					}
				}, budget)
				return figures, failed
			},
		})
	}
	if w, ok := wasmtime(cases); ok {
		q.Contenders = append(q.Contenders, w)
	} else {
		q.Notes = append(q.Notes, "wasmtime has no row: make deps installs it.")
	}
	return q
}

func goals(order []string) []harness.Goal {
	var all []harness.Goal
	for _, name := range order {
		all = append(all, harness.AtMost(1.2, name+": time, times that of the bare wazero, the copy included", func(r *harness.Result) float64 {
			return r.Ratio(ferryRow, bareRow, name, harness.NsPerOp)
		}))
	}
	first, last := fmt.Sprintf("%s, %d B", field, sizes[0]), fmt.Sprintf("%s, %d B", field, sizes[len(sizes)-1])
	return append(all, harness.AtMost(1.2, "reading a field of 1 MiB, times that of 100 B", func(r *harness.Result) float64 {
		return r.Stat(ferryRow, last, harness.NsPerOp).Median / r.Stat(ferryRow, first, harness.NsPerOp).Median
	}))
}
