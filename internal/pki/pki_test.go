package pki

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/transport/memory"
)

func open(t *testing.T, dir string, names ...string) *Identity {
	t.Helper()
	id, err := Open(Config{Dir: dir, Names: names})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return id
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

func TestOpenMakesAllAndKeepsIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	first := open(t, dir)
	made := contents(t, dir)
	for name, mode := range map[string]fs.FileMode{
		CAFile: 0o644, CAKeyFile: 0o600, ServerFile: 0o644, ServerKeyFile: 0o600, TokenFile: 0o600,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); runtime.GOOS != "windows" && got != mode {
			t.Errorf("%s: mode %v, want %v", name, got, mode)
		}
	}
	if len(made) != 5 {
		t.Errorf("%d files, want 5 and no temporary ones: %v", len(made), made)
	}
	second := open(t, dir)
	for name, want := range made {
		if got := contents(t, dir)[name]; got != want {
			t.Errorf("second Open changed %s", name)
		}
	}
	if first.Token() != second.Token() || *first.ResetKey() != *second.ResetKey() {
		t.Error("second Open has another token or reset key")
	}
	if other := open(t, t.TempDir()); other.Token() == first.Token() || *other.ResetKey() == *first.ResetKey() {
		t.Error("two data directories have the same token or reset key")
	}
}

func TestCheckToken(t *testing.T) {
	id := open(t, t.TempDir())
	for got, want := range map[string]bool{id.Token(): true, "": false, id.Token() + "x": false, id.Token()[1:]: false} {
		if id.CheckToken(got) != want {
			t.Errorf("CheckToken of %d characters = %v, want %v", len(got), !want, want)
		}
	}
}

func TestConcurrentOpenAgrees(t *testing.T) {
	dir := t.TempDir()
	ids := make([]*Identity, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			id, err := Open(Config{Dir: dir})
			if err != nil {
				t.Errorf("Open: %v", err)
			}
			ids[i] = id
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	trust, err := ClientTLS(filepath.Join(dir, CAFile))
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		if id.Token() != ids[0].Token() {
			t.Errorf("node %d has another token", i)
		}
		if _, err := handshake(id.ServerTLS(), trust, "localhost"); err != nil {
			t.Errorf("node %d: %v", i, err)
		}
	}
}

// handshake returns the connection state of the server, which has the client's certificate.
func handshake(server, client *tls.Config, name string) (tls.ConnectionState, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	n := memory.New(nil) // connections are buffered, so the sender of a TLS alert does not wait for a reader
	l, err := n.Listen(ctx, "node")
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer l.Close()
	a, err := n.Dial(ctx, "node")
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer a.Close()
	b, err := l.Accept(ctx)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer b.Close()
	client = client.Clone()
	client.ServerName = name
	done := make(chan error, 1)
	go func() { done <- tls.Client(a, client).HandshakeContext(ctx) }()
	s := tls.Server(b, server)
	serverErr := s.HandshakeContext(ctx)
	if serverErr != nil {
		_ = b.Close()
	}
	if err := <-done; err != nil {
		return tls.ConnectionState{}, err
	}
	return s.ConnectionState(), serverErr
}

func TestServerNames(t *testing.T) {
	dir := t.TempDir()
	id := open(t, dir, "edge-7.example", "10.1.2.3")
	trust, err := ClientTLS(filepath.Join(dir, CAFile))
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"127.0.0.1", "::1", "localhost", host, "edge-7.example", "10.1.2.3"} {
		if _, err := handshake(id.ServerTLS(), trust, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := handshake(id.ServerTLS(), trust, "elsewhere.example"); err == nil {
		t.Error("elsewhere.example: accepted, want an error")
	}
	stranger := t.TempDir()
	open(t, stranger)
	other, err := ClientTLS(filepath.Join(stranger, CAFile))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := handshake(id.ServerTLS(), other, "localhost"); err == nil {
		t.Error("another authority: accepted, want an error")
	}
	// If a name is added to the configuration later, the next certificate contains it.
	if _, err := handshake(open(t, dir, "late.example").ServerTLS(), trust, "late.example"); err != nil {
		t.Errorf("late.example: %v", err)
	}
}

func TestClientCertificates(t *testing.T) {
	dir := t.TempDir()
	id := open(t, dir)
	client := func(from *Identity, name string) *tls.Config {
		c, err := ClientTLS(filepath.Join(dir, CAFile))
		if err != nil {
			t.Fatal(err)
		}
		certPEM, keyPEM, err := from.IssueClient(name)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(certPEM, keyPEM)
		if err != nil {
			t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{pair}
		return c
	}
	state, err := handshake(id.ServerTLS(), client(id, "pump-1"), "localhost")
	if err != nil {
		t.Fatal(err)
	}
	if len(state.VerifiedChains) == 0 || state.PeerCertificates[0].Subject.CommonName != "pump-1" {
		t.Errorf("the server sees %v, want a verified pump-1", state.PeerCertificates)
	}
	if _, _, err := id.IssueClient(""); err == nil {
		t.Error("IssueClient without a name: no error")
	}
	// A well-behaved client does not send a certificate from a CA that the server did not name. This client does.
	intruder := client(open(t, t.TempDir()), "intruder")
	forced := intruder.Certificates[0]
	intruder.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &forced, nil }
	state, err = handshake(id.ServerTLS(), intruder, "localhost")
	if err == nil {
		t.Errorf("a client of another authority: accepted as %v", state.PeerCertificates)
	}
}

func TestRenewal(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(plausible))
		id := open(t, dir)
		serial := func() string {
			c, err := id.serverCertificate(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !time.Now().Before(c.Leaf.NotAfter) {
				t.Errorf("serves a certificate that has expired on %v", c.Leaf.NotAfter)
			}
			return c.Leaf.SerialNumber.String()
		}
		first, key := serial(), contents(t, dir)[ServerKeyFile]
		time.Sleep(leafLife - renewBefore - time.Hour)
		if serial() != first {
			t.Error("renewed before it was due")
		}
		time.Sleep(2 * time.Hour)
		second := serial()
		if second == first {
			t.Error("not renewed when due")
		}
		if contents(t, dir)[ServerKeyFile] != key {
			t.Error("renewal changed the key")
		}
		if id = open(t, dir); serial() != second {
			t.Error("Open does not find the renewed certificate")
		}
		time.Sleep(caLife)
		if _, err := Open(Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), CAFile) {
			t.Errorf("Open with an authority that has expired = %v, want an error that names %s", err, CAFile)
		}
	})
}

