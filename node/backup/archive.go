package backup

import (
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/internal/naming"
	"example.com/ferry/internal/pki"
)

// Version is the version of the archives that this package writes. It reads no other.
const Version = 2

// maxPart bounds an entry of an archive, in bytes. A part of a stream has less than 1 MiB, or one record. The retained messages are one
// entry, of 4/3 of mqtt.retained_size.
const maxPart = 1 << 30

// Manifest is the first entry.
type Manifest struct {
	Version int       `json:"version"`
	Made    time.Time `json:"made"`
	Engine  string    `json:"engine"`  // name of the engine that wrote the streams; empty if there is none
	Address string    `json:"address"` // of the engine: embedded, nats://HOST
	Streams []string  `json:"streams"` // those in the archive
}

// File is a file of a data directory.
type File struct {
	Name string
	Mode fs.FileMode
}

// Files are the files that each data directory has, and their modes.
var Files = []File{
	{pki.CAFile, 0o644},
	{pki.CAKeyFile, 0o600},
	{pki.ServerFile, 0o644},
	{pki.ServerKeyFile, 0o600},
	{pki.TokenFile, 0o600},
}

// NodeIDFile has the id of the node in the paths of forwarded messages.
const NodeIDFile = "node-id"

// StateFiles are the files that some data directories have beside Files: the id of the node, and the sessions and retained messages of MQTT.
var StateFiles = []File{
	{NodeIDFile, 0o644},
	{"mqtt/sessions.json", 0o600},
	{"mqtt/retained.json", 0o600},
}

// Functions is the directory, in a data directory, of the functions that were deployed. Each has a directory in it, with the list of its
// versions and their modules.
const (
	Functions        = "functions"
	FunctionManifest = "deployment.json"
)

// isFunctionFile reports whether a name is that of a file of a deployed function.
func isFunctionFile(name string) bool {
	part := strings.Split(name, "/")
	if len(part) != 3 || part[0] != Functions || !naming.ValidWith(part[1], ".") || part[1][0] == '.' {
		return false
	}
	version, module := strings.CutSuffix(part[2], ".wasm")
	return part[2] == FunctionManifest || module && 0 < len(version) && len(version) < 10 && strings.Trim(version, "0123456789") == ""
}

// FileOf returns the file with this name; slashes separate directories. ok is false if an archive has no file of this name.
func FileOf(name string) (f File, ok bool) {
	for _, f := range slices.Concat(Files, StateFiles) {
		if f.Name == name {
			return f, true
		}
	}
	return File{name, 0o600}, isFunctionFile(name)
}

// The names of entries.
const (
	manifestEntry = "manifest.json"
	dataPrefix    = "data/"
	streamsPrefix = "streams/"
	sumEntry      = "sha256"
)

// partName returns the name of a part of a stream.
func partName(stream string, part int) string {
	return streamsPrefix + stream + "/" + strconv.Itoa(part)
}

// parsePart is the inverse of partName.
func parsePart(name string) (stream string, part int, ok bool) {
	rest, ok := strings.CutPrefix(name, streamsPrefix)
	stream, number, found := strings.Cut(rest, "/")
	part, err := strconv.Atoi(number)
	return stream, part, ok && found && err == nil && part >= 0 && naming.Valid(stream) && name == partName(stream, part)
}

// addSum adds an entry to the sum over an archive.
func addSum(h hash.Hash, name string, content []byte) {
	fmt.Fprintf(h, "%s %d\n", name, len(content))
	_, _ = h.Write(content) // never fails
}

func sumOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }
