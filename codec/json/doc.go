// Package json turns Go values into JSON and back, with encoding/json.
//
// The whole input must be one JSON value; further bytes are an error. encoding/json accepts keys that differ in case, duplicate
// keys and broken UTF-8. A node refuses these with format/json's Validate when a message enters it.
//
//	data, err := json.Codec{}.Marshal(map[string]float64{"noise": 31.5})
package json
