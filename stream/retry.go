package stream

import (
	"errors"
	"strings"
	"time"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

// Retry returns an error with which the handler of a durable asks for the next delivery of the message after a time, instead of the
// time that the stream's configuration says. It wraps err.
func Retry(err error, after time.Duration) error {
	return &failure{cause: err, after: max(after, time.Millisecond)}
}

// Reject returns an error with which the handler of a durable refuses the message: it is not delivered again, but becomes a dead
// letter. It wraps err.
func Reject(err error) error { return &failure{cause: err, rejected: true} }

// failure is an error of a handler that says what becomes of the message.
type failure struct {
	cause    error
	after    time.Duration // 0 means that the configuration decides
	rejected bool
}

func (f *failure) Error() string { return f.cause.Error() }
func (f *failure) Unwrap() error { return f.cause }

// maxReason is the longest reason of a NAK, in bytes. The node keeps it with a dead letter, and cuts it further.
const maxReason = 1 << 10

// nakOf returns the NAK that tells the node about the error of a handler, without its ranges.
func nakOf(err error) native.NakFrame {
	if errors.Is(err, ferry.ErrNotTried) {
		return native.NakFrame{Flags: native.FlagNotTried}
	}
	reason := err.Error()
	v := native.NakFrame{Reason: strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")}
	var f *failure
	if errors.As(err, &f) {
		v.Delay = uint32(min(f.after.Milliseconds(), int64(^uint32(0))))
		if f.rejected {
			v.Flags = native.FlagReject
		}
	}
	return v
}
