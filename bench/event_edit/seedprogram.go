package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/bench/internal/events"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
)

// The seed is the original benchmark that this one repeats, a program of 2019. The seed program below does
// the same with ferry: it edits the ID of one event many times, and prints the statistics of Go's runtime before and after.
type program struct {
	edits int
	size  string
	way   string
}

var programSizes = map[string]int{"small": events.Small, "medium": events.Medium, "large": events.Large}

// The ways to edit. The ID of the first two is the seed's: Something New and the number of the edit.
const (
	wayParts = "parts" // another length, in parts for writev
	wayCopy  = "copy"  // another length, copied into one buffer
	waySame  = "same"  // the same length, in place
)

func programFlags() *program {
	p := new(program)
	flag.IntVar(&p.edits, "n", 0, "edit one event so many times, print the runtime's statistics before and after, and ask nothing else")
	flag.StringVar(&p.size, "size", "large", "with -n: the event: small, medium or large")
	flag.StringVar(&p.way, "edit", wayParts, "with -n: parts gives an ID of another length, the event in parts for writev; copy copies the event into one buffer; same gives an ID of the same length, in place")
	return p
}

func (p *program) run(out io.Writer) error {
	size, ok := programSizes[p.size]
	if !ok {
		return fmt.Errorf("-size %s: want one of %s", p.size, strings.Join(slices.Sorted(maps.Keys(programSizes)), ", "))
	}
	if p.edits < 0 {
		return fmt.Errorf("-n %d: want how many times to edit", p.edits)
	}
	event := events.Binary(size)
	doc := events.CBOR(event)
	edit, err := p.editor(doc)
	if err != nil {
		return err
	}

	print := func(format string, a ...any) { fmt.Fprintf(out, format+"\n", a...) }
	print("System statistics before executing tests:")
	printStatistics(out)
	print("Starting test....")
	start := time.Now()
	var last message
	for i := range p.edits {
		if last, err = edit(i); err != nil {
			return fmt.Errorf("edit %d: %w", i, err)
		}
	}
	took := time.Since(start)
	print("Execution took: %.1f ns on average to process %d iterations with an Event of %d bytes containing a reading of %d bytes",
		float64(took.Nanoseconds())/float64(p.edits), p.edits, len(doc), size)
	print("System statistics after executing tests:")
	printStatistics(out)

	event.ID = string(p.appendID(nil, p.edits-1))
	if !bytes.Equal(bytes.Join(last, nil), events.CBOR(event)) {
		return errors.New("the last event is not the one expected: ferry is wrong, and the figures worth nothing")
	}
	print("Checked: the last event has the ID %s and all %d bytes of its reading, byte for byte.", event.ID, size)
	return nil
}

// appendID appends the new ID of edit number i.
func (p *program) appendID(dst []byte, i int) []byte {
	if p.way != waySame {
		return strconv.AppendInt(append(dst, "Something New"...), int64(i), 10)
	}
	dst = append(dst, "d5471d59-2810-419a-8744-000000000000"...)
	for at := len(dst) - 1; i > 0; at, i = at-1, i/10 {
		dst[at] = byte('0' + i%10)
	}
	return dst
}

// editor returns the function that makes edit number i of doc.
func (p *program) editor(doc []byte) (func(i int) (message, error), error) {
	path, id, out := field.MustParse("id"), make([]byte, 0, 64), make(message, 1, 4)
	value := func(i int) field.Value {
		id = p.appendID(id[:0], i)
		return field.Value{Kind: field.Text, Bytes: id}
	}
	var f editor = cbor.Format{}
	switch p.way {
	case waySame:
		return func(i int) (message, error) {
			done, err := f.PatchInPlace(doc, path, value(i))
			if err == nil && !done {
				err = errMoved
			}
			out[0] = doc
			return out, err
		}, nil
	case wayCopy:
		dst := make([]byte, 0, len(doc)+64)
		return func(i int) (message, error) {
			var err error
			out[0], err = f.Patch(dst, doc, path, value(i))
			return out, err
		}, nil
	case wayParts:
		edit := new(format.Edit)
		return func(i int) (message, error) {
			if err := f.Replace(edit, doc, path, value(i)); err != nil {
				return nil, err
			}
			return edit.Buffers(out[:0]), nil
		}, nil
	}
	return nil, fmt.Errorf("-edit %s: want parts, copy or same", p.way)
}

// printStatistics prints the same figures as the original program, in the same order and units.
func printStatistics(out io.Writer) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	line := strings.Repeat("-", 60)
	fmt.Fprintf(out, "%s\nAllocated Memory: %d\nTotal Memory: %d\nSystem Memory: %d\nMemory Allocations: %d\nMemory Frees: %d\nHeap Objects: %d\nGC runs: %d\nGC Stop the world time: %dms\n%s\n",
		line, m.Alloc, m.TotalAlloc, m.Sys, m.Mallocs, m.Frees, m.HeapObjects, m.NumGC, time.Duration(m.PauseTotalNs).Milliseconds(), line)
}
