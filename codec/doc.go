// Package codec is the contract of a library that turns Go values into bytes and back.
//
// Codecs stand at the two ends of a message's journey only: in handlers, functions and the command line. What is in
// transit is never decoded; packages under format/ read and change it as bytes. Each folder below is one codec, named
// like the format it writes.
//
//	data, err := json.Codec{}.Marshal(reading)
//	err = json.Codec{}.Unmarshal(data, &reading)
package codec
