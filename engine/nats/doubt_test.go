package nats

import (
	"testing"

	"example.com/ferry/engine"
)

// TestDoubtOfRemovedRecords: what was stored since the last acknowledgement can be gone again, by retention or a purge. The appender
// does not wait for it.
func TestDoubtOfRemovedRecords(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*rig) error{
		"all": func(r *rig) error {
			_, err := r.s.Purge(t.Context(), "", 0)
			return err
		},
		"the last ones": func(r *rig) error {
			for _, sequence := range []uint64{2, 3} {
				if err := r.s.Remove(t.Context(), sequence); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.await(r.append(0, 3, 10))
			if err := remove(r); err != nil {
				t.Fatal(err)
			}
			a, err := newAppender(r.s.(*stream), 0)
			if err != nil {
				t.Fatal(err)
			}
			defer a.close(engine.ErrClosed)
			a.doubtful = 1
			done := make(chan error, 1)
			a.append([]engine.Record{{Tag: "orders/a", Payload: []byte("3")}}, func(err error) { done <- err })
			r.await(done)
		})
	}
}

// TestDoubtWhileABatchIsWritten: the server says that a stream ends within a batch while it writes the batch. The appender must not
// take the rest for records that are not stored.
func TestDoubtWhileABatchIsWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.s.(*stream)
	const batches = 30
	done := make(chan error, batches)
	payload := make([]byte, 1000)
	for range batches {
		records := make([]engine.Record, maxBatch)
		for i := range records {
			records[i] = engine.Record{Tag: "orders/a", Payload: payload}
		}
		s.Append(records, func(err error) { done <- err })
	}
	within := 0
	for {
		plain, err := s.endState(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if plain.Last%maxBatch != 0 {
			within++
		}
		state, err := s.batchState(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if state.Last%maxBatch != 0 {
			t.Fatalf("the stream ends with record %d, within a batch", state.Last)
		}
		if state.Last == batches*maxBatch {
			break
		}
	}
	r.await(done)
	t.Logf("the server has said %d times that the stream ends within a batch", within)
}
