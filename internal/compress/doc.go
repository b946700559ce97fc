// Package compress compresses whole messages with gzip (RFC 1952) and zstd (RFC 8878). The state of the libraries is pooled.
//
//	data, err := compress.Append(nil, message, "zstd")
//	message, err = compress.Expand(nil, data, "zstd", 4<<20) // at most 4 MiB
package compress
