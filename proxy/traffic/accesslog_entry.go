package traffic

import (
	"strconv"
	"time"
)

// Entry is the access log entry of one request.
type Entry struct {
	Listener, Route, Cluster, Endpoint string
	Client                             string
	TLS, ServerName, ClientIdentity    string // the version of TLS, the server name and the certificate's identity; empty without
	Method, Host, Path, Trace          []byte // for Bolt, Host is the service; Trace is a result of TraceID
	Status                             int    // 0 if the client left before the response
	Code                               Code
	Refusal                            Refusal
	Reason                             Reason
	Attempts                           int
	In, Out                            int64 // bytes of the request and of the response, heads included
	Took                               time.Duration
}

// append appends e as one line: a JSON object. Empty and zero members are omitted.
func (e *Entry) append(b []byte, now time.Time) []byte {
	b = append(b, `{"time":"`...)
	b = now.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, '"')
	b = appendText(b, "listener", e.Listener)
	b = appendText(b, "route", e.Route)
	b = appendText(b, "cluster", e.Cluster)
	b = appendText(b, "endpoint", e.Endpoint)
	b = appendText(b, "client", e.Client)
	b = appendText(b, "tls", e.TLS)
	b = appendText(b, "server_name", e.ServerName)
	b = appendText(b, "client_identity", e.ClientIdentity)
	b = appendText(b, "method", e.Method)
	b = appendText(b, "host", e.Host)
	b = appendText(b, "path", e.Path)
	b = appendCount(b, "status", int64(e.Status))
	b = appendText(b, "code", e.Code.String())
	if status, ok := e.Code.GRPCStatus(); ok {
		b = strconv.AppendInt(appendName(b, "grpc_status"), int64(status), 10)
	}
	if e.Refusal != Forwarded {
		b = appendText(b, "refusal", e.Refusal.String())
	}
	b = appendText(b, "reason", e.Reason.String())
	b = appendCount(b, "attempts", int64(e.Attempts))
	b = appendCount(b, "bytes_in", e.In)
	b = appendCount(b, "bytes_out", e.Out)
	b = appendName(b, "duration_ms")
	b = strconv.AppendFloat(b, float64(e.Took.Microseconds())/1000, 'f', -1, 64)
	b = appendText(b, "trace_id", e.Trace)
	return append(b, "}\n"...)
}

func appendName(b []byte, name string) []byte {
	b = append(b, `,"`...)
	b = append(b, name...)
	return append(b, `":`...)
}

// appendCount appends a JSON member. It appends nothing if n is 0.
func appendCount(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(appendName(b, name), n, 10)
}

// appendText appends a JSON member. It appends nothing if text is empty.
func appendText[T string | []byte](b []byte, name string, text T) []byte {
	if len(text) == 0 {
		return b
	}
	b = append(appendName(b, name), '"')
	return append(appendEscaped(b, text), '"')
}
