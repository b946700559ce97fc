package edgex

import (
	stdjson "encoding/json"
	"fmt"
	"maps"
	"slices"

	fxcbor "github.com/fxamacker/cbor/v2"

	"example.com/ferry/codec"
	"example.com/ferry/codec/cbor"
	"example.com/ferry/codec/json"
)

// MaxEvent is the largest event in bytes that EdgeX core-data accepts.
const MaxEvent = 25_000 << 10

// Unmarshal decodes data into the variable that v points to. data is an Event, AddEventRequest or MessageEnvelope in CBOR or
// JSON. More than limit bytes are an error before any decoding; 0 means MaxEvent. Bytes after the message are an error.
func Unmarshal(c codec.Codec, data []byte, v any, limit int) error {
	if err := checkSize(data, limit); err != nil {
		return err
	}
	if err := c.Unmarshal(data, v); err != nil {
		return fmt.Errorf("edgex: %w", err)
	}
	return nil
}

// UnmarshalCBOR decodes an event. Its keys must match in case and be unique.
func (e *Event) UnmarshalCBOR(data []byte) error {
	return e.unmarshal(cborFields(), data)
}

// UnmarshalJSON decodes an event. Its keys must match in case.
func (e *Event) UnmarshalJSON(data []byte) error {
	return e.unmarshal(jsonFields(), data)
}

// UnmarshalCBOR decodes a reading. Its keys must match in case and be unique.
func (r *Reading) UnmarshalCBOR(data []byte) error {
	return r.unmarshal(cborFields(), data)
}

// UnmarshalJSON decodes a reading. Its keys must match in case.
func (r *Reading) UnmarshalJSON(data []byte) error {
	return r.unmarshal(jsonFields(), data)
}

func (e *Event) unmarshal(o fields, data []byte) error {
	*e = Event{}
	if err := o.open(data); err != nil {
		return fmt.Errorf("edgex: event: %w", err)
	}
	for i, v := range []any{
		&e.APIVersion, &e.ID, &e.DeviceName, &e.ProfileName, &e.SourceName, &e.Origin, &e.Readings, &e.Tags,
	} {
		if _, err := o.decodeField(eventKeys[i], v); err != nil {
			return fmt.Errorf("edgex: event: %w", err)
		}
	}
	e.restoreOptimized()
	for _, key := range o.remaining() {
		var v any
		if _, err := o.decodeField(key, &v); err != nil {
			return fmt.Errorf("edgex: event: %w", err)
		}
		if e.Extensions == nil {
			e.Extensions = map[string]any{}
		}
		e.Extensions[key] = v
	}
	return nil
}

func (r *Reading) unmarshal(o fields, data []byte) error {
	*r = Reading{}
	if err := o.open(data); err != nil {
		return fmt.Errorf("edgex: reading: %w", err)
	}
	var value any
	found := map[string]bool{}
	for _, f := range []struct {
		key string
		v   any
	}{
		{"id", &r.ID},
		{"origin", &r.Origin},
		{"deviceName", &r.DeviceName},
		{"resourceName", &r.ResourceName},
		{"profileName", &r.ProfileName},
		{"valueType", &r.ValueType},
		{"units", &r.Units},
		{"tags", &r.Tags},
		{"value", &value},
		{"binaryValue", &r.BinaryValue},
		{"mediaType", &r.MediaType},
		{"objectValue", &r.ObjectValue},
	} {
		var err error
		if found[f.key], err = o.decodeField(f.key, f.v); err != nil {
			return fmt.Errorf("edgex: reading of resource %q: %w", r.ResourceName, err)
		}
	}
	switch r.ValueType {
	case Binary:
		r.Null = found["binaryValue"] && r.BinaryValue == nil
	case Object, ObjectArray:
		r.Null = found["objectValue"] && r.ObjectValue == nil
	default:
		text, isText := value.(string)
		r.Null = value == nil
		r.Value = text
		if !isText {
			r.NumericValue = value
		}
	}
	return nil
}

// fields is a map whose values are decoded one at a time.
type fields interface {
	open(data []byte) error
	decodeField(key string, v any) (found bool, err error)
	remaining() []string
}

// object implements fields for one format. R is the format's type for a value that is not decoded yet.
type object[R ~[]byte] struct {
	all, one func(data []byte, v any) error // all decodes the object, one decodes one of its fields
	raw      map[string]R
}

func cborFields() fields {
	return &object[fxcbor.RawMessage]{all: cbor.Codec{}.Unmarshal, one: cbor.Codec{}.Unmarshal}
}

func jsonFields() fields {
	return &object[stdjson.RawMessage]{all: json.Codec{}.Unmarshal, one: unmarshalExact}
}

func (o *object[R]) open(data []byte) error { return o.all(data, &o.raw) }

func (o *object[R]) decodeField(key string, v any) (bool, error) {
	raw, found := o.raw[key]
	if !found {
		return false, nil
	}
	delete(o.raw, key)
	if err := o.one(raw, v); err != nil {
		return true, fmt.Errorf("field %s: %w", key, err)
	}
	return true, nil
}

func (o *object[R]) remaining() []string { return slices.Collect(maps.Keys(o.raw)) }
