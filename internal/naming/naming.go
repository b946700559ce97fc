// Package naming has the rule for names of streams, durables, functions and the like. They are parts of URLs, subjects and file names.
//
//	naming.Valid("pump-1") // true
package naming

import "strings"

// MaxLen is the longest name in bytes.
const MaxLen = 64

// Valid reports whether s has 1 to 64 bytes, all of them ASCII letters, digits, hyphens and underscores.
func Valid(s string) bool { return ValidWith(s, "") }

// ValidWith is Valid for names that may also have the ASCII characters of more.
func ValidWith(s, more string) bool {
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', strings.IndexByte(more, c) >= 0:
		default:
			return false
		}
	}
	return 0 < len(s) && len(s) <= MaxLen
}
