package top

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"example.com/ferry/node/admin"
)

// Get requests a path of the admin server, such as /api/streams. A path that the node does not have gives ErrAbsent.
type Get func(ctx context.Context, path string) ([]byte, error)

// ErrAbsent means that the node lacks a part: it stores no streams, or has no proxy.
var ErrAbsent = errors.New("top: the node has no such part")

// Sample is the state of a node at one moment. A nil part is one that the node does not have.
type Sample struct {
	Time      time.Time           `json:"time"`
	Streams   *admin.StreamsState `json:"streams"`
	Functions []admin.Function    `json:"functions"`
	Proxy     *admin.ProxyState   `json:"proxy"`
	Tags      []Tag               `json:"tags"` // live traffic; nil if the node has no listener for messages
}

// Tag is the traffic of a tag since the node began. In counts what publishers sent, Out what all subscriptions received.
type Tag struct {
	Name string  `json:"tag"`
	In   Traffic `json:"in"`
	Out  Traffic `json:"out"`
}

// Traffic counts messages, and the bytes of their frames.
type Traffic struct {
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
}

// Take takes a sample. It requests the parts at the same time.
func Take(ctx context.Context, get Get) (*Sample, error) {
	s := &Sample{}
	var streams admin.StreamsState
	var proxy admin.ProxyState
	var group sync.WaitGroup
	errs := make([]error, 4)
	part := func(i int, path string, parse func([]byte) error) {
		group.Go(func() {
			body, err := get(ctx, path)
			if err == nil {
				err = parse(body)
			}
			errs[i] = err
		})
	}
	part(0, "/api/streams", func(b []byte) error { return json.Unmarshal(b, &streams) })
	part(1, "/api/functions", func(b []byte) error { return json.Unmarshal(b, &s.Functions) })
	part(2, "/api/proxy", func(b []byte) error { return json.Unmarshal(b, &proxy) })
	part(3, "/metrics", func(b []byte) error { s.readMetrics(b); return nil })
	group.Wait()
	for i, err := range errs {
		if errors.Is(err, ErrAbsent) {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch i {
		case 0:
			s.Streams = &streams
		case 2:
			s.Proxy = &proxy
		}
	}
	s.Time = time.Now()
	return s, nil
}
