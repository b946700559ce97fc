package traffic_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/ferry/proxy/traffic"
)

// Two loops count requests of one route.
func Example() {
	metrics := traffic.NewMetrics(2)
	users := metrics.Route("public", "users")
	users.Done(0, traffic.HTTP(200), 3*time.Millisecond, 120, 4711)
	users.Done(1, traffic.HTTP(503), 40*time.Millisecond, 120, 90)

	for _, r := range metrics.Snapshot().Routes {
		fmt.Println(r.Listener, r.Name, r.Requests[traffic.HTTP(200)], "of", r.Took.Count, "went well")
	}
	// Output:
	// public users 1 of 2 went well
}

func ExampleOpenLog() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "access.log")

	l, err := traffic.OpenLog(&traffic.LogConfig{File: file}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	l.Write(&traffic.Entry{Listener: "public", Method: []byte("GET"), Path: []byte("/a\nb"), Status: 200, Code: traffic.HTTP(200), Attempts: 1})
	if err := l.Close(); err != nil {
		fmt.Println(err)
		return
	}
	line, _ := os.ReadFile(file)
	_, rest, _ := strings.Cut(string(line), ",")
	fmt.Print(rest)
	// Output:
	// "listener":"public","method":"GET","path":"/a\u000ab","status":200,"code":"2xx","attempts":1,"duration_ms":0}
}

func ExampleTraceID() {
	fmt.Printf("%s\n", traffic.TraceID([]byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")))
	// Output:
	// 4bf92f3577b34da6a3ce929d0e0e4736
}
