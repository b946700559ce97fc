// Package utf8check finds bytes that are not UTF-8. It first tests whether all bytes are ASCII, 32 bytes at a time. It
// is fast for short texts, because most keys and values are short.
//
//	utf8check.Bad([]byte("pump\xff1")) // 4
package utf8check
