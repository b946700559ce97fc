package certs_test

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/certs/certstest"
)

// served is a Server with one certificate.
type served struct {
	*certs.Server
	store *certs.Store
	log   *lockedBuffer
	ca    *certstest.CA
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func serve(t *testing.T, ca *certstest.CA, certFile, keyFile string) *served {
	t.Helper()
	s := &served{log: new(lockedBuffer), ca: ca}
	s.store = certs.NewStore(slog.New(slog.NewTextHandler(s.log, nil)))
	var err error
	if s.Server, err = s.store.Server(config(), []certs.Files{{CertFile: certFile, KeyFile: keyFile}}, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// serial returns the serial number of the certificate that a new handshake shows.
func (s *served) serial(t *testing.T) *big.Int {
	t.Helper()
	_, state, err := handshake(t, s.Config(), &tls.Config{RootCAs: s.ca.Pool(), ServerName: "a.example"})
	if err != nil {
		t.Fatal(err)
	}
	return state.PeerCertificates[0].SerialNumber
}

func (s *served) shows(t *testing.T, want *certstest.Pair, when string) {
	t.Helper()
	if got := s.serial(t); got.Cmp(want.Cert.SerialNumber) != 0 {
		t.Errorf("%s: certificate %v, want %v; log:\n%s", when, got, want.Cert.SerialNumber, s.log)
	}
}

var named = certstest.Leaf{Names: []string{"a.example"}}

func TestReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := certstest.NewCA(t, "one")
	first, second, third := ca.Issue(t, named), ca.Issue(t, named), ca.Issue(t, named)
	certFile, keyFile := first.Write(t, dir, "a")
	s := serve(t, ca, certFile, keyFile)
	s.shows(t, first, "at first")

	second.Write(t, dir, "a")
	s.store.Check()
	s.shows(t, first, "while the files may still be written")
	s.store.Check()
	s.shows(t, second, "after a check without a change")

	certstest.Replace(t, certFile, third.CertPEM)
	for range 4 {
		s.store.Check()
	}
	s.shows(t, second, "with a new certificate and the old key")
	if got, want := s.log.String(), "level=ERROR"; strings.Count(got, want) != 1 {
		t.Errorf("the log does not have one error for four checks:\n%s", got)
	}
	for _, want := range []string{"the previous content stays in use", "file=" + certFile, keyFile + ": the key does not belong to the first certificate in " + certFile} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, s.log)
		}
	}
	certstest.Replace(t, keyFile, third.Key)
	s.store.Refresh()
	s.shows(t, third, "after Refresh, with both new files")

	if err := os.Remove(certFile); err != nil {
		t.Fatal(err)
	}
	s.store.Check()
	s.store.Check()
	s.shows(t, third, "without the file")
	if !strings.Contains(s.log.String(), certFile+": no such file") {
		t.Errorf("the log does not name the missing file:\n%s", s.log)
	}
	got := stat(t, s.store, certFile)
	if got.Reloads != 2 || got.Failures != 2 || !got.Expiry.Equal(third.Cert.NotAfter) || got.Role != certs.Certificate {
		t.Errorf("got %+v, want 2 reloads, 2 failures and the expiry %v", got, third.Cert.NotAfter)
	}
	third.Write(t, dir, "a") // as before: a file that comes back is in use
	s.store.Check()
	s.store.Check()
	if got := stat(t, s.store, certFile); got.Reloads != 3 {
		t.Errorf("%d reloads after the file came back, want 3", got.Reloads)
	}
}

