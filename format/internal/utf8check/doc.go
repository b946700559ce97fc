// Package utf8check tells whether bytes are UTF-8, and where not. It expects ASCII, which it tells first, 32 bytes at a
// time, and costs little for the short texts that most keys and values are.
//
//	utf8check.Bad([]byte("pump\xff1")) // 4
package utf8check
