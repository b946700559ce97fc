package main

import (
	"testing"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/harnesstest"
)

func TestQuestion(t *testing.T) {
	coldBytes = 1 << 20
	harnesstest.Run(t, question())
}

// A limit scan of a truncated message reads nothing after its end, and finds only complete values.
func TestScansOfCutMessages(t *testing.T) {
	for _, c := range contenders() {
		if c.kind != harness.Limit {
			continue
		}
		whole := workloads[c63].docs(c.in)[0]
		want := c.want(valueOf(32))
		for n := range whole {
			if got := c.finder(32).find(whole[:n:n]); got != nil && string(got) != string(want) {
				t.Errorf("%s: found % x in the first %d bytes, want % x or nothing", c.name, got, n, want)
			}
		}
	}
}

// A limit scan has to refuse what a checked lookup refuses.
func TestScans(t *testing.T) {
	for name, scan := range map[string]func([]byte, byte) (int, int, bool){limit: limitScan, tight: tightScan} {
		good := encodeY3([]int{1, 2, 3})
		if off, end, ok := scan(good, 2); !ok || string(good[off:end]) != valueOf(2).y3 {
			t.Errorf("%s: key 2: got [%d:%d] %v in % x", name, off, end, ok, good)
		}
		for what, doc := range map[string]string{
			"empty":            "",
			"cut in a header":  "\x80",
			"negative length":  "\x80\x7f",
			"past the end":     "\x80\x05\x02",
			"child past node":  "\x80\x03\x02\x05a",
			"sibling past it":  "\x80\x03\x01\x05a",
			"not a node":       "\x00\x03\x02\x01a",
			"endless length":   "\x80\x80\x80\x80\x80\x80\x01",
			"child's length":   "\x80\x03\x02\x80\x80",
			"another key only": "\x80\x03\x01\x01a",
			"a tag alone":      "\x80\x01\x02",
		} {
			if off, end, ok := scan([]byte(doc), 2); ok {
				t.Errorf("%s: %s: found [%d:%d]", name, what, off, end)
			}
		}
	}
}
