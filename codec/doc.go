// Package codec is the contract of packages that turn Go values into bytes and back.
//
// Codecs are used only at the two ends of a message's route: in handlers, functions and the command line. Messages in transit
// are never decoded; packages under format/ read and change them as bytes. Each folder below is one codec, with the name of the
// format that it writes.
//
//	data, err := json.Codec{}.Marshal(reading)
//	err = json.Codec{}.Unmarshal(data, &reading)
package codec
