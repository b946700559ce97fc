package native

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Bounds of paths.
const (
	MaxHops   = 16 // the most nodes of a path
	MaxNodeID = 64 // the longest id of a node, in bytes
	MaxPaths  = 64 // path numbers of a stream are below this
)

// Path lists the ids of the nodes that a message has passed, the one that accepted it first at the front. The last one is the node
// at the client's end of the connection.
type Path []string

// Contains reports whether the path has the node with an id.
func (p Path) Contains(node string) bool { return slices.Contains(p, node) }

// ForwardFrame gives a path to a number. PUBs with FlagForwarded that follow on the stream name their path by the number. A later
// FORWARD with the same number replaces the path.
type ForwardFrame struct {
	Number uint32
	Path   Path
}

// CheckNodeID returns an error if id is not the id of a node: 1 to MaxNodeID letters, digits, dots, hyphens and underscores.
func CheckNodeID(id string) error {
	if id == "" || len(id) > MaxNodeID {
		return fmt.Errorf("native: node id of %d bytes: want 1 to %d", len(id), MaxNodeID)
	}
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_' {
			return fmt.Errorf("native: node id %q: want letters, digits, dots, hyphens and underscores", id)
		}
	}
	return nil
}

// AppendForward appends a FORWARD. Its path has 1 to MaxHops nodes.
func AppendForward(dst []byte, v ForwardFrame) []byte {
	n := len(dst)
	dst = binary.BigEndian.AppendUint32(appendHeader(dst, Forward, 0), v.Number)
	dst = append(dst, byte(len(v.Path)), 0, 0, 0)
	for _, node := range v.Path {
		dst = appendText(dst, node)
	}
	return seal(dst, n)
}

// ParseForward reads a FORWARD. It refuses a number above the bound, a malformed id, and a path that has a node twice.
func ParseForward(f Frame) (v ForwardFrame, err error) {
	r := readFields(f)
	v.Number = r.u32()
	hops := int(r.u8())
	r.take(3)
	if err := r.done(); err != nil {
		return v, err
	}
	if hops == 0 || hops > MaxHops || v.Number >= MaxPaths {
		return v, &Error{Code: CodeProtocol, Reason: fmt.Sprintf("FORWARD with number %d and a path of %d nodes: want a number below %d and 1 to %d nodes", v.Number, hops, MaxPaths, MaxHops)}
	}
	v.Path = make(Path, 0, hops)
	for range hops {
		node := r.text()
		if err := r.done(); err != nil {
			return v, err
		}
		if err := CheckNodeID(node); err != nil {
			return v, &Error{Code: CodeProtocol, Reason: "FORWARD with " + err.Error()}
		}
		if v.Path.Contains(node) {
			return v, &Error{Code: CodeProtocol, Reason: fmt.Sprintf("FORWARD with a path that has node %q twice", node)}
		}
		v.Path = append(v.Path, node)
	}
	return v, nil
}

// AppendUntag appends an UNTAG: the client gives back its grant for the tag with a number.
func AppendUntag(dst []byte, tag uint32) []byte { return appendNumber(dst, Untag, tag) }

// Address overwrites the fields of a PUB by which a node forwards it: the tag number at the other node, and the number of its path.
// Of the flags it keeps FlagValid.
func (f Frame) Address(tag, path uint32) {
	f[5] = f[5]&FlagValid | FlagForwarded
	binary.BigEndian.PutUint32(f[8:], tag)
	binary.BigEndian.PutUint32(f[12:], path)
}

// SetSource overwrites the source id of a PUB.
func (f Frame) SetSource(source uint32) { binary.BigEndian.PutUint32(f[12:], source) }
