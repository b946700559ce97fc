package ferry_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"example.com/ferry"
)

// printer is a Sender that prints.
type printer struct{}

func (printer) Send(_ context.Context, m ferry.Message) error {
	fmt.Printf("%s %s %s\n", m.Tag, m.Type, m.Payload)
	return nil
}

// HandlerFunc makes a function a Handler. The function receives one message and may send others.
func ExampleHandlerFunc() {
	alert := ferry.HandlerFunc(func(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
		return out.Send(ctx, ferry.Message{Tag: strings.Replace(in.Tag, "sensors", "alerts", 1), Type: in.Type, Payload: in.Payload})
	})
	in := ferry.Message{Tag: "sensors/pump-1", Type: ferry.JSON, Payload: []byte(`{"value":93}`)}
	fmt.Println(alert.Handle(context.Background(), &in, printer{}))
	// Output:
	// alerts/pump-1 json {"value":93}
	// <nil>
}

// total is a BatchHandler that counts its calls and adds up the bytes of all payloads.
type total struct{ batches, bytes int }

func (t *total) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	return t.HandleBatch(ctx, []ferry.Message{*in}, out)
}

func (t *total) HandleBatch(_ context.Context, in []ferry.Message, _ ferry.Sender) error {
	t.batches++
	for i := range in {
		t.bytes += len(in[i].Payload)
	}
	return nil
}

// A BatchHandler receives all waiting messages in one call. So a cost such as a commit occurs once for all of them.
func ExampleBatchHandler() {
	var h ferry.BatchHandler = &total{}
	waiting := []ferry.Message{{Payload: []byte("one")}, {Payload: []byte("two")}, {Payload: []byte("three")}}
	err := h.HandleBatch(context.Background(), waiting, printer{})
	fmt.Println(*h.(*total), err)
	// Output: {1 11} <nil>
}

// A Payload is valid until Handle returns. Clone returns a message with a copy of the Payload.
func ExampleMessage_Clone() {
	buffer := []byte("21.5")
	m := ferry.Message{Tag: "sensors/pump-1", Payload: buffer}
	kept := m.Clone()
	copy(buffer, "99.9") // the buffer is reused for the next message
	fmt.Printf("%s %s\n", m.Payload, kept.Payload)
	// Output: 99.9 21.5
}

// shared is memory with a reference count.
type shared struct{ references int }

func (s *shared) Retain() { s.references++ }

func (s *shared) Release() { s.references-- }

// Detach keeps a Payload valid until Release, without a copy.
func ExampleMessage_Detach() {
	memory := &shared{references: 1}
	m := ferry.Message{Payload: []byte("21.5")}.Borrowed(memory)
	kept := m.Detach()
	memory.Release() // Handle has returned, so its reference is released
	fmt.Println(memory.references, string(kept.Payload))
	kept.Release()
	fmt.Println(memory.references)
	// Output:
	// 1 21.5
	// 0
}

// The names of the types are those on the command line.
func ExampleParseType() {
	t, err := ferry.ParseType("cbor")
	fmt.Println(t, uint8(t), err)
	_, err = ferry.ParseType("xml")
	fmt.Println(err)
	// Output:
	// cbor 3 <nil>
	// ferry: unknown type "xml": want one of [raw y3 y3n cbor json protobuf bson msgpack]
}

// A BatchHandler returns a BatchError if only some of the messages have failed. The others are done.
func ExampleBatchError() {
	in := []ferry.Message{{Payload: []byte("1")}, {Payload: []byte("x")}, {Payload: []byte("3")}}
	failed := ferry.BatchError{}
	for i, m := range in {
		if _, err := strconv.Atoi(string(m.Payload)); err != nil {
			failed[i] = err
		}
	}
	fmt.Println(failed)
	fmt.Println(errors.Is(failed, strconv.ErrSyntax))
	// Output:
	// message 1 of the batch: strconv.Atoi: parsing "x": invalid syntax
	// true
}
