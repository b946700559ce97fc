// Package compress compresses whole messages, and streams in pieces, with gzip (RFC 1952) and zstd (RFC 8878). The state of the libraries for whole
// messages is pooled; that of a stream is an Encoder.
//
//	data, err := compress.Append(nil, message, "zstd")
//	message, err = compress.Expand(nil, data, "zstd", 4<<20) // at most 4 MiB
package compress
