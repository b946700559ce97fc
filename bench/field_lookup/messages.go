package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// value is one of the seed's seven values.
type value struct {
	json string // as JSON text; the other encodings are in encodings.go
	y3   string // the bytes of a Y3 primitive
	any  any    // as Go value, of the width that formats with widths use
}

// The fields of a message use these values in turn, as in the seed's generator.
var values = []value{
	{`"a"`, "a", "a"},
	{"-65", "\xff\x3f", int32(-65)},
	{"128", "\x81\x00", int32(128)},
	{"-1", "\x7f", int32(-1)},
	{"18446744073709551615", "\x7f", uint64(1<<64 - 1)},
	{"0.25", "\x3e\x80", float32(0.25)},
	{"23", "\x40\x37", 23.0},
}

// valueOf returns the value of a key. A key has the same value in each message. Keys count from 1.
func valueOf(key int) value { return values[(key-1)%len(values)] }

// shuffledDocs is how many messages with keys in different order take turns. It is a power of two.
const shuffledDocs = 2048

// workload is one case: messages with a number of keys, and the key to look up.
type workload struct {
	orders  [][]int // the keys of each message in their order; a power of two of them
	key     int     // counted from 1
	present bool
}

// docs are the messages in one encoding.
func (w workload) docs(e *encoding) [][]byte {
	var all [][]byte
	for _, order := range w.orders {
		all = append(all, e.encode(order))
	}
	return all
}

// textKey is the name of a key in the formats that have names.
func textKey(key int) string { return "k" + strconv.Itoa(key) }

// The cases, by name. The seed calls a message of 63 keys of which the 32nd is looked for C63-K32.
const (
	c63      = "C63-K32"
	c32      = "C32-K16"
	c16      = "C16-K08"
	c03      = "C03-K02"
	shuffled = "C63-K32 shuffled"
	absent   = "C63 absent"
)

var cases = []string{c63, c32, c16, c03, shuffled, absent}

// Further cases, with the messages of one of the above.
const (
	cold      = c63 + " cold"              // the messages take more memory than any cache
	four      = "C63 four fields"          // one lookup of all fourKeys; ferry finds them in one pass
	validated = c63 + " validated"         // the whole message is validated and then looked into
	both      = c63 + " in a loop with Y3" // the seed's cpu_pprof: one loop that looks up in Y3 and then in the other encoding
)

// fourKeys are looked up together in one message. The last of them is the key of the case C63-K32.
var fourKeys = [4]int{8, 16, 24, 32}

// coldBytes is the least memory of the cold messages. Tests set a smaller value.
var coldBytes = 256 << 20

var workloads = map[string]workload{
	c63:      {ordered(63), 32, true},
	c32:      {ordered(32), 16, true},
	c16:      {ordered(16), 8, true},
	c03:      {ordered(3), 2, true},
	shuffled: {random(63), 32, true},
	absent:   {ordered(63), 64, false},
}

func ordered(count int) [][]int {
	var order []int
	for key := 1; key <= count; key++ {
		order = append(order, key)
	}
	return [][]int{order}
}

func random(count int) (orders [][]int) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range shuffledDocs {
		order := rng.Perm(count)
		for i := range order {
			order[i]++
		}
		orders = append(orders, order)
	}
	return orders
}

// coldDocs are copies of one message in one piece of memory; their number is a power of two.
func coldDocs(doc []byte) [][]byte {
	count := 1
	for count*len(doc) < coldBytes {
		count *= 2
	}
	arena := bytes.Repeat(doc, count)
	all := make([][]byte, count)
	for i := range all {
		all[i] = arena[i*len(doc) : (i+1)*len(doc)]
	}
	return all
}

// checkSizes compares the sizes of the messages with those of the recorded figures.
func checkSizes() error {
	want := map[string]map[*encoding]int{
		c63: {&inY3: 228, &inJSON: 766, &inCBOR: 515, &inIntCBOR: 375, &inProtobuf: 372},
		c32: {&inY3: 117, &inJSON: 375, &inCBOR: 248, &inIntCBOR: 170, &inProtobuf: 172},
		c16: {&inY3: 59, &inJSON: 184, &inCBOR: 120, &inIntCBOR: 81, &inProtobuf: 79},
		c03: {&inY3: 13, &inJSON: 28, &inCBOR: 16, &inIntCBOR: 10, &inProtobuf: 9},
	}
	for name, sizes := range want {
		for e, size := range sizes {
			if got := len(workloads[name].docs(e)[0]); got != size {
				return fmt.Errorf("%s: %s takes %d bytes, want %d", name, e.name, got, size)
			}
		}
		if doc := workloads[name].docs(&inJSON)[0]; !json.Valid(doc) {
			return fmt.Errorf("%s: not JSON: %s", name, doc)
		}
	}
	return nil
}
