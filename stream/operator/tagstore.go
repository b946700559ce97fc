package operator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"sync"

	"example.com/ferry"
	"example.com/ferry/codec/cbor"
	"example.com/ferry/stream"
)

// TagStore is a Store whose values are messages on tags below one tag, which the node stores at least once. Of each tag only the last
// message is needed, so their stream has retention: {per_tag: 1}.
//
// The values are divided into 64 parts by their keys. A part has two tags: Commit writes each changed part to the tag that does not have
// its current values, and then one message that says which tags are current. So a crash at any time leaves the old values or the new
// ones. A part must fit into one message of the node. One run at a time may use the store.
type TagStore struct {
	client *stream.Client
	tag    string

	mu      sync.Mutex
	values  [storeParts]map[string][]byte
	current storeCommit
}

// storeParts is the number of parts. Stored states depend on it.
const storeParts = 64

// storePart is the content of one message with values.
type storePart struct {
	Commit uint64 // that wrote it
	Values map[string][]byte
}

// storeCommit says which messages are current.
type storeCommit struct {
	Number uint64
	Parts  [storeParts]struct {
		Second bool   // which of the two tags
		Commit uint64 // that wrote the part; 0 means that it has no values
	}
}

var _ Store = (*TagStore)(nil)

// NewTagStore returns a Store on the tags below tag.
func NewTagStore(client *stream.Client, tag string) *TagStore {
	return &TagStore{client: client, tag: tag}
}

// Load reads the messages of the store.
func (t *TagStore) Load(ctx context.Context) (map[string][]byte, error) {
	last, err := t.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the state from %s/#: %w", t.tag, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current = storeCommit{}
	all := map[string][]byte{}
	if data := last[t.commitTag()]; data != nil {
		err = cbor.Codec{}.Unmarshal(data, &t.current)
	}
	for i := range t.current.Parts {
		t.values[i] = map[string][]byte{}
		written := t.current.Parts[i].Commit
		if err != nil || written == 0 {
			continue
		}
		var part storePart
		tag := t.partTag(i, t.current.Parts[i].Second)
		if err = (cbor.Codec{}).Unmarshal(last[tag], &part); err == nil && part.Commit != written {
			err = errors.New("another run has written it")
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", tag, err)
			continue
		}
		t.values[i] = part.Values
		maps.Copy(all, part.Values)
	}
	if err != nil {
		return nil, fmt.Errorf("load the state from %s/#: %w", t.tag, err)
	}
	return all, nil
}

// read returns the last message of each tag. It sends a message and reads until that one comes.
func (t *TagStore) read(ctx context.Context) (map[string][]byte, error) {
	fence := t.tag + "/fence"
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // it never fails
	end, err := cbor.Codec{}.Marshal(nonce)
	if err == nil {
		err = t.client.SendStored(ctx, ferry.Message{Tag: fence, Type: ferry.CBOR, Payload: end})
	}
	if err != nil {
		return nil, err
	}
	last, found := map[string][]byte{}, make(chan struct{})
	finish := sync.OnceFunc(func() { close(found) })
	running, err := t.client.Start(ctx, stream.Function{
		Observe: []string{t.tag + "/#"}, From: stream.FromFirst(), Concurrency: 1,
		Handler: stream.Sink(func(_ context.Context, m *ferry.Message) error {
			switch {
			case m.Tag != fence:
				last[m.Tag] = append([]byte(nil), m.Payload...)
			case string(m.Payload) == string(end):
				finish()
			}
			return nil
		}),
	})
	if err != nil {
		return nil, err
	}
	defer running.Stop()
	select {
	case <-found:
	case <-running.Done():
		return nil, running.Err()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	running.Stop() // the handler does not run any more
	return last, nil
}

// Commit writes the changed parts, and then that they are current.
func (t *TagStore) Commit(ctx context.Context, changed map[string][]byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := t.current
	next.Number++
	parts := map[int]bool{}
	for key, value := range changed {
		i := partOf(key)
		parts[i] = true
		if value == nil {
			delete(t.values[i], key)
		} else {
			t.values[i][key] = value
		}
	}
	var (
		writing sync.WaitGroup
		errs    = make([]error, storeParts)
	)
	for i := range parts {
		p := &next.Parts[i]
		p.Second, p.Commit = !p.Second, next.Number
		writing.Go(func() { errs[i] = t.write(ctx, t.partTag(i, p.Second), storePart{next.Number, t.values[i]}) })
	}
	writing.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := t.write(ctx, t.commitTag(), next); err != nil {
		return err
	}
	t.current = next
	return nil
}

func (t *TagStore) write(ctx context.Context, tag string, v any) error {
	data, err := cbor.Codec{}.Marshal(v)
	if err != nil {
		return err
	}
	return t.client.SendStored(ctx, ferry.Message{Tag: tag, Type: ferry.CBOR, Payload: data})
}

func (t *TagStore) commitTag() string { return t.tag + "/commit" }

func (t *TagStore) partTag(i int, second bool) string {
	slot := "a"
	if second {
		slot = "b"
	}
	return fmt.Sprintf("%s/%d/%s", t.tag, i, slot)
}

func partOf(key string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // it never fails
	return int(h.Sum32() % storeParts)
}
