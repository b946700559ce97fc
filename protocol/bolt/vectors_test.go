package bolt

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite what stands below the dashes in testdata/vectors.txt")

// vector is one block of testdata/vectors.txt.
type vector struct {
	name  string
	frame []byte
	want  string
}

func vectors(t testing.TB) (head string, all []vector) {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(strings.TrimSpace(string(raw)), "\n# ")
	for _, block := range blocks[1:] {
		lines := strings.SplitN(strings.TrimSpace(block)+"\n", "\n", 4)
		if len(lines) != 4 || lines[2] != "--" {
			t.Fatalf("not a vector: %q", block)
		}
		frame, err := hex.DecodeString(lines[1])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, vector{lines[0], frame, strings.TrimSpace(lines[3])})
	}
	return strings.TrimSpace(blocks[0]), all
}

// describe returns all fields of a whole frame in one line of text.
func describe(t *testing.T, f Frame) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v, %v, id %d, codec %d, switch %d, ", f.Dialect(), f.Type(), f.Command(), f.ID(), f.Codec(), f.Switch())
	if f.Type() == Response {
		fmt.Fprintf(&b, "%v, ", f.Status())
	} else {
		fmt.Fprintf(&b, "timeout %v, ", f.Timeout())
	}
	fmt.Fprintf(&b, "class %q, header", f.Class())
	for pair, err := range f.Header().All() {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, " %s=%q", pair.Key, pair.Value)
	}
	fmt.Fprintf(&b, ", content %q", f.Content())
	if f.HasCRC() {
		fmt.Fprintf(&b, ", CRC right: %v", f.CheckCRC() == nil)
	}
	fmt.Fprintf(&b, ", %d bytes", f.FrameLen())
	return b.String()
}

// message returns the Message from which Append writes the frame f.
func message(f Frame) Message {
	return Message{
		Dialect: f.Dialect(), Type: f.Type(), Command: f.Command(), ID: f.ID(), Codec: f.Codec(), Switch: f.Switch(),
		Timeout: f.Timeout(), Status: f.Status(), Class: string(f.Class()), Header: f.Header(), Content: f.Content(),
	}
}

// whole returns the frame that data consists of.
func whole(t testing.TB, data []byte) Frame {
	t.Helper()
	f, need, err := Next(data, Limits{})
	if err != nil || need != 0 || f.FrameLen() != len(data) {
		t.Fatalf("%x: a frame of %d bytes, need %d, %v; want %d bytes", data, f.FrameLen(), need, err, len(data))
	}
	return f
}

func TestVectors(t *testing.T) {
	head, all := vectors(t)
	var b strings.Builder
	fmt.Fprintln(&b, head)
	for _, v := range all {
		f := whole(t, v.frame)
		got := describe(t, f)
		fmt.Fprintf(&b, "\n# %s\n%x\n--\n%s\n", v.name, v.frame, got)
		if got != v.want && !*update {
			t.Errorf("%s: got %s, want %s", v.name, got, v.want)
		}
		again, err := Append([]byte("before"), message(f))
		if want := "before" + string(v.frame); err != nil || string(again) != want {
			t.Errorf("%s: written again: got %x, %v, want %x", v.name, again, err, want)
		}
	}
	if len(all) != 11 && !*update {
		t.Errorf("%d vectors, want 11", len(all))
	}
	if *update {
		if err := os.WriteFile("testdata/vectors.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBuilders: frames that Append builds from values equal those that Java builds.
func TestBuilders(t *testing.T) {
	_, all := vectors(t)
	request := Message{
		Dialect: V1, Type: Request, Command: CommandRequest, ID: 1, Codec: Hessian2, Timeout: 3 * time.Second,
		Class: "java.lang.String", Header: AppendPair(nil, Service, "com.test.Echo:1.0"), Content: []byte("hello"),
	}
	response := Message{Dialect: V1, Type: Response, Command: CommandResponse, ID: 1, Codec: Hessian2, Class: "java.lang.String", Content: []byte("world")}
	with := func(m Message, change func(*Message)) []byte {
		change(&m)
		b, err := Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	heartbeat, err := AppendHeartbeat(nil, V1, 77)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]byte{
		"v1 request":  with(request, func(*Message) {}),
		"v1 oneway":   with(request, func(m *Message) { m.Type, m.ID = Oneway, 2 }),
		"v1 response": with(response, func(*Message) {}),
		"v1 response of a client that waited too long": with(response, func(m *Message) { m.ID, m.Status = 9, StatusTimeout }),
		"v1 heartbeat":             heartbeat,
		"v1 answer to a heartbeat": AppendHeartbeatAck(nil, whole(t, heartbeat)),
		"v2 request":               with(request, func(m *Message) { m.Dialect = V2 }),
		"v2 request with CRC":      with(request, func(m *Message) { m.Dialect, m.Switch = V2CRC, SwitchCRC }),
		"v2 response with CRC":     with(response, func(m *Message) { m.Dialect, m.Switch = V2CRC, SwitchCRC }),
		"v1 request with nothing in it": with(Message{Dialect: V1, Type: Request, Command: CommandRequest, ID: 3, Codec: Hessian2, Timeout: -time.Millisecond},
			func(*Message) {}),
	}
	for _, v := range all {
		if got, ok := rows[v.name]; ok && !bytes.Equal(got, v.frame) {
			t.Errorf("%s: got %x, want %x", v.name, got, v.frame)
		}
		delete(rows, v.name)
	}
	for name := range rows {
		t.Errorf("no vector %q", name)
	}
}
