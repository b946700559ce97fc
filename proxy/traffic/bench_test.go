package traffic_test

import (
	"path/filepath"
	"testing"
	"time"

	"example.com/ferry/proxy/traffic"
)

func BenchmarkDone(b *testing.B) {
	r := traffic.NewMetrics(1).Route("a", "b")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Done(0, traffic.HTTP(200), time.Duration(i&1023)*time.Microsecond, 120, 1100)
	}
}

// BenchmarkDoneByLoops has all loops count requests of one route, each loop with its own counters.
func BenchmarkDoneByLoops(b *testing.B) {
	r := traffic.NewMetrics(64).Route("a", "b")
	loops := make(chan int, 64)
	for i := range cap(loops) {
		loops <- i
	}
	b.RunParallel(func(pb *testing.PB) {
		loop := <-loops
		for i := 0; pb.Next(); i++ {
			r.Done(loop, traffic.HTTP(200), time.Duration(i&1023)*time.Microsecond, 120, 1100)
		}
	})
}

func BenchmarkOpened(b *testing.B) {
	l := traffic.NewMetrics(1).Listener("a")
	for b.Loop() {
		l.Opened(0)
	}
}

func BenchmarkSnapshot(b *testing.B) {
	metrics := traffic.NewMetrics(2)
	for i := range 100 {
		metrics.Route("a", string(rune('a'+i))).Done(0, traffic.HTTP(200), time.Millisecond, 1, 1)
	}
	for b.Loop() {
		metrics.Snapshot()
	}
}

func BenchmarkTraceID(b *testing.B) {
	value := []byte(traceparent)
	for b.Loop() {
		traffic.TraceID(value)
	}
}

func BenchmarkWrite(b *testing.B) {
	l, err := traffic.OpenLog(&traffic.LogConfig{File: filepath.Join(b.TempDir(), "access.log")}, nil)
	if err != nil {
		b.Fatal(err)
	}
	e := traffic.Entry{
		Listener: "public", Route: "users", Cluster: "web", Endpoint: "127.0.0.1:18090", Client: "192.0.2.7:50312",
		Method: []byte("GET"), Host: []byte("example.com"), Path: []byte("/users/4711?fields=name"), Trace: []byte(traceID),
		Status: 200, Code: traffic.HTTP(200), Attempts: 1, In: 120, Out: 1100, Took: 1234 * time.Microsecond,
	}
	b.ReportAllocs()
	for b.Loop() {
		l.Write(&e)
	}
	b.StopTimer()
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	s := l.Stats()
	b.ReportMetric(100*float64(s.Dropped)/float64(s.Dropped+s.Written), "%dropped")
}
