package worker

import (
	"errors"
	"fmt"
	"testing"

	"example.com/ferry"
)

// TestBatchFromStream: when a message of a stream fails, or its process dies, later ones with its key are not tried, and the others are
// handled.
func TestBatchFromStream(t *testing.T) {
	p := start(t, role(t, "serve"))
	for _, how := range []string{"fail", "exit"} {
		var in []ferry.Message
		for i, key := range []string{"a", "b", "c", "b", "a", "", "b"} {
			in = append(in, ferry.Message{Tag: "echo", Key: []byte(key), Sequence: uint64(i + 1), Payload: fmt.Append(nil, i)})
		}
		in[1].Tag = how
		var out list
		err := p.HandleBatch(t.Context(), in, &out)
		var each ferry.BatchError
		if !errors.As(err, &each) || len(each) != 3 || each[1] == nil || !errors.Is(each[3], ferry.ErrNotTried) || !errors.Is(each[6], ferry.ErrNotTried) {
			t.Errorf("%s: got %v, want the error of message 1, and that 3 and 6 were not tried", how, err)
		}
		got := ""
		for _, m := range out {
			got += string(m.Payload)
		}
		if got != "0245" {
			t.Errorf("%s: messages %s were handled, want 0245", how, got)
		}
	}
}

// TestBatchWithoutPool: a batch that gets no process was not tried, except for its first message, which carries the reason.
func TestBatchWithoutPool(t *testing.T) {
	p := start(t, role(t, "serve"))
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	err := p.HandleBatch(t.Context(), []ferry.Message{{Tag: "a", Sequence: 1}, {Tag: "b", Sequence: 2}}, new(list))
	var each ferry.BatchError
	if !errors.As(err, &each) || !errors.Is(each[0], ErrClosed) || !errors.Is(each[1], ferry.ErrNotTried) {
		t.Errorf("got %v, want ErrClosed and that message 1 was not tried", err)
	}
}
