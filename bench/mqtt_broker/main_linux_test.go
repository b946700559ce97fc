package main

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/internal/needs"
)

func TestMain(m *testing.M) {
	brokerMain()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) {
	needs.Cores(t, 2) // one for the broker and one for the clients
	needs.Program(t, "mosquitto")
	q := newExperiment([]load{{"QoS 0, 3 to 1", 0, 3, 1}, {"QoS 1, 1 to 3", 1, 1, 3}}, 50).question()
	q.Contenders = slices.DeleteFunc(q.Contenders, func(c harness.Contender) bool {
		return c.Kind == harness.Peer && c.Name != mosquittoRow // the check starts all of them
	})
	harnesstest.Run(t, q)
}

func TestMessage(t *testing.T) {
	payload := bytes.Clone(template)
	want := message{publisher: 42, sequence: 123_456, due: 7_000_000_000}
	want.write(payload)
	if got, err := parse(payload); err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := parse(payload[:size-1]); err == nil {
		t.Error("a message that is cut off is accepted")
	}
	for i := range payload {
		broken := bytes.Clone(payload)
		broken[i] ^= 0x80
		if got, err := parse(broken); err == nil {
			t.Errorf("byte %d differs: the message is accepted as %v", i, got)
		}
	}
}
