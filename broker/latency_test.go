package broker_test

import (
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/broker/stats"
	"example.com/ferry/protocol/native"
)

// TestLatencyOfAClockThatIsNotSet: messages of a source whose clock begins in 1970 count as those of the last bucket. Their
// sum does not overflow.
func TestLatencyOfAClockThatIsNotSet(t *testing.T) {
	b, addr := serve(t, broker.Config{})
	src := greet(t, addr)
	const messages = 20
	tag := src.tag("a")
	for range messages {
		src.write(native.AppendPub(nil, native.PubHeader{Tag: tag, Source: src.id}, nil))
	}
	src.settled()
	eventually(t, "the messages are counted", func() bool { return b.Snapshot().Latency.Counts[stats.LatencyBuckets-1] == messages })
	if got, want := b.Snapshot().Latency.Sum, messages*stats.LatencyBound(stats.LatencyBuckets-1); got != want {
		t.Errorf("the sum is %v, want %v", got, want)
	}
}
