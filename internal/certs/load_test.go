package certs_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/certs/certstest"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := certstest.NewCA(t, "one")
	certFile, keyFile := ca.Issue(t, certstest.Leaf{Names: []string{"a.example"}}).Write(t, dir, "a")
	rsaCert, rsaKey := ca.Issue(t, certstest.Leaf{RSA: true}).Write(t, dir, "rsa")
	_, otherKey := ca.Issue(t, certstest.Leaf{}).Write(t, dir, "other")
	expiredCert, expiredKey := ca.Issue(t, certstest.Leaf{Expired: true}).Write(t, dir, "expired")
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		certstest.Replace(t, path, []byte(text))
		return path
	}
	missing := filepath.Join(dir, "missing.pem")
	text := write("text", "hello")
	broken := write("broken.pem", "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n")
	encrypted := write("encrypted.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\naGVsbG8=\n-----END ENCRYPTED PRIVATE KEY-----\n")
	old := write("old.key", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\naGVsbG8=\n-----END RSA PRIVATE KEY-----\n")
	unknown := write("unknown.key", "-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n")
	large := write("large.pem", strings.Repeat("x", 5<<20))

	pair := func(cert, key string) error { return certs.Files{CertFile: cert, KeyFile: key}.Check() }
	for _, row := range []struct {
		name   string
		err    error
		role   certs.Role
		file   string // empty: no error
		reason string
	}{
		{"a pair", pair(certFile, keyFile), 0, "", ""},
		{"RSA", pair(rsaCert, rsaKey), 0, "", ""},
		{"an expired pair", pair(expiredCert, expiredKey), 0, "", ""},
		{"a CA", certs.CheckCA(filepath.Join(dir, "a.pem")), 0, "", ""},
		{"no certificate file", pair(missing, keyFile), certs.Certificate, missing, "no such file"},
		{"no key file", pair(certFile, missing), certs.Key, missing, "no such file"},
		{"no CA file", certs.CheckCA(missing), certs.CA, missing, "no such file"},
		{"a directory", pair(dir, keyFile), certs.Certificate, dir, "not a regular file"},
		{"no PEM", pair(text, keyFile), certs.Certificate, text, "holds no certificate in PEM"},
		{"the key of another", pair(certFile, otherKey), certs.Key, otherKey, "does not belong to the first certificate in " + certFile},
		{"the key of another kind", pair(certFile, rsaKey), certs.Key, rsaKey, "does not belong to the first certificate in " + certFile},
		{"swapped", pair(keyFile, certFile), certs.Certificate, keyFile, "holds no certificate in PEM, but a private key: the names of the files may be swapped"},
		{"a certificate for a key", pair(certFile, certFile), certs.Key, certFile, "holds no private key in PEM, but a certificate"},
		{"a broken certificate", pair(broken, keyFile), certs.Certificate, broken, "certificate 1: x509: malformed certificate"},
		{"no key in PEM", pair(certFile, text), certs.Key, text, "holds no private key in PEM"},
		{"an encrypted key", pair(certFile, encrypted), certs.Key, encrypted, "the key has a passphrase"},
		{"an old encrypted key", pair(certFile, old), certs.Key, old, "the key has a passphrase"},
		{"a broken key", pair(certFile, unknown), certs.Key, unknown, "holds no key that TLS can use"},
		{"an empty CA", certs.CheckCA(text), certs.CA, text, "holds no certificate in PEM"},
		{"a broken CA", certs.CheckCA(broken), certs.CA, broken, "certificate 1: x509: malformed certificate"},
		{"a large file", certs.CheckCA(large), certs.CA, large, "larger than 4 MiB"},
	} {
		var got *certs.FileError
		switch {
		case row.file == "":
			if row.err != nil {
				t.Errorf("%s: %v", row.name, row.err)
			}
		case !errors.As(row.err, &got):
			t.Errorf("%s: got %v, want a FileError", row.name, row.err)
		case got.Role != row.role || got.File != row.file || !strings.Contains(got.Err.Error(), row.reason):
			t.Errorf("%s: got %v %s, %v; want %v %s, %s", row.name, got.Role, got.File, got.Err, row.role, row.file, row.reason)
		case strings.Count(got.Error(), row.file) != 1 && row.file != certFile:
			t.Errorf("%s: %v does not name the file once", row.name, got)
		}
	}
}

// Warnings name the file, and say what to do.
func TestWarnings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := certstest.NewCA(t, "one")
	certFile, keyFile := ca.Issue(t, certstest.Leaf{CommonName: "late", Expired: true}).Write(t, dir, "a")
	if err := os.Chmod(keyFile, 0o604); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	store := certs.NewStore(slog.New(slog.NewTextHandler(&log, nil)))
	client, err := store.Client(config(), certs.Files{CertFile: certFile, KeyFile: keyFile}, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, want := range []string{"level=WARN", `certificate \"CN=late\" has expired on `, keyFile + " may be read by every user (-rw----r--): chmod 640 it"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, log.String())
		}
	}
}