// A file that is written in place, with its modification time and size kept, is noticed while the change is recent.
func TestReloadSameTimestamp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := certstest.NewCA(t, "one")
	certFile, keyFile := ca.Issue(t, named).Write(t, dir, "a")
	at := time.Now().Add(time.Minute) // however slow the test is
	both := func(p *certstest.Pair) {
		for file, data := range map[string][]byte{certFile: p.CertPEM, keyFile: p.Key} {
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(file, 1500); err != nil { // zeros after the PEM block change nothing
				t.Fatal(err)
			}
			if err := os.Chtimes(file, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	both(ca.Issue(t, named))
	s := serve(t, ca, certFile, keyFile)
	second := ca.Issue(t, named)
	both(second)
	s.store.Check()
	s.shows(t, second, "after a change that the modification time does not show")
}

// Kubernetes replaces the target of a symbolic link, through which all files of a secret are reached.
func TestReloadSymlink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := certstest.NewCA(t, "one")
	version := func(name string) *certstest.Pair {
		pair := ca.Issue(t, named)
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		pair.Write(t, filepath.Join(dir, name), "tls")
		if err := os.Symlink(name, filepath.Join(dir, "..tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
		return pair
	}
	first := version("..1")
	for _, name := range []string{"tls.pem", "tls.key"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, ca, filepath.Join(dir, "tls.pem"), filepath.Join(dir, "tls.key"))
	s.shows(t, first, "at first")
	second := version("..2")
	if err := os.RemoveAll(filepath.Join(dir, "..1")); err != nil {
		t.Fatal(err)
	}
	s.store.Check()
	s.store.Check()
	s.shows(t, second, "after the link was replaced")
	if got := stat(t, s.store, filepath.Join(dir, "tls.pem")); got.Failures != 0 {
		t.Errorf("%d failures, want none", got.Failures)
	}
}

// The watcher runs while a file is in use, and replaces certificates during handshakes.
func TestWatcher(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := certstest.NewCA(t, "one")
	certFile, keyFile := ca.Issue(t, named).Write(t, dir, "a")
	store := certs.NewStore(nil)
	if store.Watching() {
		t.Error("a store without files watches")
	}
	files := []certs.Files{{CertFile: certFile, KeyFile: keyFile}}
	one, err := store.Server(config(), files, "")
	if err != nil {
		t.Fatal(err)
	}
	two, err := store.Server(config(), files, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Server(config(), []certs.Files{files[0], {CertFile: "missing", KeyFile: "missing"}}, ""); err == nil {
		t.Error("no error for a missing file")
	}
	if n := len(store.Snapshot()); n != 1 {
		t.Errorf("%d files in use, want 1", n)
	}
	one.Close()
	s := &served{Server: two, store: store, log: new(lockedBuffer), ca: ca}
	next := ca.Issue(t, named)
	next.Write(t, dir, "a")
	for end := time.Now().Add(time.Minute); s.serial(t).Cmp(next.Cert.SerialNumber) != 0; {
		if time.Now().After(end) {
			t.Fatal("the watcher does not see the new files")
		}
	}
	two.Close()
	if n := len(store.Snapshot()); n != 0 || store.Watching() {
		t.Errorf("%d files in use and watching=%t after the last Close", n, store.Watching())
	}
	s.shows(t, next, "after Close")
	again, err := store.Server(config(), files, "")
	if err != nil || !store.Watching() {
		t.Errorf("watching=%t after the next use, %v", store.Watching(), err)
	}
	again.Close()
}

// No message shows the content of a key, whatever is wrong with the files.
func TestSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := certstest.NewCA(t, "one")
	pair := ca.Issue(t, named)
	certFile, keyFile := pair.Write(t, dir, "a")
	s := serve(t, ca, certFile, keyFile)
	secret := strings.Split(string(pair.Key), "\n")[1]
	shown, refused := "", 0
	for _, key := range [][]byte{
		pair.Key[:len(pair.Key)-40],
		bytes.ReplaceAll(pair.Key, []byte("PRIVATE"), []byte("EC PRIVATE")),
		bytes.ReplaceAll(pair.Key, []byte("BEGIN PRIVATE"), []byte("BEGIN SECRET")),
		append([]byte(secret), pair.Key...),
		ca.Issue(t, named).Key,
	} {
		certstest.Replace(t, keyFile, key)
		certstest.Replace(t, certFile, append([]byte(nil), pair.CertPEM...))
		s.store.Refresh()
		if err := (certs.Files{CertFile: certFile, KeyFile: keyFile}).Check(); err != nil {
			shown += err.Error()
			refused++
		}
		if err := (certs.Files{CertFile: keyFile, KeyFile: keyFile}).Check(); err != nil {
			shown += err.Error()
		}
		if err := certs.CheckCA(keyFile); err != nil {
			shown += err.Error()
		}
	}
	if shown += s.log.String(); refused < 3 {
		t.Errorf("%d of the keys are refused, want 3", refused)
	}
	if !strings.Contains(shown, keyFile) {
		t.Errorf("no message names %s:\n%s", keyFile, shown)
	}
	for n := 0; n+16 <= len(secret); n += 8 {
		if strings.Contains(shown, secret[n:n+16]) {
			t.Fatalf("a message shows a part of the key:\n%s", shown)
		}
	}
}
