package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
)

// TestCertificates checks what is found about the certificate of a listener.
func TestCertificates(t *testing.T) {
	t.Parallel()
	ca, other := certstest.NewCA(t, "one"), certstest.NewCA(t, "two")
	within := ca.Intermediate(t, "within")
	for _, row := range []struct {
		name string
		leaf certstest.Leaf
		also [][]byte // certificates in the same file
		mode os.FileMode
		want string
	}{
		{name: "good", leaf: certstest.Leaf{Names: []string{"127.0.0.1"}}},
		{name: "chain", leaf: certstest.Leaf{Names: []string{"127.0.0.1"}}, also: [][]byte{within.PEM}},
		{name: "expired", leaf: certstest.Leaf{Names: []string{"127.0.0.1"}, Expired: true}, want: "fault certificates: has expired on "},
		{name: "expires soon", leaf: certstest.Leaf{Names: []string{"127.0.0.1"}}, want: "warning certificates: expires in "},
		{name: "no names", leaf: certstest.Leaf{CommonName: "edge-1"}, want: "fault certificates: has no names"},
		{name: "another name", leaf: certstest.Leaf{Names: []string{"edge-1"}}, want: "warning certificates: is not for 127.0.0.1"},
		{name: "wrong chain", leaf: certstest.Leaf{Names: []string{"127.0.0.1"}}, also: [][]byte{other.PEM}, want: "fault certificates: did not issue"},
		{name: "key for everyone", leaf: certstest.Leaf{Names: []string{"127.0.0.1"}}, mode: 0o644, want: "fault certificates: may read the key"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			issuer := ca
			if len(row.also) > 0 {
				issuer = within
			}
			pair, dir := issuer.Issue(t, row.leaf), t.TempDir()
			pair.CertPEM = slices.Concat(append([][]byte{pair.CertPEM}, row.also...)...)
			cert, key := pair.Write(t, dir, "a")
			if row.mode != 0 {
				chmod(t, key, row.mode)
			}
			m := newMachine(t)
			m.Now, m.Built = time.Now, time.Now()
			text := "listeners: [{address: 'tls://127.0.0.1:1', cert_file: '" + filepath.ToSlash(cert) + "', key_file: '" + filepath.ToSlash(key) + "'}]\n"
			found := bad(examine(t, m, text, nil))
			dates := strings.Contains(row.want, "expire") // all of the test's certificates end within two days
			found = slices.DeleteFunc(found, func(f Finding) bool {
				return f.Check != "certificates" || !dates && strings.Contains(f.What, "expires in ")
			})
			if row.want == "" {
				if len(found) > 0 {
					t.Fatalf("found %+v, want nothing", found)
				}
				return
			}
			head, part, _ := strings.Cut(row.want, ": ")
			if len(found) != 1 || string(found[0].Severity)+" "+found[0].Check != head || !strings.Contains(found[0].What, part) {
				t.Fatalf("found %+v, want %s", found, row.want)
			}
			if strings.Contains(found[0].Mend, "> "+cert) {
				t.Errorf("%s: the shell empties the file before cat reads it", found[0].Mend)
			}
			if !strings.Contains(found[0].Where, "node.yaml:2: listeners[0].cert_file") {
				t.Errorf("found at %s, want the line of the field", found[0].Where)
			}
		})
	}
}

// TestAuthority checks that a certificate authority that expires soon is a warning, and one that has expired a fault.
func TestAuthority(t *testing.T) {
	t.Parallel()
	ca := certstest.NewCA(t, "node")
	ends := ca.Cert.NotAfter
	for _, row := range []struct {
		now  time.Time
		want Severity
	}{{ends.Add(-time.Hour), Warning}, {ends.Add(time.Hour), Fault}} {
		file := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(file, ca.PEM, 0o600); err != nil {
			t.Fatal(err)
		}
		x := &exam{now: row.now}
		x.authority(file)
		if len(x.list) != 1 || x.list[0].Severity != row.want || x.list[0].Mend == "" {
			t.Errorf("at %v: %+v, want one %s", row.now, x.list, row.want)
		}
	}
}
