package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/fxamacker/cbor/v2"
)

// value is one of the seed's seven values: as JSON text, as the bytes of a Y3 primitive, and as Go value for CBOR.
type value struct {
	json string
	y3   string
	cbor any
}

// values are taken in turn, as the seed's generator does.
var values = []value{
	{`"a"`, "a", "a"},
	{"-65", "\xff\x3f", -65},
	{"128", "\x81\x00", 128},
	{"-1", "\x7f", -1},
	{"18446744073709551615", "\x7f", uint64(1<<64 - 1)},
	{"0.25", "\x3e\x80", float32(0.25)},
	{"23", "\x40\x37", 23.0},
}

// valueOf returns the value that key, counted from 1, has in each message.
func valueOf(key int) value { return values[(key-1)%len(values)] }

// docs are the same messages in each encoding. There is one of them, or shuffledDocs.
type docs struct {
	y3, json, cbor [][]byte
}

// shuffledDocs is how many messages with keys in different order take turns. It is a power of two.
const shuffledDocs = 2048

// workload is one case: messages of count keys, of which one is looked for.
type workload struct {
	docs
	key     int // counted from 1
	present bool
}

func (w workload) name() string { return "k" + strconv.Itoa(w.key) }

// y3Path is the field's path in Y3: below the one node with key 0. Y3's keys end at 0x3f, so the absent key of a message
// with all 63 is key 0.
func (w workload) y3Path() string { return fmt.Sprintf("0x00.0x%02x", w.y3Key()) }

func (w workload) y3Key() byte { return byte(w.key & 0x3f) }

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

var workloads = makeWorkloads()

func makeWorkloads() map[string]workload {
	rng := rand.New(rand.NewPCG(1, 2))
	mixed := docs{}
	for range shuffledDocs {
		order := rng.Perm(63)
		for i := range order {
			order[i]++
		}
		mixed.add(order)
	}
	return map[string]workload{
		c63:      {ordered(63), 32, true},
		c32:      {ordered(32), 16, true},
		c16:      {ordered(16), 8, true},
		c03:      {ordered(3), 2, true},
		shuffled: {mixed, 32, true},
		absent:   {ordered(63), 64, false},
	}
}

func ordered(count int) docs {
	var order []int
	for key := 1; key <= count; key++ {
		order = append(order, key)
	}
	var d docs
	d.add(order)
	return d
}

// add makes one message with the keys in the given order.
func (d *docs) add(order []int) {
	d.y3 = append(d.y3, encodeY3(order))
	d.json = append(d.json, encodeJSON(order))
	d.cbor = append(d.cbor, encodeCBOR(order))
}

// encodeY3 writes 80 L {key L value}, as the seed's packets are. A length of 64 or more takes two bytes.
func encodeY3(order []int) []byte {
	var body []byte
	for _, key := range order {
		v := valueOf(key).y3
		body = append(append(body, byte(key), byte(len(v))), v...)
	}
	head := []byte{0x80, byte(len(body))}
	if len(body) >= 64 {
		head = []byte{0x80, 0x80 | byte(len(body)>>7), byte(len(body) & 0x7f)}
	}
	return append(head, body...)
}

func encodeJSON(order []int) []byte {
	var b bytes.Buffer
	for i, key := range order {
		b.WriteByte("{,"[min(i, 1)])
		fmt.Fprintf(&b, `"k%d":%s`, key, valueOf(key).json)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// encodeCBOR writes a map with text keys.
func encodeCBOR(order []int) []byte {
	head := []byte{0xa0 | byte(len(order))} // RFC 8949, section 3: fewer than 24 entries
	if len(order) >= 24 {
		head = []byte{0xb8, byte(len(order))}
	}
	for _, key := range order {
		head = append(head, mustCBOR("k"+strconv.Itoa(key))...)
		head = append(head, mustCBOR(valueOf(key).cbor)...)
	}
	return head
}

func mustCBOR(v any) []byte {
	b, err := cbor.Marshal(v)
	if err != nil {
		panic(err) // a constant of this file cannot be encoded
	}
	return b
}

// checkSizes compares the messages with those that the recorded figures were taken with.
func checkSizes() error {
	want := map[string][2]int{c63: {228, 766}, c32: {117, 375}, c16: {59, 184}, c03: {13, 28}}
	for name, size := range want {
		w := workloads[name]
		if got := [2]int{len(w.y3[0]), len(w.json[0])}; got != size {
			return fmt.Errorf("%s: Y3 and JSON take %v bytes, want %v", name, got, size)
		}
		if !json.Valid(w.json[0]) {
			return fmt.Errorf("%s: not JSON: %s", name, w.json[0])
		}
	}
	return nil
}
