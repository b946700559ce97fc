package upstream_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/proxy/upstream"
)

func TestCheckTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := certstest.NewCA(t, "one")
	caFile := ca.Write(t, dir, "ca")
	certFile, keyFile := ca.Issue(t, certstest.Leaf{CommonName: "it"}).Write(t, dir, "it")
	_, otherKey := ca.Issue(t, certstest.Leaf{CommonName: "other"}).Write(t, dir, "other")
	text := filepath.Join(dir, "text")
	certstest.Replace(t, text, []byte("hello"))
	absent := filepath.Join(dir, "absent")

	const ip, unix = "192.0.2.1:443", "unix:/run/it.sock"
	for _, row := range []struct {
		name    string
		address string
		tls     upstream.TLS
		want    []string // fields and the starts of their reasons
	}{
		{"the system's CAs", ip, upstream.TLS{}, nil},
		{"all", ip, upstream.TLS{ServerName: "a.example", CAFile: caFile, CertFile: certFile, KeyFile: keyFile, MinVersion: "1.3"}, nil},
		{"not verified", unix, upstream.TLS{InsecureSkipVerify: true}, nil},
		{"a socket with a name", unix, upstream.TLS{ServerName: "2001:db8::1"}, nil},
		{"a socket without a name", unix, upstream.TLS{}, []string{"tls.server_name: empty: the endpoint unix:/run/it.sock has no name"}},
		{"a name with a port", ip, upstream.TLS{ServerName: "a.example:443"}, []string{`tls.server_name: "a.example:443" is neither a host name nor`}},
		{"version", ip, upstream.TLS{MinVersion: "1.1"}, []string{`tls.min_version: "1.1": write 1.2 or 1.3`}},
		{"no key", ip, upstream.TLS{CertFile: certFile}, []string{"tls.key_file: missing beside cert_file"}},
		{"no certificate", ip, upstream.TLS{KeyFile: keyFile}, []string{"tls.cert_file: missing beside key_file"}},
		{"no such certificate", ip, upstream.TLS{CertFile: absent, KeyFile: keyFile}, []string{"tls.cert_file: " + absent + ": no such file"}},
		{"no such key", ip, upstream.TLS{CertFile: certFile, KeyFile: absent}, []string{"tls.key_file: " + absent + ": no such file"}},
		{"another key", ip, upstream.TLS{CertFile: certFile, KeyFile: otherKey}, []string{"tls.key_file: " + otherKey + ": the key does not belong to the first certificate in " + certFile}},
		{"no PEM", ip, upstream.TLS{CertFile: text, KeyFile: keyFile, CAFile: text}, []string{
			"tls.cert_file: " + text + ": holds no certificate in PEM", "tls.ca_file: " + text + ": holds no certificate in PEM",
		}},
		{"a CA that is not used", ip, upstream.TLS{CAFile: caFile, InsecureSkipVerify: true}, []string{"tls.ca_file: has no effect beside insecure_skip_verify"}},
	} {
		c := at(row.address)
		c.TLS = &row.tls
		err := c.Check()
		var errs upstream.Errors
		if err != nil && !errors.As(err, &errs) {
			t.Fatalf("%s: %T: %v", row.name, err, err)
		}
		if !slices.EqualFunc(errs, row.want, func(e *upstream.Error, want string) bool {
			return strings.HasPrefix(e.Field+": "+e.Reason, want)
		}) {
			t.Errorf("%s: got %v\nwant %q", row.name, err, row.want)
		}
	}
}
