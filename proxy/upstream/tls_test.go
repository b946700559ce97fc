package upstream_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/loop"
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
		{"an address with a zone", ip, upstream.TLS{ServerName: "fe80::1%eth0"}, []string{`tls.server_name: "fe80::1%eth0" is neither a host name nor`}},
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

// opening is the handler of a connection that a test opens.
type opening struct {
	loop.Base
	result chan error
}

func (o opening) Opened(c *loop.Conn) {
	o.result <- nil
	c.Close()
}

func (o opening) Closed(_ *loop.Conn, err error) { o.result <- err }

// The certificate is verified by the name of the endpoint as it is configured, and the server is asked for that name, not for
// what it resolves to.
func TestDialTLSByHostName(t *testing.T) {
	t.Parallel()
	ca := certstest.NewCA(t, "one")
	asked := make(chan string, 10)
	config := &tls.Config{Certificates: []tls.Certificate{ca.Issue(t, certstest.Leaf{Names: []string{"it.example"}}).TLS(t)}}
	config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		asked <- h.ServerName
		return nil, nil
	}
	to := serve(t, "tcp", "127.0.0.1:0", func(raw net.Conn) {
		c := tls.Server(raw, config)
		_, _ = c.Read(make([]byte, 1))
	})
	g := loops(t, 1)
	for host, accepted := range map[string]bool{"it.example": true, "it.example.": true, "other.example": false} {
		cfg := at(host + ":" + strconv.Itoa(int(to.TCP.Port())))
		cfg.TLS = &upstream.TLS{CAFile: ca.Write(t, t.TempDir(), "ca")}
		c, err := upstream.NewAsking(cfg, g, slog.New(slog.DiscardHandler), func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{to.TCP.Addr()}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		e, err := c.Pick(1, g.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		o := opening{result: make(chan error, 2)}
		l := g.Loops()[0]
		if err := l.PostWait(t.Context(), func() { e.Dial(l, upstream.HTTP1, o) }); err != nil {
			t.Fatal(err)
		}
		err = <-o.result
		if (err == nil) != accepted || !accepted && !strings.Contains(err.Error(), "certificate is valid for it.example, not other.example") {
			t.Errorf("%s: got %v, want accepted %t", host, err, accepted)
		}
		if got, want := <-asked, strings.TrimSuffix(host, "."); got != want {
			t.Errorf("%s: the server is asked for %q, want %q", host, got, want)
		}
		if got := c.Snapshot().TLSFailed[upstream.TLSName]; (got == 0) != accepted {
			t.Errorf("%s: %d failures by name", host, got)
		}
		e.Done(upstream.Canceled, 0, g.Now())
		c.Close()
	}
}
