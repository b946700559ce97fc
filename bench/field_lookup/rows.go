package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"time"
	"unsafe"

	"github.com/buger/jsonparser"
	"github.com/bytedance/sonic"
	"github.com/fxamacker/cbor/v2"
	"github.com/tidwall/gjson"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// finder is a contender prepared for one workload.
type finder struct {
	docs [][]byte

	// find returns the encoded value in one message, as text where the message is JSON; nil where there is none.
	find func(doc []byte) []byte

	// op looks the value up in one message after the other.
	op harness.Op
}

// contender is a row and how it is prepared.
type contender struct {
	name    string
	kind    harness.Kind
	version string
	want    func(v value) []byte // what find has to return for a value
	prepare func(w workload) finder
}

func wantY3(v value) []byte   { return []byte(v.y3) }
func wantJSON(v value) []byte { return []byte(v.json) }
func wantCBOR(v value) []byte { return mustCBOR(v.cbor) }

// Ferry's spans hold the content: text without its quotes or its length.
func contentJSON(v value) []byte { return bytes.Trim([]byte(v.json), `"`) }

func contentCBOR(v value) []byte {
	if text, ok := v.cbor.(string); ok {
		return []byte(text)
	}
	return mustCBOR(v.cbor)
}

// ferryRow looks up through the interface, with a path parsed at run time. It is not inlined, so that the compiler cannot
// see through the interface.
//
//go:noinline
func ferryRow(name string, f format.Format, docs func(workload) [][]byte, path func(workload) string, want func(value) []byte) contender {
	return contender{name, harness.Ferry, "this commit", want, func(w workload) finder {
		p, all := field.MustParse(path(w)), docs(w)
		return finder{
			all,
			func(doc []byte) []byte {
				span, err := f.Lookup(doc, p)
				if err != nil {
					return nil
				}
				return doc[span.Off:span.End]
			},
			func(n int) {
				sum, mask := 0, len(all)-1
				for i := range n {
					span, _ := f.Lookup(all[i&mask], p)
					sum += span.Off
				}
				runtime.KeepAlive(sum)
			},
		}
	}}
}

func y3Docs(w workload) [][]byte   { return w.y3 }
func jsonDocs(w workload) [][]byte { return w.json }
func cborDocs(w workload) [][]byte { return w.cbor }

// scanRow is a scan that gives where the value lies.
func scanRow(name string, scan func(data []byte, key byte) (off, end int, ok bool)) contender {
	return contender{name, harness.Limit, "hand-written", wantY3, func(w workload) finder {
		all, key := w.y3, w.y3Key()
		return finder{
			all,
			func(doc []byte) []byte {
				off, end, ok := scan(doc, key)
				if !ok {
					return nil
				}
				return doc[off:end]
			},
			func(n int) {
				sum, mask := 0, len(all)-1
				for i := range n {
					off, _, _ := scan(all[i&mask], key)
					sum += off
				}
				runtime.KeepAlive(sum)
			},
		}
	}}
}

// peer makes a row of a function that returns the encoded value, or nil.
func peer(name, version string, docs func(workload) [][]byte, want func(value) []byte, find func(doc []byte, key string) []byte) contender {
	return contender{name, harness.Peer, version, want, func(w workload) finder {
		all, key := docs(w), w.name()
		return finder{
			all,
			func(doc []byte) []byte { return find(doc, key) },
			func(n int) {
				sum, mask := 0, len(all)-1
				for i := range n {
					sum += len(find(all[i&mask], key))
				}
				runtime.KeepAlive(sum)
			},
		}
	}}
}

// The peers do no more than they have to: those that can stop at the hit, do.
var peers = []contender{
	peer("gjson", harness.Version("github.com/tidwall/gjson"), jsonDocs, wantJSON, func(doc []byte, key string) []byte {
		r := gjson.GetBytes(doc, key)
		if !r.Exists() {
			return nil
		}
		return doc[r.Index : r.Index+len(r.Raw)]
	}),
	peer("sonic.Get", harness.Version("github.com/bytedance/sonic"), jsonDocs, wantJSON, func(doc []byte, key string) []byte {
		node, err := sonic.Get(doc, key)
		if err != nil {
			return nil
		}
		raw, err := node.Raw()
		if err != nil {
			return nil
		}
		return unsafe.Slice(unsafe.StringData(raw), len(raw)) // no copy: it is only read
	}),
	peer("jsonparser", harness.Version("github.com/buger/jsonparser"), jsonDocs, wantJSON, func(doc []byte, key string) []byte {
		v, kind, end, err := jsonparser.Get(doc, key)
		if err != nil {
			return nil
		}
		if kind == jsonparser.String {
			return doc[end-len(v)-2 : end] // with its quotes
		}
		return v
	}),
	peer("fxamacker map[string]RawMessage", harness.Version("github.com/fxamacker/cbor/v2"), cborDocs, wantCBOR, func(doc []byte, key string) []byte {
		var m map[string]cbor.RawMessage
		if cbor.Unmarshal(doc, &m) != nil {
			return nil
		}
		return m[key]
	}),
	peer("encoding/json map[string]RawMessage", runtime.Version(), jsonDocs, wantJSON, func(doc []byte, key string) []byte {
		var m map[string]json.RawMessage
		if json.Unmarshal(doc, &m) != nil {
			return nil
		}
		return m[key]
	}),
	peer("encoding/json map[string]any", runtime.Version(), jsonDocs, nil, func(doc []byte, key string) []byte {
		var m map[string]any
		if json.Unmarshal(doc, &m) != nil || m[key] == nil {
			return nil
		}
		return found
	}),
}

// found stands for a value that a contender gives as a Go value.
var found = []byte("found")

// measure times one contender in one case, on one core and on all.
func (c contender) measure(w workload, budget time.Duration) harness.Figures {
	op := c.prepare(w).op
	f := harness.Time(op, budget)
	f[harness.ParallelPerOp] = harness.Parallel(op, budget)
	f[harness.Growth] = f[harness.NsPerOp] / f[harness.ParallelPerOp]
	return f
}

// agrees reports whether the contender finds what it should in each message of w.
func (c contender) agrees(w workload) bool {
	f := c.prepare(w)
	for _, doc := range f.docs {
		got := f.find(doc)
		switch {
		case !w.present:
			if got != nil {
				return false
			}
		case c.want == nil:
			if got == nil {
				return false
			}
		case !bytes.Equal(got, c.want(valueOf(w.key))):
			return false
		}
	}
	return true
}
