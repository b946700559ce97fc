// Package raw passes bytes through as they are, for payloads that have no format or whose format is nobody's business.
//
//	data, err := raw.Codec{}.Marshal([]byte("as it is"))
package raw
