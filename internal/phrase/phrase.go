// Package phrase joins words for error messages.
//
//	phrase.Or([]string{"quic", "tls", "tcp"}) // quic, tls or tcp
package phrase

import "strings"

// Or returns "a, b or c".
func Or(words []string) string {
	last := len(words) - 1
	if last <= 0 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
