package json

import (
	"encoding/json"
	"fmt"

	"example.com/ferry/codec"
	"example.com/ferry/codec/internal/years"
)

// Codec encodes JSON, RFC 8259. Its zero value is ready for use.
type Codec struct{}

var _ codec.Codec = Codec{}

// Name returns json.
func (Codec) Name() string { return "json" }

// Marshal encodes v as encoding/json does: it obeys struct tags, calls Marshalers, and escapes <, > and &.
func (Codec) Marshal(v any) ([]byte, error) {
	var data []byte
	err := years.Check(v)
	if err == nil {
		data, err = json.Marshal(v)
	}
	if err != nil {
		return nil, fmt.Errorf("json: marshal %T: %w", v, err)
	}
	return data, nil
}

// Unmarshal decodes one JSON value into the variable that v points to.
func (Codec) Unmarshal(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("json: unmarshal %d bytes into %T: %w", len(data), v, err)
	}
	return nil
}
