package envelope

import (
	"strings"

	"example.com/ferry/rpc/call"
)

// statusOf reads the text of an error in an envelope that has no place for a code: the code's name, a colon and the message. Any
// other text is the message of Unknown.
func statusOf(text string) *call.Status {
	name, message, ok := strings.Cut(text, ": ")
	if ok {
		for c := call.Canceled; c <= call.Unauthenticated; c++ {
			if c.String() == name {
				return &call.Status{Code: c, Message: message}
			}
		}
	}
	return &call.Status{Code: call.Unknown, Message: text}
}
