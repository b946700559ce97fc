// Package codec is the contract of packages that convert between Go values and bytes.
//
// Codecs are used only at the two ends of a message's route: in handlers, functions and the command line. Messages in
// transit are never decoded; packages under format/ read and change them as bytes. Each folder below codec is one
// codec, named after its format.
//
//	data, err := json.Codec{}.Marshal(reading)
//	err = json.Codec{}.Unmarshal(data, &reading)
package codec
