package edgex

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// unmarshalExact decodes like encoding/json, but an integer in an any becomes an int64 or uint64 if it fits. Package
// codec/cbor does the same. A float64 would round integers above 2^53.
func unmarshalExact(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	switch v := v.(type) {
	case *any:
		return exactNumber(v)
	case *map[string]any:
		return exactNumbersIn(*v)
	}
	return nil
}

func exactNumber(v *any) error {
	switch x := (*v).(type) {
	case json.Number:
		n, err := parseNumber(string(x))
		*v = n
		return err
	case []any:
		for i := range x {
			if err := exactNumber(&x[i]); err != nil {
				return err
			}
		}
	case map[string]any:
		return exactNumbersIn(x)
	}
	return nil
}

func exactNumbersIn(m map[string]any) error {
	for key, v := range m {
		if err := exactNumber(&v); err != nil {
			return err
		}
		m[key] = v
	}
	return nil
}

// parseNumber returns an int64, uint64 or float64. A number that a float64 cannot represent is an error.
func parseNumber(s string) (any, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return n, nil
	}
	return strconv.ParseFloat(s, 64)
}
