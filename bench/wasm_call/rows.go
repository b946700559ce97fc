package main

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"example.com/ferry"
	"example.com/ferry/bench/internal/harness"
	fieldpath "example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
	"example.com/ferry/stream/wasm"
)

//go:generate npx --yes --package wabt@1 -- wat2wasm guests/payload.wat -o guests/payload.wasm
//go:generate npx --yes --package wabt@1 -- wat2wasm guests/field.wat -o guests/field.wasm

//go:embed guests/payload.wasm
var payloadGuest []byte

//go:embed guests/field.wasm
var fieldGuest []byte

// bufferAt is where the guest that hashes has its buffer.
const bufferAt = 65536

var errWrong = errors.New("wasm_call: the guest found another value than the message has")

// row is one way to call a guest.
type row struct {
	name    string
	kind    harness.Kind
	version string
	open    func(w workload) (call func(message []byte) error, end func(), err error)
}

var rows = []row{
	{ferryRow, harness.Ferry, "this commit", openFerry},
	{bareRow, harness.Peer, harness.Version("github.com/tetratelabs/wazero"), func(w workload) (func([]byte) error, func(), error) { return openWazero(w, false) }},
	{endableRow, harness.Peer, harness.Version("github.com/tetratelabs/wazero"), func(w workload) (func([]byte) error, func(), error) { return openWazero(w, true) }},
	{nativeRow, harness.Limit, runtime.Version(), openNative},
}

// message returns a message of the workload whose hash, or field, is right.
func (w workload) message() []byte {
	if w.kind == field {
		b := append(make([]byte, 0, w.size), `{"value":42,"rest":"`...)
		for len(b) < w.size-2 {
			b = append(b, 'x')
		}
		return append(b, `"}`...)
	}
	b := make([]byte, w.size)
	for i := range b {
		b[i] = byte(i * 7)
	}
	binary.LittleEndian.PutUint32(b, hash(b[4:]))
	return b
}

// spoil makes the hash, or the field, of a message wrong.
func (w workload) spoil(message []byte) {
	if w.kind == field {
		message[len(`{"value":`)] = '9'
	} else {
		message[0]++
	}
}

func hash(b []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

func (w workload) guest() []byte {
	if w.kind == field {
		return fieldGuest
	}
	return payloadGuest
}

func (w workload) payloadType() ferry.Type {
	if w.kind == field {
		return ferry.JSON
	}
	return ferry.Raw
}

// discard is a Sender.
type discard struct{}

func (discard) Send(context.Context, ferry.Message) error { return nil }

func openFerry(w workload) (func([]byte) error, func(), error) {
	ctx := context.Background()
	pool, err := wasm.Start(ctx, w.guest(), wasm.Config{Formats: []format.Format{json.Format{}}})
	if err != nil {
		return nil, nil, err
	}
	in, out := ferry.Message{Tag: "in", Type: w.payloadType()}, discard{}
	call := func(message []byte) error {
		in.Payload = message
		return pool.Handle(ctx, &in, out)
	}
	return call, func() { _ = pool.Close() }, nil
}

func openNative(w workload) (func([]byte) error, func(), error) {
	p := fieldpath.MustParse("value")
	call := func(message []byte) error {
		if hash(message[4:]) != binary.LittleEndian.Uint32(message) {
			return errWrong
		}
		return nil
	}
	if w.kind == field {
		call = func(message []byte) error {
			if v, err := value(message, p); err != nil || v != 42 {
				return errWrong
			}
			return nil
		}
	}
	return call, func() {}, nil
}

// value reads an integer.
func value(message []byte, p fieldpath.Path) (int64, error) {
	f := json.Format{}
	span, err := f.Lookup(message, p)
	if err != nil {
		return 0, err
	}
	v, err := f.Value(message, span, fieldpath.AnyType)
	return v.Int, err
}

// openWazero calls the guest without ferry. endable is WithCloseOnContextDone.
func openWazero(w workload, endable bool) (func([]byte) error, func(), error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(endable))
	end := func() {
		_ = r.Close(context.Background())
		cancel()
	}
	p := fieldpath.MustParse("value")
	var memory api.Memory
	var current []byte
	i32 := api.ValueTypeI32
	b := r.NewHostModuleBuilder("ferry")
	b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), []api.ValueType{i32, i32}, nil).Export("buffer")
	b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, s []uint64) { s[0] = 0 }), []api.ValueType{i32, i32, i32}, []api.ValueType{i32}).Export("path")
	b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, s []uint64) {
		v, _ := value(current, p)
		memory.WriteUint64Le(uint32(s[1]), uint64(v))
		s[0] = uint64(fieldpath.Int)
	}), []api.ValueType{i32, i32, i32, i32}, []api.ValueType{i32}).Export("lookup")
	_, err := b.Instantiate(ctx)
	var m api.Module
	if err == nil {
		m, err = r.Instantiate(ctx, w.guest())
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	memory = m.Memory()
	f, stack := m.ExportedFunction("ferry_handle"), make([]uint64, 2)
	copies := w.kind == payload
	return func(message []byte) error {
		current = message
		if copies {
			memory.Write(bufferAt, message)
		}
		stack[0], stack[1] = uint64(len(message)), uint64(w.payloadType())
		if err := f.CallWithStack(ctx, stack); err != nil {
			return err
		}
		if stack[0] != 0 {
			return errWrong
		}
		return nil
	}, end, nil
}

// check calls each row with a right message and a wrong one.
func check() error {
	cases, order := workloads()
	reference := fnv.New32a()
	_, _ = reference.Write([]byte("ferry"))
	if reference.Sum32() != hash([]byte("ferry")) {
		return errors.New("wasm_call: the hash is not FNV-1a")
	}
	for _, r := range rows {
		for _, name := range order {
			w := cases[name]
			call, end, err := r.open(w)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", r.name, name, err)
			}
			message := w.message()
			right := call(message)
			w.spoil(message)
			wrong := call(message)
			end()
			if right != nil {
				return fmt.Errorf("%s, %s: a right message: %w", r.name, name, right)
			}
			if wrong == nil {
				return fmt.Errorf("%s, %s: a wrong message gives no error", r.name, name)
			}
		}
	}
	return nil
}
