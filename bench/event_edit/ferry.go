package main

import (
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/codec"
	codeccbor "example.com/ferry/codec/cbor"
	"example.com/ferry/edgex"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
)

const thisCommit = "this commit"

func ferryRows() []contender {
	row := func(name string, in encoding, ids []*identity, start func(size int) func([]byte, *identity) (message, error), without ...string) contender {
		return contender{
			name: name, kind: harness.Ferry, version: thisCommit, in: in, ids: ids, without: without,
			tools: func(size int) tools { return tools{edit: start(size)} },
		}
	}
	return []contender{
		row(ferry, inCBOR, sameLength, inPlace(cbor.Format{}, false)),
		row(ferryValidated, inCBOR, sameLength, inPlace(cbor.Format{}, true)),
		row(ferrySpliced, inCBOR, otherLength, spliced(cbor.Format{}), absent),
		row(ferryParts, inCBOR, otherLength, inParts(cbor.Format{}), absent),
		row(ferryJSON, inJSON, sameLength, inPlace(json.Format{}, false)),
		row(ferryJSONSpliced, inJSON, otherLength, spliced(json.Format{}), absent),
		{
			name: ferryValues, kind: harness.Ferry, version: thisCommit, in: inCBOR, ids: otherLength, without: []string{absent},
			tools: func(int) tools { return goValues(codeccbor.Codec{}) },
		},
	}
}

// editor edits events of one format. It parses the path at run time and calls the format through an interface, so that the
// compiler cannot generate code for one path or one format.
type editor interface {
	format.Format
	format.Editor
}

// inPlace overwrites the ID in the event itself.
func inPlace(f editor, validate bool) func(int) func([]byte, *identity) (message, error) {
	return func(int) func([]byte, *identity) (message, error) {
		p, out := field.MustParse("id"), make(message, 1)
		return func(doc []byte, id *identity) (message, error) {
			if validate {
				if err := f.Validate(doc, format.Options{}); err != nil {
					return nil, err
				}
			}
			done, err := f.PatchInPlace(doc, p, field.Value{Kind: field.Text, Bytes: id.bytes})
			if err != nil {
				return nil, err
			}
			if !done {
				return nil, errMoved
			}
			out[0] = doc
			return out, nil
		}
	}
}

// spliced copies the event with another ID to a buffer of sufficient capacity.
func spliced(f editor) func(int) func([]byte, *identity) (message, error) {
	return func(size int) func([]byte, *identity) (message, error) {
		p, out, dst := field.MustParse("id"), make(message, 1), make([]byte, 0, size)
		return func(doc []byte, id *identity) (message, error) {
			var err error
			out[0], err = f.Patch(dst, doc, p, field.Value{Kind: field.Text, Bytes: id.bytes})
			return out, err
		}
	}
}

// inParts returns the event with another ID in three parts, for net.Buffers: the bytes before the ID, the ID, and the bytes
// after the ID.
func inParts(f editor) func(int) func([]byte, *identity) (message, error) {
	return func(int) func([]byte, *identity) (message, error) {
		p, out, edit := field.MustParse("id"), make(message, 0, 4), new(format.Edit)
		return func(doc []byte, id *identity) (message, error) {
			if err := f.Replace(edit, doc, p, field.Value{Kind: field.Text, Bytes: id.bytes}); err != nil {
				return nil, err
			}
			return edit.Buffers(out), nil
		}
	}
}

// goValues decodes the event to a Go value, changes it and encodes it.
func goValues(c codec.Codec) tools {
	out := make(message, 1)
	return tools{
		edit: func(doc []byte, id *identity) (message, error) {
			var e edgex.Event
			if err := edgex.Unmarshal(c, doc, &e, 0); err != nil {
				return nil, err
			}
			e.ID = id.text
			var err error
			out[0], err = c.Marshal(e)
			return out, err
		},
		decode: func(doc []byte) (any, error) {
			e := new(edgex.Event)
			return e, edgex.Unmarshal(c, doc, e, 0)
		},
		encode: func(event any) ([]byte, error) { return c.Marshal(event) },
	}
}
