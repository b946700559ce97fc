package backup

import (
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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

// functionFile matches the files of a deployed function.
var functionFile = regexp.MustCompile(`^` + Functions + `/[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}/(` + regexp.QuoteMeta(FunctionManifest) + `|[0-9]{1,9}\.wasm)$`)

// FileOf returns the file with this name; slashes separate directories. ok is false if an archive has no file of this name.
func FileOf(name string) (f File, ok bool) {
	for _, f := range slices.Concat(Files, StateFiles) {
		if f.Name == name {
			return f, true
		}
	}
	return File{name, 0o600}, functionFile.MatchString(name)
}

// The names of entries.
const (
	manifestEntry = "manifest.json"
	dataPrefix    = "data/"
	streamsPrefix = "streams/"
	sumEntry      = "sha256"
)

// streamName matches the name of a stream.
var streamName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// partName returns the name of a part of a stream.
func partName(stream string, part int) string {
	return streamsPrefix + stream + "/" + strconv.Itoa(part)
}

// parsePart is the inverse of partName.
func parsePart(name string) (stream string, part int, ok bool) {
	rest, ok := strings.CutPrefix(name, streamsPrefix)
	stream, number, found := strings.Cut(rest, "/")
	part, err := strconv.Atoi(number)
	return stream, part, ok && found && err == nil && part >= 0 && streamName.MatchString(stream) && name == partName(stream, part)
}

// addSum adds an entry to the sum over an archive.
func addSum(h hash.Hash, name string, content []byte) {
	fmt.Fprintf(h, "%s %d\n", name, len(content))
	_, _ = h.Write(content) // never fails
}

func sumOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }
