package change

import (
	"os"
	"testing"
	"time"
)

// TestChange reloads and upgrades a node under load of all kinds, changes its certificate, and gives it a broken file and a broken program.
// No request fails, no acknowledged message is lost, and each change takes effect.
func TestChange(t *testing.T) {
	f := newFerry(t, os.Args[0])
	load := begin(t, f.kinds(), 100*time.Millisecond)
	upgrade := func() {
		back := load.leave()
		f.upgrade()
		back()
	}
	for _, change := range []struct {
		name string
		do   func()
	}{
		{"reload", f.reload},
		{"upgrade", upgrade},
		{"certificate, by a signal", func() { f.rotate(true) }},
		{"reload", f.reload},
		{"broken file", f.breakFile},
		{"certificate, by itself", func() { f.rotate(false) }},
		{"broken program", func() { f.breakProgram("#!/bin/sh\necho no such library >&2\nexit 127\n") }},
		{"upgrade", upgrade},
		{"reload", f.reload},
	} {
		change.do()
		f.same()
		load.goOn()
		t.Logf("%s: done", change.name)
	}
	for _, r := range load.stop() {
		t.Log(r.String())
		if !r.Clean() {
			t.Errorf("%s: %d requests, %d failed, %d acknowledged messages lost", r.Name, r.Requests, r.Failures, r.Lost)
		}
	}
}
