package traffic

import "time"

// LogConfig is an access log: a JSON object a line.
type LogConfig struct {
	// File is the path of the file lines are added to, or "-" for standard output. Empty means no log.
	File string `yaml:"file,omitempty"`

	// Sample is the share of requests that are logged: above 0, up to 1. Zero means 1, all of them. Requests that failed at the
	// proxy or were answered 5xx are logged in any case.
	Sample float64 `yaml:"sample,omitempty"`
}

// Log is an access log. A nil Log takes nothing. Its methods may be called by any goroutine and never wait.
type Log struct{}

// Takes reports whether a request is among those to be logged. random is 64 random bits.
func (l *Log) Takes(random uint64, c Code) bool { return false }

// Write logs an entry. It copies what it needs of e.
func (l *Log) Write(e *Entry) {}

// Entry is a request as it is logged.
type Entry struct {
	Listener, Route, Cluster, Endpoint string
	Client                             string
	Method, Host, Path, Trace          []byte // Bolt: service and method are Host and Method; Trace is the trace id of traceparent
	Status                             int    // 0 if the client left
	Code                               Code
	Refusal                            Refusal
	Attempts                           int
	In, Out                            int64
	Took                               time.Duration
}
