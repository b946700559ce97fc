// Package json turns Go values into JSON and back, with encoding/json.
//
// The whole input must be one JSON value: what follows it is an error. What encoding/json is lenient about (keys that
// differ in case, duplicate keys, broken UTF-8) format/json's Validate refuses where a message enters a node.
//
//	data, err := json.Codec{}.Marshal(map[string]float64{"noise": 31.5})
package json
