package nats

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"example.com/ferry/engine"
	"example.com/ferry/internal/disktest"
	"example.com/ferry/internal/needs"
)

const runLength = 100 // records of a run

// run appends one run, which the server stores as one batch.
func run(s engine.Stream, first int) <-chan error {
	done := make(chan error, 1)
	records := make([]engine.Record, runLength)
	for i := range records {
		records[i] = engine.Record{Tag: "orders/a", Payload: fmt.Appendf(nil, "%d ", first+i)}
	}
	s.Append(records, func(err error) { done <- err })
	return done
}

func needMemory(t *testing.T) {
	t.Helper()
	if memoryDir() == "" {
		needs.Missing(t, "a tmpfs at /dev/shm", "mount -t tmpfs tmpfs /dev/shm")
	}
}

func TestABatchCostsOneSync(t *testing.T) {
	needMemory(t)
	d := disktest.Mount(t, disktest.Config{})
	r := newRig(t, EmbeddedConfig{Dir: filepath.Join(d.Dir, "store")})
	r.await(run(r.s, 0))
	before := d.Syncs()
	const batches = 20
	for i := range batches {
		r.await(run(r.s, (i+1)*runLength))
	}
	syncs := d.Syncs() - before
	t.Logf("%d batches of %d records: %d syncs", batches, runLength, syncs)
	if syncs < batches || syncs > batches+batches/2 { // the ledger is synced once a second
		t.Errorf("%d batches took %d syncs, want one each", batches, syncs)
	}
	r.checkOrder((batches + 1) * runLength)
}

// The process is killed while it appends batches, and the power fails then or not. What was acknowledged is there, in order.
func TestKilledDuringABatch(t *testing.T) {
	needMemory(t)
	for _, power := range []bool{false, true} {
		t.Run(fmt.Sprintf("power fails %v", power), func(t *testing.T) {
			d := disktest.Mount(t, disktest.Config{})
			dir := filepath.Join(d.Dir, "store")
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childDir+"="+dir, childBatches+"=1")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			acknowledged := 0
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if acknowledged, err = strconv.Atoi(lines.Text()); err != nil {
					t.Errorf("the process says %q", lines.Text())
				}
				if acknowledged == 20*runLength || err != nil {
					_ = cmd.Process.Kill()
				}
			}
			_ = cmd.Wait() // it was killed
			root, err := os.Readlink(filepath.Join(dir, stagingLink))
			if err != nil {
				t.Fatal(err)
			}
			if power {
				t.Logf("%d bytes are lost", d.LosePower())
				if err := os.RemoveAll(root); err != nil {
					t.Fatal(err)
				}
			}
			r := newRig(t, EmbeddedConfig{Dir: dir})
			info, err := r.s.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if info.Last < uint64(acknowledged) {
				t.Fatalf("the stream ends with %d, %d were acknowledged", info.Last, acknowledged)
			}
			if !power && info.Last%runLength != 0 {
				t.Errorf("the stream ends with %d, within a batch", info.Last)
			}
			for i, number := range r.numbers(int(info.Last)) {
				if number != strconv.Itoa(i) {
					t.Fatalf("record %d has the number %s", i+1, number)
				}
			}
			if _, err := os.Stat(root); err == nil {
				t.Error("the batches of the killed process are left in memory")
			}
			r.await(run(r.s, int(info.Last)))
		})
	}
}

// batchChild appends runs until it is killed, and prints how many records are acknowledged after each.
func batchChild(dir string) error {
	ctx := context.Background()
	e, err := Embedded(ctx, EmbeddedConfig{Dir: dir})
	if err != nil {
		return err
	}
	s, err := e.Open(ctx, engine.Config{Name: "orders", Tags: []string{"orders/#"}})
	if err != nil {
		return err
	}
	const ahead = 4 // runs that wait, so that the appender always has a batch
	var waiting []<-chan error
	for n := 0; ; n += runLength {
		if waiting = append(waiting, run(s, n)); len(waiting) <= ahead {
			continue
		}
		if err := <-waiting[0]; err != nil {
			return err
		}
		waiting = waiting[1:]
		fmt.Println(n + runLength - ahead*runLength)
	}
}

// The power fails while a batch is written: a part of it is in the stream, and what was staged is gone. The part stays, because
// the server cannot tell how long the batch was. Its publisher has no acknowledgement and appends all of it again.
func TestPartOfABatchWithoutItsStaging(t *testing.T) {
	config := EmbeddedConfig{Dir: t.TempDir()}
	r := newRig(t, config)
	r.await(run(r.s, 0))
	r.close()
	messages := blockDir(config.Dir)
	block := filepath.Join(messages, "1.blk")
	text, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	parser, err := newBlockParser("ferry-orders", 1)
	if err != nil {
		t.Fatal(err)
	}
	const kept = 40
	size := 0
	for range kept {
		_, n, err := parser.next(text[size:])
		if err != nil {
			t.Fatal(err)
		}
		size += n
	}
	if err := errors.Join(os.Truncate(block, int64(size)), os.Remove(filepath.Join(messages, "index.db"))); err != nil {
		t.Fatal(err)
	}
	r = newRig(t, config)
	if info, err := r.s.Info(t.Context()); err != nil || info.Last != kept {
		t.Fatalf("the stream has %+v, %v, want %d records", info, err, kept)
	}
	r.await(run(r.s, 0))
	for i, number := range r.numbers(kept + runLength) {
		want := i
		if i >= kept {
			want -= kept
		}
		if number != strconv.Itoa(want) {
			t.Fatalf("record %d has the number %s, want %d", i+1, number, want)
		}
	}
}

// Interleaved publishers repeat their IDs, within a batch and over batches. Each ID is stored once, in the order of its publisher.
func TestRepeatedIDsInBatches(t *testing.T) {
	r := newRig(t, EmbeddedConfig{Dir: t.TempDir()})
	const publishers, each, repeats = 8, 50, 3
	done := make(chan error, publishers*each*repeats)
	for p := range publishers {
		go func() {
			for i := range each {
				for range repeats {
					id := fmt.Sprint(p, "-", i)
					r.s.Append([]engine.Record{{Tag: "orders/a", ID: id, Payload: []byte(id)}}, func(err error) { done <- err })
				}
			}
		}()
	}
	r.await(done)
	info, err := r.s.Info(t.Context())
	if err != nil || info.Records != publishers*each {
		t.Fatalf("the stream has %+v, %v, want %d records", info, err, publishers*each)
	}
	next := make(map[string]int)
	for _, id := range r.numbers(publishers * each) {
		p, number, _ := strings.Cut(id, "-")
		if number != strconv.Itoa(next[p]) {
			t.Fatalf("the stream has %s, want number %d of the publisher", id, next[p])
		}
		next[p]++
	}
}
