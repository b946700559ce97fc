// Package raw passes bytes through unchanged. Use it for payloads without a format, and for formats that need no
// decoding.
//
//	data, err := raw.Codec{}.Marshal([]byte("as it is"))
package raw
