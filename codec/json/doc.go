// Package json converts between Go values and JSON, with encoding/json.
//
// The whole input must be one JSON value; further bytes are an error. encoding/json also accepts duplicate keys, keys
// in another case, and invalid UTF-8. A node refuses these when a message enters it, with the Validate method of
// format/json.
//
//	data, err := json.Codec{}.Marshal(map[string]float64{"noise": 31.5})
package json
