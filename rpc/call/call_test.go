package call_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"example.com/ferry/rpc/call"
)

func TestStatusOf(t *testing.T) {
	t.Parallel()
	own := &call.Status{Code: call.NotFound, Message: "no user 5"}
	for _, row := range []struct {
		name string
		err  error
		want call.Code
	}{
		{"a status", own, call.NotFound},
		{"a wrapped status", fmt.Errorf("users: %w", own), call.NotFound},
		{"a deadline", fmt.Errorf("sql: %w", context.DeadlineExceeded), call.DeadlineExceeded},
		{"a cancelled context", context.Canceled, call.Canceled},
		{"the end of something that a handler reads", fmt.Errorf("users.json: %w", io.ErrUnexpectedEOF), call.Unknown},
		{"another error", errors.New("boom"), call.Unknown},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := call.StatusOf(row.err); got.Code != row.want {
				t.Errorf("got %v, want %v", got.Code, row.want)
			}
		})
	}
	if s := call.StatusOf(nil); s != nil {
		t.Errorf("the status of nil is %v, want nil", s)
	}
}

func TestStatusIs(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("call: %w", call.Errorf(call.DeadlineExceeded, "after %d ms", 5))
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("%v must be context.DeadlineExceeded only", err)
	}
	if !errors.Is(err, &call.Status{Code: call.DeadlineExceeded}) || errors.Is(err, &call.Status{Code: call.Internal}) {
		t.Errorf("%v must be a Status with the same code only", err)
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	var m call.Metadata
	m.Add("Trace-Id", "a")
	m.Add("trace-id", "b")
	if m[0].Name != "trace-id" || m.Get("TRACE-ID") != "a" || fmt.Sprint(m.Values("trace-id")) != "[a b]" || m.Get("other") != "" {
		t.Errorf("got %v", m)
	}
}
