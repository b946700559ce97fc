package edgex

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"example.com/ferry/codec"
	"example.com/ferry/codec/cbor"
	"example.com/ferry/codec/json"
	"example.com/ferry/internal/cborhead"
)

// wireEvent has the fields of an Event in their order on the wire.
type wireEvent struct {
	APIVersion  string         `json:"apiVersion"`
	ID          string         `json:"id"`
	DeviceName  string         `json:"deviceName"`
	ProfileName string         `json:"profileName"`
	SourceName  string         `json:"sourceName"`
	Origin      int64          `json:"origin"`
	Readings    []Reading      `json:"readings"`
	Tags        map[string]any `json:"tags,omitempty"`
}

var eventKeys = []string{"apiVersion", "id", "deviceName", "profileName", "sourceName", "origin", "readings", "tags"}

// wireReading has the fields that all readings share, in their order on the wire. The value follows these fields. Empty fields
// are omitted, as in the optimised form.
type wireReading struct {
	ID           string         `json:"id,omitempty"`
	Origin       int64          `json:"origin,omitempty"`
	DeviceName   string         `json:"deviceName,omitempty"`
	ResourceName string         `json:"resourceName,omitempty"`
	ProfileName  string         `json:"profileName,omitempty"`
	ValueType    string         `json:"valueType"`
	Units        string         `json:"units,omitempty"`
	Tags         map[string]any `json:"tags,omitempty"`
}

// MarshalCBOR writes e as EdgeX does.
func (e Event) MarshalCBOR() ([]byte, error) {
	data, err := e.marshal(cbor.Codec{})
	if err != nil || len(e.Extensions) == 0 {
		return data, err
	}
	// The map of 7 or 8 pairs has a head of one byte. A new head also counts the extensions. RFC 8949, section 3.
	out := cborhead.Append(nil, cborhead.Map, uint64(data[0]&0x1f)+uint64(len(e.Extensions)))
	out = append(out, data[1:]...)
	for _, key := range slices.Sorted(maps.Keys(e.Extensions)) {
		for _, v := range []any{key, e.Extensions[key]} {
			if out, err = (cbor.Codec{}).Append(out, v); err != nil {
				return nil, fmt.Errorf("edgex: extension %q: %w", key, err)
			}
		}
	}
	return out, nil
}

// MarshalJSON writes e as EdgeX does.
func (e Event) MarshalJSON() ([]byte, error) {
	data, err := e.marshal(json.Codec{})
	if err != nil || len(e.Extensions) == 0 {
		return data, err
	}
	more, err := json.Codec{}.Marshal(e.Extensions) // sorted by key
	if err != nil {
		return nil, fmt.Errorf("edgex: extensions: %w", err)
	}
	return append(append(bytes.TrimSuffix(data, []byte("}")), ','), more[1:]...), nil
}

func (e *Event) marshal(c codec.Codec) ([]byte, error) {
	for _, key := range eventKeys {
		if _, taken := e.Extensions[key]; taken {
			return nil, fmt.Errorf("edgex: extension %q has the name of a field of an event: rename the extension", key)
		}
	}
	w := wireEvent{
		APIVersion: e.APIVersion, ID: e.ID, DeviceName: e.DeviceName, ProfileName: e.ProfileName,
		SourceName: e.SourceName, Origin: e.Origin, Readings: e.Readings, Tags: e.Tags,
	}
	if len(w.Readings) == 0 {
		w.Readings = nil // null on the wire
	}
	return c.Marshal(w)
}

// MarshalCBOR writes r as EdgeX does.
func (r Reading) MarshalCBOR() ([]byte, error) { return r.marshal(cbor.Codec{}) }

// MarshalJSON writes r as EdgeX does.
func (r Reading) MarshalJSON() ([]byte, error) { return r.marshal(json.Codec{}) }

func (r *Reading) marshal(c codec.Codec) ([]byte, error) {
	w := wireReading{
		ID: r.ID, Origin: r.Origin, DeviceName: r.DeviceName, ResourceName: r.ResourceName,
		ProfileName: r.ProfileName, ValueType: r.ValueType, Units: r.Units, Tags: r.Tags,
	}
	switch {
	case r.Null:
		return c.Marshal(struct {
			wireReading
			Value       any `json:"value"`
			BinaryValue any `json:"binaryValue"`
			ObjectValue any `json:"objectValue"`
		}{wireReading: w})
	case r.ValueType == Binary:
		return c.Marshal(struct {
			wireReading
			BinaryValue []byte `json:"binaryValue,omitempty"`
			MediaType   string `json:"mediaType,omitempty"`
		}{w, r.BinaryValue, r.MediaType})
	case r.ValueType == Object, r.ValueType == ObjectArray:
		return c.Marshal(struct {
			wireReading
			ObjectValue any `json:"objectValue,omitempty"`
		}{w, r.ObjectValue})
	case r.NumericValue != nil:
		return c.Marshal(struct {
			wireReading
			Value any `json:"value"`
		}{w, r.NumericValue})
	default:
		return c.Marshal(struct {
			wireReading
			Value string `json:"value"`
		}{w, r.Value})
	}
}
