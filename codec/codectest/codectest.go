package codectest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"example.com/ferry/codec"
)

// Run tests that c keeps the contract of codec.Codec. It encodes each of values, and decodes the encoding into a new
// variable of the same type. The result must be deeply equal to the original.
func Run(t *testing.T, c codec.Codec, values ...any) {
	t.Helper()
	if len(values) == 0 {
		t.Fatal("codectest: no values given")
	}
	if c.Name() == "" {
		t.Error("Name is empty")
	}
	checkYearsRefused(t, c)
	checkChannelsRefused(t, c)
	for i, v := range values {
		checkType(t, c, v)
		t.Run(fmt.Sprintf("%d_%T", i, v), func(t *testing.T) {
			data, err := c.Marshal(v)
			if err != nil {
				t.Fatalf("Marshal(%+v): %v", v, err)
			}
			checkRoundTrip(t, c, v, data)
			checkAppend(t, c, v, data)
			checkConcurrentUse(t, c, v, data)
			checkDamagedInput(t, c, v, data)
			checkTargetsRefused(t, c, data)
		})
	}
}

// checkChannelsRefused asks for types that no codec can carry.
func checkChannelsRefused(t *testing.T, c codec.Codec) {
	t.Helper()
	if _, ok := c.(codec.Checker); !ok {
		return
	}
	for _, bad := range []reflect.Type{reflect.TypeFor[chan int](), reflect.TypeFor[*struct {
		F func() `json:"f" y3:"0x10"`
	}](), nil} {
		if err := codec.CheckType(c, bad); err == nil {
			t.Errorf("CheckType accepts %v", bad)
		}
	}
}

// checkType asks for the type of a value that the codec can carry.
func checkType(t *testing.T, c codec.Codec, v any) {
	t.Helper()
	if err := codec.CheckType(c, reflect.TypeOf(v)); err != nil {
		t.Errorf("CheckType of a value that can be carried: %v", err)
	}
	if err := codec.CheckType(c, reflect.PointerTo(reflect.TypeOf(v))); err != nil {
		t.Errorf("CheckType of a pointer to a value that can be carried: %v", err)
	}
}

// checkRoundTrip decodes a copy of data, and overwrites the copy before it compares the result. A codec that keeps a
// reference to its input fails this test.
func checkRoundTrip(t *testing.T, c codec.Codec, v any, data []byte) {
	t.Helper()
	scratch := bytes.Clone(data)
	got := reflect.New(reflect.TypeOf(v))
	if err := c.Unmarshal(scratch, got.Interface()); err != nil {
		t.Fatalf("Unmarshal(% x): %v", data, err)
	}
	if !bytes.Equal(scratch, data) {
		t.Errorf("Unmarshal changed its input: got % x, want % x", scratch, data)
	}
	for i := range scratch {
		scratch[i] = 0xA5
	}
	if !reflect.DeepEqual(got.Elem().Interface(), v) {
		t.Errorf("round trip: got %+v, want %+v", got.Elem().Interface(), v)
	}
}

func checkAppend(t *testing.T, c codec.Codec, v any, data []byte) {
	t.Helper()
	prefix := []byte("prefix")
	got, err := codec.Append(c, bytes.Clone(prefix), v)
	if err != nil {
		t.Fatalf("Append: %v", err)
	}
	if want := append(bytes.Clone(prefix), data...); !bytes.Equal(got, want) {
		t.Errorf("Append: got % x, want % x", got, want)
	}
	if got, err = codec.Append(c, bytes.Clone(prefix), make(chan int)); err == nil {
		t.Errorf("Append of a channel was accepted: % x", got)
	} else if !bytes.Equal(got, prefix) {
		t.Errorf("Append of a channel left % x behind, want % x", got, prefix)
	}
}

func checkConcurrentUse(t *testing.T, c codec.Codec, v any, data []byte) {
	t.Helper()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 16 {
				got := reflect.New(reflect.TypeOf(v))
				if err := c.Unmarshal(data, got.Interface()); err != nil || !reflect.DeepEqual(got.Elem().Interface(), v) {
					t.Errorf("in parallel: got %+v, %v, want %+v", got.Elem().Interface(), err, v)
				}
				if again, err := c.Marshal(v); err != nil || len(again) != len(data) {
					t.Errorf("Marshal in parallel: got % x, %v, want % x", again, err, data)
				}
			}
		})
	}
	wg.Wait()
}

// checkDamagedInput decodes data cut at each byte, and data with random changes. Both an error and a value are correct, because
// damaged data may be valid. Only a panic is a failure.
func checkDamagedInput(t *testing.T, c codec.Codec, v any, data []byte) {
	t.Helper()
	try := func(broken []byte) {
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("Unmarshal(% x) panicked: %v", broken, r)
			}
		}()
		_ = c.Unmarshal(broken, reflect.New(reflect.TypeOf(v)).Interface()) // only a panic fails the test
	}
	for n := range data {
		try(bytes.Clone(data[:n]))
	}
	if len(data) == 0 {
		return
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		broken := bytes.Clone(data)
		for range 1 + r.IntN(3) {
			broken[r.IntN(len(broken))] = byte(r.Uint32())
		}
		try(broken)
	}
}

// checkYearsRefused encodes times with years that RFC 3339 cannot write, and expects errors.
func checkYearsRefused(t *testing.T, c codec.Codec) {
	t.Helper()
	for _, year := range []int{-1, 10_000} {
		v := struct {
			At any `json:"at" y3:"0x10"`
		}{time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)}
		if data, err := c.Marshal(v); err == nil {
			t.Errorf("Marshal of a time in the year %d was accepted: % x", year, data)
		}
	}
}

func checkTargetsRefused(t *testing.T, c codec.Codec, data []byte) {
	t.Helper()
	targets := []struct {
		name string
		v    any
	}{
		{"nil", nil}, {"a nil pointer", (*int)(nil)}, {"a value that is no pointer", 1}, {"a pointer to a channel", new(chan int)},
	}
	for _, target := range targets {
		if err := c.Unmarshal(data, target.v); err == nil {
			t.Errorf("Unmarshal into %s was accepted", target.name)
		}
	}
}
