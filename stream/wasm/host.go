package wasm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tetratelabs/wazero/api"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Bounds of what a guest can make the host keep or do.
const (
	maxPaths  = 1024     // that an instance registers
	maxPath   = 4 << 10  // bytes of one
	maxTag    = 64 << 10 // bytes of a tag that is sent; the node has a smaller bound
	maxKey    = 255      // bytes of a key
	maxSends  = 64 << 10 // messages that one call sends
	maxLine   = 1 << 10  // bytes of a line of the log, and of a failure
	maxLines  = 64       // that one call logs
	valueSize = 16       // bytes of a value as lookup writes it
)

// What host functions return in place of a length or a kind. docs/wasm.md.
const (
	refused    = -1 // path: it is not a path; lookup: the message cannot be read; send: it was not sent
	noFields   = -2 // lookup: messages of this type have no fields
	unlikeType = -3 // lookup: the field cannot be read as the type of the path
)

// path is a path that the guest has registered.
type path struct {
	field.Path
	as field.Type
}

// errNoMessage ends a guest that uses its message during initialization.
var errNoMessage = errors.New("it has no message during initialization")

// hostFunction is a function that guests import from the module ferry.
type hostFunction struct {
	name            string
	params, results []api.ValueType
	do              func(i *instance, stack []uint64)
}

const (
	i32 = api.ValueTypeI32
	i64 = api.ValueTypeI64
)

func hostFunctions() []hostFunction {
	one, long := []api.ValueType{i32}, []api.ValueType{i64}
	return []hostFunction{
		{"buffer", []api.ValueType{i32, i32}, nil, (*instance).hostBuffer},
		{"read", []api.ValueType{i32, i32, i32}, one, (*instance).hostRead},
		{"tag", []api.ValueType{i32, i32}, one, func(i *instance, s []uint64) { s[0] = i.copyOut(s, i.message().Tag) }},
		{"key", []api.ValueType{i32, i32}, one, func(i *instance, s []uint64) { s[0] = i.copyOut(s, string(i.message().Key)) }},
		{"time", nil, long, func(i *instance, s []uint64) { s[0] = uint64(i.message().Time) }},
		{"sequence", nil, long, func(i *instance, s []uint64) { s[0] = i.message().Sequence }},
		{"deliveries", nil, one, func(i *instance, s []uint64) { s[0] = uint64(i.message().Deliveries) }},
		{"path", []api.ValueType{i32, i32, i32}, one, (*instance).hostPath},
		{"lookup", []api.ValueType{i32, i32, i32, i32}, one, (*instance).hostLookup},
		{"send", []api.ValueType{i32, i32, i32, i32, i32, i32, i32, i64}, one, (*instance).hostSend},
		{"forward", []api.ValueType{i32, i32}, one, (*instance).hostForward},
		{"fail", []api.ValueType{i32, i32}, nil, (*instance).hostFail},
		{"log", []api.ValueType{i32, i32, i32}, nil, (*instance).hostLog},
	}
}

// exportHost makes the module ferry.
func (p *Pool) exportHost(ctx context.Context) error {
	b := p.runtime.NewHostModuleBuilder("ferry")
	for _, f := range hostFunctions() {
		b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			f.do(ctx.(*instance), stack)
		}), f.params, f.results).Export(f.name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		return fmt.Errorf("wasm: %w", err)
	}
	return nil
}

// message returns the message that is being handled.
func (i *instance) message() *ferry.Message {
	if i.in == nil {
		panic(errNoMessage)
	}
	return i.in
}

// region returns a part of the guest's memory. It ends the guest if the part is not within its memory.
func (i *instance) region(at, n uint64) []byte {
	b, ok := i.memory.Read(uint32(at), uint32(n))
	if !ok {
		panic(fmt.Errorf("%d bytes at %d are not within its memory", uint32(n), uint32(at)))
	}
	return b
}

// bounded is region for at most limit bytes.
func (i *instance) bounded(at, n uint64, limit int, what string) []byte {
	if uint64(uint32(n)) > uint64(limit) {
		panic(fmt.Errorf("a %s of %d bytes: at most %d", what, uint32(n), limit))
	}
	return i.region(at, n)
}

// result returns n as a result of a host function.
func result(n int) uint64 { return uint64(uint32(int32(n))) }

// copyOut copies text to s[0], at most s[1] bytes of it, and returns its length.
func (i *instance) copyOut(s []uint64, text string) uint64 {
	copy(i.region(s[0], s[1]), text)
	return result(len(text))
}

// hostBuffer: buffer(at, size).
func (i *instance) hostBuffer(s []uint64) {
	i.region(s[0], s[1])
	i.buffer, i.bufferSize = uint32(s[0]), uint32(s[1])
}

// hostRead: read(to, offset, size) -> bytes copied.
func (i *instance) hostRead(s []uint64) {
	payload := i.message().Payload
	from := min(uint64(uint32(s[1])), uint64(len(payload)))
	n := min(uint64(uint32(s[2])), uint64(len(payload))-from)
	s[0] = result(copy(i.region(s[0], n), payload[from:]))
}

// hostPath: path(text, size, type) -> number. The same path of the same type has the same number.
func (i *instance) hostPath(s []uint64) {
	text, as := string(i.bounded(s[0], s[1], maxPath, "path")), uint32(s[2])
	s[0] = result(refused)
	parsed, err := field.Parse(text)
	if err != nil || as > uint32(field.ByteString) {
		return
	}
	for number, known := range i.paths {
		if known.as == field.Type(as) && known.String() == parsed.String() {
			s[0] = result(number)
			return
		}
	}
	if len(i.paths) < maxPaths {
		i.paths = append(i.paths, path{parsed, field.Type(as)})
		s[0] = result(len(i.paths) - 1)
	}
}

// hostLookup: lookup(path, value, to, size) -> kind. It writes the value, and at most size bytes of its content.
func (i *instance) hostLookup(s []uint64) {
	in := i.message()
	if uint64(uint32(s[0])) >= uint64(len(i.paths)) {
		panic(fmt.Errorf("path %d, and it has %d", uint32(s[0]), len(i.paths)))
	}
	p := &i.paths[uint32(s[0])]
	f := i.pool.formats[in.Type]
	if f == nil {
		s[0] = result(noFields)
		return
	}
	kind, bits, content := lookup(f, in.Payload, p)
	value := i.region(s[1], valueSize)
	binary.LittleEndian.PutUint64(value, bits)
	binary.LittleEndian.PutUint32(value[8:], uint32(len(content)))
	binary.LittleEndian.PutUint32(value[12:], 0)
	if kind == kindUnsigned {
		kind = int(field.Int)
		value[12] = 1
	}
	if len(content) > 0 {
		copy(i.region(s[2], s[3]), content)
	}
	s[0] = result(kind)
}

// hostSend: send(tag, size, type, payload, size, key, size, time) -> 0, or refused.
func (i *instance) hostSend(s []uint64) {
	if uint32(s[2]) > 255 {
		panic(fmt.Errorf("payload type %d: want 0 to 255", uint32(s[2])))
	}
	m := ferry.Message{
		Tag: string(i.bounded(s[0], s[1], maxTag, "tag")), Type: ferry.Type(s[2]),
		Payload: i.bounded(s[3], s[4], i.pool.cfg.MaxMessage, "payload"), Key: i.bounded(s[5], s[6], maxKey, "key"), Time: int64(s[7]),
	}
	s[0] = i.send(m)
}

// hostForward: forward(tag, size) -> 0, or refused. It sends the message on another tag.
func (i *instance) hostForward(s []uint64) {
	in := i.message()
	s[0] = i.send(ferry.Message{Tag: string(i.bounded(s[0], s[1], maxTag, "tag")), Type: in.Type, Payload: in.Payload, Key: in.Key, Time: in.Time})
}

// send sends m. Time in which the Sender waits does not count for the guest.
func (i *instance) send(m ferry.Message) uint64 {
	i.message()
	if i.sent++; i.sent > maxSends {
		panic(fmt.Errorf("it sent %d messages in one call: at most %d", i.sent, maxSends))
	}
	if len(m.Key) == 0 {
		m.Key = nil
	}
	i.outside.Store(true)
	err := i.out.Send(i.ctx, m)
	i.outside.Store(false)
	if err == nil {
		return 0
	}
	if i.sendFailure == nil {
		i.sendFailure = err
	}
	return result(refused)
}

// hostFail: fail(text, size). The text is the error of the message if the call does not return 0.
func (i *instance) hostFail(s []uint64) {
	i.failure = append(i.failure[:0], i.line(s[0], s[1])...)
}

// hostLog: log(level, text, size).
func (i *instance) hostLog(s []uint64) {
	level := slog.Level(int32(uint32(s[0])))
	i.log(min(max(level, slog.LevelDebug), slog.LevelError), string(i.line(s[1], s[2])))
}

// line returns the first maxLine bytes of a text.
func (i *instance) line(at, n uint64) []byte {
	b := i.region(at, n)
	return b[:min(len(b), maxLine)]
}

// log writes a line, unless the call has written too many.
func (i *instance) log(level slog.Level, text string) {
	switch i.lines++; {
	case i.lines <= maxLines:
		i.pool.cfg.Log.Log(context.Background(), level, "function printed", "function", i.pool.cfg.Name, "text", text)
	case i.lines == maxLines+1:
		i.pool.cfg.Log.Warn("function printed too much: the rest of this call is left out", "function", i.pool.cfg.Name, "lines", maxLines)
	}
}

// kindUnsigned is the kind Int of a number above the largest int64.
const kindUnsigned = 256

// lookup returns kind, bits and content of a field. The content of a list, map or extension is the encoded item.
func lookup(f format.Format, data []byte, p *path) (kind int, bits uint64, content []byte) {
	span, err := f.Lookup(data, p.Path)
	if err != nil {
		if errors.Is(err, field.ErrNotFound) {
			return int(field.Missing), 0, nil
		}
		return refused, 0, nil
	}
	switch span.Kind {
	case field.List, field.Map, field.Extension:
		return int(span.Kind), 0, data[span.Head:span.End]
	}
	v, err := f.Value(data, span, p.as)
	if err != nil {
		return unlikeType, 0, nil
	}
	return valueOf(&v)
}
