package stream_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/stream"
	"example.com/ferry/transport/memory"
)

// TestTagNumberIsReused: after a tag's publishers have left, its number is reused for another tag. A function gets the
// right name with each message.
func TestTagNumberIsReused(t *testing.T) {
	s := newTestNode(t, memory.New(nil), "node", broker.Config{MaxTags: 1})
	names := make(chan string, 1)
	start(t, s.dial(nil), stream.Function{Observe: []string{"#"}, Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
		names <- fmt.Sprintf("%s %s", in.Tag, in.Payload)
		return nil
	})})
	for i := range 6 {
		c := s.dial(nil)
		tag := fmt.Sprint("tag/", i)
		send(t, c, ferry.Message{Tag: tag, Payload: []byte("of " + tag)})
		if got, want := <-names, tag+" of "+tag; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		_ = c.Close()
		for len(s.broker.Snapshot().Tags) > 0 {
			time.Sleep(time.Millisecond)
		}
	}
}
