package edgex

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// unmarshalExact is encoding/json with the numbers in values of any type as int64 or uint64 where they are integers of that
// size, as CBOR gives them: a float64 would round what is above 2^53.
func unmarshalExact(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	switch v := v.(type) {
	case *any:
		return exactly(v)
	case *map[string]any:
		return exactlyAll(*v)
	}
	return nil
}

func exactly(v *any) error {
	switch x := (*v).(type) {
	case json.Number:
		n, err := parseNumber(string(x))
		*v = n
		return err
	case []any:
		for i := range x {
			if err := exactly(&x[i]); err != nil {
				return err
			}
		}
	case map[string]any:
		return exactlyAll(x)
	}
	return nil
}

func exactlyAll(m map[string]any) error {
	for key, v := range m {
		if err := exactly(&v); err != nil {
			return err
		}
		m[key] = v
	}
	return nil
}

// parseNumber refuses numbers beyond float64.
func parseNumber(s string) (any, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return n, nil
	}
	return strconv.ParseFloat(s, 64)
}