// TestWrongClock: a device starts for the first time with a clock of the year 2000. After the clock was set, the authority is still valid, and the node has a
// certificate for now. With a clock that was set back, the node renews a certificate that is not valid yet.
func TestWrongClock(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		check := func(id *Identity) {
			t.Helper()
			c, err := id.serverCertificate(nil)
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AddCert(id.ca)
			if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "localhost"}); err != nil {
				t.Error(err)
			}
		}
		id := open(t, dir)
		check(id)
		time.Sleep(time.Until(plausible.AddDate(1, 0, 0)))
		check(id)
		check(open(t, dir))
		early := *id.server.Leaf
		early.NotBefore = time.Now().Add(time.Hour)
		if id.usable(&early) {
			t.Error("a certificate that is not valid yet is usable")
		}
	})
}

// TestRenewalThatCannotBeWritten: the node serves the renewed certificate, and says that it is not stored.
func TestRenewalThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var unsaved []error
		id, err := Open(Config{Dir: dir, Unsaved: func(err error) { unsaved = append(unsaved, err) }})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, ServerFile)); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, ServerFile, "in the way"), 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(leafLife - renewBefore + time.Hour)
		for range 3 {
			c, err := id.serverCertificate(nil)
			if err != nil {
				t.Fatal(err)
			}
			if time.Until(c.Leaf.NotAfter) < renewBefore {
				t.Errorf("serves a certificate until %v", c.Leaf.NotAfter)
			}
		}
		if len(unsaved) != 1 || !strings.Contains(unsaved[0].Error(), ServerFile) {
			t.Errorf("got %v, want one error that names %s", unsaved, ServerFile)
		}
	})
}

func TestBadDirectories(t *testing.T) {
	write := func(name, content string, mode fs.FileMode) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			open(t, dir)
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(content), mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			return dir
		}
	}
	rows := []struct {
		name string
		make func(t *testing.T, dir string) string
		want string // part of the error, besides the path
	}{
		{"a file in the way", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "f")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(path, "data")
		}, "choose another"},
		{"empty authority key", write(CAKeyFile, "", 0o600), CAKeyFile},
		{"cut authority", write(CAFile, "-----BEGIN CERTIFICATE-----\nMIIB", 0o644), CAFile},
		{"short token", write(TokenFile, "abc\n", 0o600), TokenFile},
		{"token for all to read", write(TokenFile, strings.Repeat("a", 43)+"\n", 0o644), "chmod 600"},
		{"authority of another key", func(t *testing.T, dir string) string {
			other := t.TempDir()
			open(t, other)
			return write(CAFile, contents(t, other)[CAFile], 0o644)(t, dir)
		}, "does not belong"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && r.want == "chmod 600" {
				return // this operating system has no permission bits
			}
			dir := r.make(t, t.TempDir())
			_, err := Open(Config{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), r.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("Open = %v, want an error with %q and the path", err, r.want)
			}
		})
	}
}

func TestUnwritableDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if f, err := os.CreateTemp(dir, ""); err == nil {
		_ = f.Close()
		dir = "/proc" // even root cannot create files in /proc
	}
	_, err := Open(Config{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "make it writable") {
		t.Errorf("Open = %v, want an error that names the directory and says what to do", err)
	}
}

func TestServerCertificateIsRemade(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	path := filepath.Join(dir, ServerFile)
	if err := os.WriteFile(path, []byte("garbage"), 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	block, _ := pem.Decode([]byte(contents(t, dir)[ServerFile]))
	if block == nil {
		t.Fatal("no certificate in server.pem")
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		t.Error(err)
	}
}

func TestClientTLSWithoutCertificates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pem")
	if _, err := ClientTLS(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no file: %v, want an error that names %s", err, path)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), 10), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ClientTLS(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no certificate: %v, want an error that names %s", err, path)
	}
}

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	id, err := Open(Config{Dir: dir, Names: []string{"edge-7.example"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	token, err := ReadToken(filepath.Join(dir, TokenFile))
	fmt.Println(id.CheckToken(token), err)
	// Output: true <nil>
}
