package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/ferry/node/backup"
)

const mqttYAML = `
listeners:
  - address: tcp://127.0.0.1:0
  - {address: 'mqtt://127.0.0.1:0', anonymous: device}
admin:
  address: 127.0.0.1:0
identities:
  - {name: device, publish: ['#'], subscribe: ['#']}
`

// exchange sends packets of MQTT 3.1.1 to a node's listener, returns the first size bytes of what comes back, and disconnects.
func exchange(t *testing.T, n *runningNode, packets string, size int) []byte {
	t.Helper()
	conn, err := net.Dial("tcp", regexp.MustCompile(`mqtt://(\S+)`).FindStringSubmatch(n.welcome)[1])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, packets); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, size)
	if _, err := io.ReadFull(bufio.NewReader(conn), got); err != nil {
		t.Fatalf("%v after % x", err, got)
	}
	if _, err := io.WriteString(conn, "\xe0\x00"); err != nil { // DISCONNECT
		t.Fatal(err)
	}
	return got
}

// TestBackupHasStateOfMQTT saves a node with a session and a retained message, both new at that moment, and its id. The restored node has them. With
// --as-new-node it has another id.
func TestBackupHasStateOfMQTT(t *testing.T) {
	t.Parallel()
	n := runNode(t, mqttYAML)
	const (
		connect   = "\x10\x0f\x00\x04MQTT\x04\x00\x00\x3c\x00\x03dev" // the session stays
		subscribe = "\x82\x08\x00\x01\x00\x03a/b\x01"
		retain    = "\x31\x09\x00\x03a/bhot!"
		ping      = "\xc0\x00"
	)
	exchange(t, n, connect+subscribe+ping, 4+5+2)
	exchange(t, n, strings.Replace(connect, "dev", "pub", 1)+retain+ping, 4+2)
	data := filepath.Join(n.dir, "ferry-data")
	at := regexp.MustCompile(`dashboard: (\S+)/\n`).FindStringSubmatch(n.welcome)[1]
	archive := filepath.Join(t.TempDir(), "ferry.tar")
	if got := ferryWith("", "backup", archive, "-a", at, "--data-dir", data); got.status != 0 {
		t.Fatalf("backup: %+v", got)
	}
	id, err := os.ReadFile(filepath.Join(data, backup.NodeIDFile))
	if err != nil {
		t.Fatal(err)
	}
	interruptAndWait(t, n)

	for name, flags := range map[string][]string{"in place of it": nil, "as a new node": {"--as-new-node"}} {
		restored := filepath.Join(t.TempDir(), "restored")
		if got := ferryWith("", append([]string{"restore", "--data-dir", restored, archive}, flags...)...); got.status != 0 {
			t.Fatalf("%s: restore: %+v", name, got)
		}
		n := runNode(t, mqttYAML+fmt.Sprintf("data_dir: %s\n", restored))
		got := exchange(t, n, connect+ping, 4)
		if want := "\x20\x02\x01\x00"; string(got) != want { // session present
			t.Errorf("%s: CONNACK % x, want % x", name, got, want)
		}
		want := "\x20\x02\x00\x00" + "\x90\x03\x00\x01\x00" + retain
		if got := exchange(t, n, strings.Replace(connect, "dev", "two", 1)+strings.Replace(subscribe, "b\x01", "b\x00", 1), len(want)); string(got) != want {
			t.Errorf("%s: got % x, want the retained message: % x", name, got, want)
		}
		now, err := os.ReadFile(filepath.Join(restored, backup.NodeIDFile))
		if err != nil {
			t.Fatal(err)
		}
		if same := bytes.Equal(id, now); same != (flags == nil) {
			t.Errorf("%s: the node's id is %s, and was %s", name, now, id)
		}
		interruptAndWait(t, n)
	}
}
