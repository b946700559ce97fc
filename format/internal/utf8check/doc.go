// Package utf8check reports whether bytes are UTF-8, and where they are not. It tests for ASCII first, 32 bytes at a time,
// and is cheap for short texts, which most keys and values are.
//
//	utf8check.Bad([]byte("pump\xff1")) // 4
package utf8check
