//go:build proof

package change

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/bench/internal/clientload"
	"example.com/ferry/bench/internal/ferrynode"
)

// changing is a server that changes while it serves. Each method returns when its change is complete.
type changing interface {
	name() string
	kinds() []clientload.Kind
	reload()
	upgrade()
	rotate()
	breakFile()
	breakProgram(n int)
	same() // checks that the last plan counts
}

// rounds is how often the changes of a round are made: 50 reloads, 20 upgrades, 10 certificates and 5 rollbacks in all.
const rounds = 5

// round makes the changes of a round.
func round(s changing, load *running, n int) (changes []func()) {
	leaving := func(change func()) func() { // clients may have to connect again
		return func() {
			back := load.leave()
			change()
			back()
		}
	}
	upgrade := leaving(s.upgrade)
	for range 2 {
		changes = append(changes, s.reload, upgrade, s.reload, s.reload, s.rotate, s.reload, upgrade, s.reload)
	}
	if n%2 == 0 {
		return append(changes, s.breakFile)
	}
	return append(changes, leaving(func() { s.breakProgram(n / 2) }))
}

// pause is the time between a response and the client's next request.
const pause = 5 * time.Millisecond

// slot is the least time from the begin of a change to that of the next one, so that servers which change fast do not change more often.
const slot = 500 * time.Millisecond

// outcome is what the clients of a server saw while it changed, and in an undisturbed run of the same length.
type outcome struct {
	server             string
	undisturbed, while []clientload.Report
	took               time.Duration
	notes              []string
}

// prove changes a server under load.
func prove(t *testing.T, s changing) outcome {
	t.Helper()
	o := outcome{server: s.name()}
	load := begin(t, s.kinds(), pause)
	begun := time.Now()
	for n := range rounds {
		for _, change := range round(s, load, n) {
			next := time.Now().Add(slot)
			change()
			load.goOn()
			time.Sleep(time.Until(next))
		}
		s.same()
	}
	o.took = time.Since(begun)
	o.while = load.stop()
	load = begin(t, s.kinds(), pause)
	time.Sleep(o.took)
	o.undisturbed = load.stop()
	return o
}

// TestChangeProof makes 50 reloads, 20 upgrades, 10 changes of the certificate and 5 rollbacks under load: with ferry, nginx and Envoy. With
// ferry no request fails, and no acknowledged message is lost. The table shows what the clients saw.
func TestChangeProof(t *testing.T) {
	dir := t.TempDir()
	if err := ferrynode.Build(dir); err != nil {
		t.Fatal(err)
	}
	var all []outcome
	t.Run("ferry", func(t *testing.T) {
		f := newFerry(t, filepath.Join(dir, ferrynode.Binary))
		o := prove(t, provedFerry{f})
		o.notes = append(o.notes, fmt.Sprintf("streams paused at most %v in an upgrade; a process ended at most %v after the next one served", longest(f.paused), longest(f.drains)))
		all = append(all, o)
		for _, r := range o.while {
			if !r.Clean() {
				t.Error(r.String())
			}
		}
	})
	t.Run("nginx", func(t *testing.T) { all = append(all, prove(t, newNginx(t))) })
	t.Run("Envoy", func(t *testing.T) { all = append(all, prove(t, newEnvoy(t))) })
	t.Log("\n" + table(all))
}

func longest(all []time.Duration) (most time.Duration) {
	for _, d := range all {
		most = max(most, d)
	}
	return most.Round(time.Millisecond)
}

// provedFerry is a ferry for prove.
type provedFerry struct{ *ferry }

func (f provedFerry) rotate() { f.ferry.rotate(false) }

// breakProgram upgrades to a program that is none, or to a node that fails when it has the streams already.
func (f provedFerry) breakProgram(n int) {
	if n%2 == 0 {
		f.ferry.breakProgram("\x7fELF is not enough")
		return
	}
	wrong := strings.Replace(f.plan.yaml(f.t), f.plan.At["bolt"], f.plan.At["boltServer"], 1) // in use
	if err := os.WriteFile(filepath.Join(f.dir, "wrong.yaml"), []byte(wrong), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.ferry.breakProgram("#!/bin/bash\nexec -a \"$0\" " + f.real + " run -c wrong.yaml\n")
}

// table writes a line for each server and kind of client.
func table(all []outcome) string {
	var b strings.Builder
	b.WriteString("| server | clients | requests | failed | sent again | lost | p99, undisturbed | p99, changing | longest gap, undisturbed | longest gap, changing |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, o := range all {
		for i, r := range o.while {
			lost := "-"
			if r.Acknowledged > 0 {
				lost = fmt.Sprintf("%d of %d", r.Lost, r.Acknowledged)
				if r.Unheard > 0 {
					lost += fmt.Sprintf(", %d unheard", r.Unheard)
				}
			}
			u := o.undisturbed[i]
			before, after := u.Latency.Quantile(0.99), r.Latency.Quantile(0.99)
			fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %s | %v | %v (%.2fx) | %v | %v |\n", o.server, r.Name, r.Requests, r.Failures, r.Again, lost,
				before.Round(10*time.Microsecond), after.Round(10*time.Microsecond), float64(after)/float64(max(before, 1)), u.Gap.Round(time.Millisecond), r.Gap.Round(time.Millisecond))
		}
	}
	for _, o := range all {
		fmt.Fprintf(&b, "\n%s: the changes took %v.", o.server, o.took.Round(time.Second))
		for _, n := range o.notes {
			fmt.Fprintf(&b, " %s.", n)
		}
		for _, r := range o.while {
			for _, c := range r.Causes {
				fmt.Fprintf(&b, "\n    %s: %s", r.Name, c)
			}
		}
	}
	return b.String() + "\n"
}

func (f *ferry) name() string { return "ferry" }
