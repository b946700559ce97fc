package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/bench/internal/pubsub"
)

func TestMain(m *testing.M) {
	pubsub.Main()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) { harnesstest.Run(t, question()) }

// TestMeasureAlone measures a row before its relay, as a comparison of two versions does.
func TestMeasureAlone(t *testing.T) {
	request := strings.NewReader(`{"row":"` + ferryTCP + `","case":"100 B"}`)
	var out bytes.Buffer
	if err := harness.Serve(question(), time.Microsecond, request, &out); err != nil {
		t.Fatal(err)
	}
	var r harness.MeasureResponse
	dec := json.NewDecoder(&out)
	if err := errors.Join(dec.Decode(&harness.Inventory{}), dec.Decode(&r)); err != nil || r.Err != "" {
		t.Fatal(err, r.Err)
	}
	if r.Figures[perSecond] <= 0 {
		t.Errorf("measured %v", r.Figures)
	}
}
