package rpc

import (
	"sync/atomic"
	"time"

	"example.com/ferry/rpc/call"
)

// traffic counts the messages of a call.
type traffic struct{ sentMessages, sentBytes, receivedMessages, receivedBytes atomic.Int64 }

func (t *traffic) sent(data []byte) {
	t.sentMessages.Add(1)
	t.sentBytes.Add(int64(len(data)))
}

func (t *traffic) received(data []byte) {
	t.receivedMessages.Add(1)
	t.receivedBytes.Add(int64(len(data)))
}

// add adds what o has counted.
func (t *traffic) add(o *traffic) {
	t.sentMessages.Add(o.sentMessages.Load())
	t.sentBytes.Add(o.sentBytes.Load())
	t.receivedMessages.Add(o.receivedMessages.Load())
	t.receivedBytes.Add(o.receivedBytes.Load())
}

func (t *traffic) end(status *call.Status, took time.Duration, attempts int) End {
	return End{
		Status: status, Duration: took, Attempts: attempts,
		SentMessages: int(t.sentMessages.Load()), SentBytes: t.sentBytes.Load(),
		ReceivedMessages: int(t.receivedMessages.Load()), ReceivedBytes: t.receivedBytes.Load(),
	}
}
