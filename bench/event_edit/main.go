// Event_edit measures what it costs to change the ID of an encoded event, with the seed's events and their whole payload. With
// -n it repeats the original benchmark program instead: see seedprogram.go.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"

	"example.com/ferry/bench/internal/events"
	"example.com/ferry/bench/internal/harness"
)

func main() {
	c := harness.Flags()
	p := programFlags()
	flag.Parse()
	if p.edits == 0 {
		harness.Ask(question(), c)
		return
	}
	if err := p.run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "event_edit:", err)
		os.Exit(1)
	}
}

// cases are in the order of the tables.
var cases = slices.Concat(bySize, byReadings, []string{shuffled, absent})

func question() harness.Question {
	rows := slices.Concat(ferryRows(), limits(), peers())
	q := harness.Question{
		Name:   "event_edit",
		Title:  "Giving an encoded event another ID",
		Unit:   harness.NsPerOp,
		Better: harness.Lower,
		About: "Micro. An EdgeX event as the seed has it: two simple readings and a third one with random bytes, of which its sizes speak; the other cases have readings of a number each. " +
			"Ferry changes the ID in the encoded event: overwritten in place by one of the same length (a UUID by a UUID), or by one of another length, copied into a buffer that is there, or as three parts for net.Buffers, of which none is a copy. " +
			"It goes through the format's interface with a path parsed at run time; the row that is validated reads the whole event first, strictly. " +
			"The peers decode the event to a struct, set the ID and encode it again, as the seed did; their structs have the fields of EdgeX's own. " +
			"Sent to a unix socket means: edited, and written by one system call, with a goroutine at the other end that reads.",
		Cases:   cases,
		Figures: []string{harness.AllocsPerOp, harness.BytesPerOp, socketTime, decodeTime, encodeTime, decodeBytes, encodeBytes},
		Plot:    bySize,
		Checks: []harness.Check{
			{Name: "each event holds its whole payload, read by libraries that are not ferry's", Run: checkPayloads},
			{Name: "each row's output is the event with the other ID and its whole payload, byte for byte; a decoder reads all readings, and refuses a byte after the event", Run: func() error { return checkEdits(rows) }},
			{Name: "what arrives at the socket is the same", Run: func() error { return checkSent(rows) }},
			{Name: "an event without an ID is an error, and left as it was", Run: func() error { return checkAbsent(rows) }},
		},
		Charts: func(r *harness.Result) ([]harness.Chart, error) {
			return []harness.Chart{
				r.Growth("sizes", "Another ID: growth with the payload", "bytes in the third of three readings", []harness.Tick{
					{At: 100, Label: byte100}, {At: 1000, Label: kib1}, {At: 64 << 10, Label: kib64}, {At: events.Medium, Label: medium}, {At: events.Large, Label: large},
				}),
				r.Growth("readings", "Another ID: growth with the number of readings", "readings of a number", []harness.Tick{
					{At: 1, Label: one}, {At: 10, Label: ten}, {At: 100, Label: hundred}, {At: 1000, Label: thousand},
				}),
			}, nil
		},
		Goals: goals(),
		Notes: []string{
			"The seed's README says 3.4 µs for each size, and 1024 B/op. Its payload was never decoded: the struct's tags were codec:\"omitempty\", which names all fields alike, and its decoder took an integer for the length of a text. It stopped after 247 of 12 583 310 bytes without an error, and 202 bytes came out, for small, medium and large events. " +
				"Its author mended the tags a month later and did not measure again: with them the large event takes 71 ms and 321 MB on the machine of the recorded rows.",
			"ugorji without copies gives texts and a payload that are parts of the message, and needs no more than memcpy to encode. By default it accepts bytes behind the message and text that is not UTF-8; the row refuses the former.",
			"sjson looks for the ID alone, as ferry does, and always copies.",
			"Keys shuffled: 16 events with their keys in random order take turns, so the ID may stand behind the payload. Without an ID there is nothing to edit, which ferry finds out by passing all keys of the event.",
			"In place, the ID changes with each operation. Limits: by hand is a scan for just this shape, each read checked; as it is shows what the loop costs, and at the socket what sending costs without an edit.",
		},
	}
	for _, c := range rows {
		q.Contenders = append(q.Contenders, harness.Contender{Name: c.name, Kind: c.kind, Version: c.version, Measure: c.measure})
	}
	q.Contenders = append(q.Contenders, recorded...)
	return q
}
