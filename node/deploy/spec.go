package deploy

import (
	"time"

	"example.com/ferry/internal/bytesize"
	"example.com/ferry/internal/naming"
	"example.com/ferry/node/config"
)

// Service is the service that a node serves, by which functions are deployed on it. Its methods:
const (
	Service        = "ferry.Functions"
	MethodDeploy   = Service + ".Deploy"   // a stream of Piece -> Deployed
	MethodList     = Service + ".List"     // ListRequest -> List
	MethodRollback = Service + ".Rollback" // Target -> Deployed
	MethodRemove   = Service + ".Remove"   // Target -> Target
)

// PieceSize is how many bytes of a module ferry deploy sends at once.
const PieceSize = 128 << 10

// Spec says what a deployed function is. The fields mean what those of functions[] in the configuration mean.
type Spec struct {
	Name        string        `json:"name"`
	Observe     []string      `json:"observe"` // empty: that of the version in use, and all other fields that are not set too
	Where       string        `json:"where,omitempty"`
	Group       string        `json:"group,omitempty"`
	Durable     string        `json:"durable,omitempty"`
	From        string        `json:"from,omitempty"`
	Policy      string        `json:"policy,omitempty"`
	CPU         string        `json:"cpu,omitempty"`
	Timeout     time.Duration `json:"timeout,omitempty"` // nanoseconds
	Memory      int64         `json:"memory,omitempty"`  // bytes
	Concurrency int           `json:"concurrency,omitempty"`
}

// Piece is a part of a deployment. The first one has the Spec; Data of all of them, joined, is the module.
type Piece struct {
	Spec *Spec  `json:"spec,omitempty"`
	Data []byte `json:"data,omitempty"` // in JSON: base64
}

// Deployed is the response to Deploy and Rollback.
type Deployed struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	SHA256  string `json:"sha256"`
	Error   string `json:"error,omitempty"` // why the version, which is in use, does not run
}

// Target is the function that Rollback and Remove mean.
type Target struct {
	Name string `json:"name"`
}

// ListRequest is the request of List.
type ListRequest struct{}

// List is the response to List.
type List struct {
	Functions []Function `json:"functions"`
}

// Function is a deployed function.
type Function struct {
	Name     string    `json:"name"`
	Current  int       `json:"current"`  // the version in use
	Versions []Version `json:"versions"` // the oldest first
}

// Version is one version of a function.
type Version struct {
	Number   int       `json:"number"` // from 1; each deployment has the next one
	SHA256   string    `json:"sha256"` // of the module, in hex
	Bytes    int64     `json:"bytes"`
	Deployed time.Time `json:"deployed"`
	Spec     Spec      `json:"spec"`
}

// CheckName reports whether a function may be deployed under this name, which is the name of a directory.
func CheckName(s string) bool { return naming.ValidWith(s, ".") && s[0] != '.' }

// Config returns the function as the configuration describes it, with the file of its module.
func (s Spec) Config(file string) config.Function {
	f := config.Function{
		Name: s.Name, Wasm: file, Observe: s.Observe, Where: s.Where, Group: s.Group, Durable: s.Durable, From: s.From,
		Policy: config.Policy(s.Policy), CPU: config.Class(s.CPU), Timeout: s.Timeout, Memory: bytesize.Size(s.Memory),
		Concurrency: s.Concurrency,
	}
	f.Complete()
	return f
}
