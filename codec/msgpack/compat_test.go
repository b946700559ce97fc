package msgpack_test

import (
	"encoding/hex"
	"errors"
	"math"
	"net/netip"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"

	"example.com/ferry/codec/msgpack"
)

// written lists values with their encodings by vmihailenco/msgpack v5.4.1, which this package used before. The library
// used compact integers, sorted keys and json tags.
var written = []struct {
	v    any
	data string
}{
	{reading{Name: "noise", Value: 31.5, Raw: []byte{0, 255}, Labels: map[string]int{"hall": 4}, Level: -128}, "85a46e616d65a56e6f697365a576616c7565cb403f800000000000a3726177c40200ffa66c6162656c7381a468616c6c04a26c76d080"},
	{reading{}, "83a46e616d65a0a576616c7565cb0000000000000000a26c7600"},
	{nested{base: base{Small: 255}, In: &reading{Name: "x"}, Each: []uint16{65535}, Keyed: map[int8]string{-128: "least"}, When: time.Unix(1, 0)}, "85a5736d616c6cccffa2696e83a46e616d65a178a576616c7565cb0000000000000000a26c7600a46561636891cdffffa56b6579656481d080a56c65617374a47768656ed6ff00000001"},
	{[]int{0, 127, 128, 255, 256, 65535, 65536, math.MaxInt32, -1, -32, -33, -128, -129, -32768, -32769, math.MinInt32}, "dc0010007fcc80ccffcd0100cdffffce00010000ce7fffffffffe0d0dfd080d1ff7fd18000d2ffff7fffd280000000"},
	{[]int64{math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, math.MinInt32 - 1, math.MinInt64}, "95ceffffffffcf0000000100000000cf7fffffffffffffffd3ffffffff7fffffffd38000000000000000"},
	{[]any{uint64(math.MaxUint64), float32(1.5), 1.5, true, false, nil, "text", []byte{1}, [2]uint8{3, 4}, [1]int{5}}, "9acfffffffffffffffffca3fc00000cb3ff8000000000000c3c2c0a474657874c40101c40203049105"},
	{map[string]any{"b": 1, "a": map[string]bool{"z": true, "y": false}, "": []string{"p", "q"}}, "83a092a170a171a16182a179c2a17ac3a16201"},
	{[]time.Time{time.Unix(1, 0), time.Unix(1602168089, 665565200), time.Unix(1<<34, 1), time.Unix(-1, 5)}, "94d6ff00000001d7ff9eaee0405f7f2519c70cff000000010000000400000000c70cff00000005ffffffffffffffff"},
	{netip.MustParseAddr("127.0.0.1"), "c4047f000001"},
	{struct {
		T textual `json:"t"`
		D time.Duration
	}{"x", time.Second}, "82a174c4033c783ea144ce3b9aca00"},
	{struct{ P *int }{}, "81a150c0"},
}

// textual is a text type with its own encoding.
type textual string

func (t textual) MarshalText() ([]byte, error) { return []byte("<" + string(t) + ">"), nil }

// TestEncodingsOfOldLibrary expects the bytes that the old library wrote, because deployed readers expect them.
func TestEncodingsOfOldLibrary(t *testing.T) {
	for _, row := range written {
		if data, err := (msgpack.Codec{}).Marshal(row.v); err != nil || hex.EncodeToString(data) != row.data {
			t.Errorf("%+v: got %x, %v, want %s", row.v, data, err, row.data)
		}
	}
}

// TestFalseLengths decodes five bytes that announce 2^32-1 elements.
func TestFalseLengths(t *testing.T) {
	type large struct{ A [8]int64 }
	for _, text := range []string{"ddffffffff", "dfffffffff", "dbffffffff", "c6ffffffff", "c9ffffffff"} {
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []any{new(any), new([]int), new([]large), new(map[string]large), new([]byte), new(string)} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := msgpack.Codec{}.Unmarshal(data, v)
			runtime.ReadMemStats(&after)
			if err == nil || after.TotalAlloc-before.TotalAlloc > 1<<20 {
				t.Errorf("%s into %T: %d bytes were allocated, %v, want an error and no more than 1 MiB", text, v, after.TotalAlloc-before.TotalAlloc, err)
			}
		}
	}
}

// generated has the methods that msgp would generate.
type generated struct{ n int64 }

func (g *generated) MarshalMsg(b []byte) ([]byte, error) { return msgp.AppendInt64(b, g.n), nil }

func (g *generated) UnmarshalMsg(b []byte) ([]byte, error) {
	n, rest, err := msgp.ReadInt64Bytes(b)
	g.n = n
	return rest, err
}

func TestGeneratedMethods(t *testing.T) {
	want := []generated{{1}, {-500}}
	data, err := msgpack.Codec{}.Marshal(map[string]any{"each": want, "one": &want[1]})
	if err != nil || hex.EncodeToString(data) != "82"+"a465616368"+"9201d1fe0c"+"a36f6e65"+"d1fe0c" {
		t.Fatalf("got %x, %v", data, err)
	}
	var got struct {
		Each []generated `json:"each"`
		One  *generated  `json:"one"`
	}
	if err := (msgpack.Codec{}).Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got.Each, want) || *got.One != want[1] {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	var one generated
	if data, err = (msgpack.Codec{}).Marshal(&want[1]); err != nil {
		t.Fatal(err)
	}
	if err := (msgpack.Codec{}).Unmarshal(data, &one); err != nil || one != want[1] {
		t.Errorf("got %+v, %v, want %+v", one, err, want[1])
	}
	if data, err = (msgpack.Codec{}).Marshal((*generated)(nil)); err != nil || hex.EncodeToString(data) != "c0" {
		t.Errorf("nil: got %x, %v, want c0", data, err)
	}
}

type panics struct{}

func (panics) MarshalText() ([]byte, error) { panic("in MarshalText") }

func (*panics) UnmarshalText([]byte) error { panic("in UnmarshalText") }

type fails struct{}

var errOwn = errors.New("own")

func (fails) MarshalText() ([]byte, error) { return nil, errOwn }

func (*fails) UnmarshalText([]byte) error { return errOwn }

func TestMethodsThatFail(t *testing.T) {
	if data, err := (msgpack.Codec{}).Marshal(panics{}); err == nil || data != nil {
		t.Errorf("got %x, %v, want an error", data, err)
	}
	if err := (msgpack.Codec{}).Unmarshal([]byte("\xa1x"), new(panics)); err == nil {
		t.Error("a panic in UnmarshalText was no error")
	}
	if _, err := (msgpack.Codec{}).Marshal([]fails{{}}); !errors.Is(err, errOwn) {
		t.Errorf("got %v, want %v", err, errOwn)
	}
	if err := (msgpack.Codec{}).Unmarshal([]byte("\xa1x"), new(fails)); !errors.Is(err, errOwn) {
		t.Errorf("got %v, want %v", err, errOwn)
	}
}

func TestRingOfPointers(t *testing.T) {
	type node struct{ Next *node }
	ring := &node{}
	ring.Next = ring
	if _, err := (msgpack.Codec{}).Marshal(ring); err == nil {
		t.Error("a ring of pointers was written")
	}
}
