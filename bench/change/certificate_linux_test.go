package change

import (
	"crypto/tls"
	"fmt"
	"math/big"
	"net"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
)

// certificate is the certificate of a server, in leaf.pem and leaf.key of its directory.
type certificate struct {
	ca     *certstest.CA
	dir    string
	serial *big.Int // of the current one
}

func newCertificate(t *testing.T, dir string) *certificate {
	t.Helper()
	c := &certificate{ca: certstest.NewCA(t, "change"), dir: dir}
	c.rotate(t)
	return c
}

// rotate writes another certificate.
func (c *certificate) rotate(t *testing.T) {
	t.Helper()
	leaf := c.ca.Issue(t, certstest.Leaf{Names: []string{"127.0.0.1"}})
	leaf.Write(t, c.dir, "leaf")
	c.serial = leaf.Cert.SerialNumber
}

// trust is what clients verify the certificate by.
func (c *certificate) trust() *tls.Config { return &tls.Config{RootCAs: c.ca.Pool()} }

// await waits until new connections to an address get the current certificate.
func (c *certificate) await(t *testing.T, addr string) {
	t.Helper()
	await(t, addr+" has the new certificate", func() error {
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", addr, c.trust())
		if err != nil {
			return err
		}
		defer conn.Close()
		if got := conn.ConnectionState().PeerCertificates[0].SerialNumber; got.Cmp(c.serial) != 0 {
			return fmt.Errorf("serial number %v, want %v", got, c.serial)
		}
		return nil
	})
}

// patience bounds each step. It is long because the machine may run many tests at once.
const patience = 2 * time.Minute

// await calls ok until it succeeds.
func await(t *testing.T, what string, ok func() error) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v: %v", what, patience, err)
		}
	}
}
