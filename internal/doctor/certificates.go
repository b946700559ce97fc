package doctor

import (
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/pki"
)

// expirySoon is how long before its expiry a certificate is reported.
const expirySoon = 30 * 24 * time.Hour

// certificates looks at the dates of all certificates that the configuration names, and at chain, names and key of those of listeners.
func (x *exam) certificates() {
	why := "clients refuse the connection, or the node refuses theirs"
	mend := "renew it and write it to the same files: the node uses changed files within a few seconds"
	if x.Source != nil {
		expired := map[string]bool{}
		for _, e := range x.Source.CertificateWarnings(x.Node, x.now, 0) {
			expired[e.Reason] = true
			x.fault(Finding{What: e.Reason, Where: fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Field), Why: why, Mend: mend})
		}
		for _, e := range x.Source.CertificateWarnings(x.Node, x.now, expirySoon) {
			if !expired[e.Reason] {
				x.warning(Finding{What: e.Reason, Where: fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Field), Why: "after that, " + why, Mend: mend})
			}
		}
	}
	x.authority(filepath.Join(x.Node.DataDir, pki.CAFile))
	for _, p := range x.pairs() {
		x.pair(p)
	}
	x.fine("no certificate has expired or expires within 30 days")
}

// authority looks at the dates of the certificate authority of the node, if it has one already.
func (x *exam) authority(ca string) {
	why := "all clients that trust the certificate authority of this node refuse the node"
	mend := "stop the node, remove ca.pem and ca.key, start it, and copy the new ca.pem to the clients"
	expired, err := certs.TimeWarnings(ca, x.now, 0)
	if err != nil {
		return
	}
	for _, reason := range expired {
		x.fault(Finding{What: reason, Where: ca, Why: why, Mend: mend})
	}
	soon, _ := certs.TimeWarnings(ca, x.now, expirySoon) // it was read before
	for _, reason := range soon {
		if !slices.Contains(expired, reason) {
			x.warning(Finding{What: reason, Where: ca, Why: "after that, " + why, Mend: mend})
		}
	}
}

// pair is a certificate of a listener.
type pair struct {
	field string // of the certificate
	files certs.Files
	host  string // that the listener has in its address; empty for all addresses
}

// pairs returns the certificates of all listeners.
func (x *exam) pairs() []pair {
	var all []pair
	add := func(field, address string, f certs.Files) {
		if f.CertFile != "" && f.KeyFile != "" {
			all = append(all, pair{field, f, hostOf(address)})
		}
	}
	for i, l := range x.Node.Listeners {
		add(fmt.Sprintf("listeners[%d].cert_file", i), l.Address, certs.Files{CertFile: l.CertFile, KeyFile: l.KeyFile})
	}
	if a := x.Node.Admin; a.Address != "" {
		add("admin.cert_file", a.Address, certs.Files{CertFile: a.CertFile, KeyFile: a.KeyFile})
	}
	if x.Node.Proxy != nil {
		for i, l := range x.Node.Proxy.Listeners {
			if l.TLS == nil {
				continue
			}
			for j, c := range l.TLS.Certificates {
				add(fmt.Sprintf("proxy.listeners[%d].tls.certificates[%d].cert_file", i, j), l.Address, certs.Files(c))
			}
		}
	}
	return all
}

// pair looks at the certificate of a listener beside its dates.
func (x *exam) pair(p pair) {
	list, err := certs.Certificates(p.files.CertFile)
	if err != nil {
		return // an error of the configuration
	}
	leaf, where := list[0], x.at(p.field)
	for i, c := range list[1:] {
		if err := list[i].CheckSignatureFrom(c); err != nil {
			x.fault(Finding{
				What: fmt.Sprintf("certificate %d in %s (%s) did not issue the one before it (%s)", i+2, p.files.CertFile, c.Subject, list[i].Subject), Where: where,
				Why: "clients cannot verify the chain", Mend: "write the certificate, then its issuer, then that one's issuer to a new file, and name it in cert_file: cat CERTIFICATE ISSUER > chain.pem.new && mv chain.pem.new chain.pem",
			})
			break
		}
	}
	if len(list) == 1 && len(leaf.IssuingCertificateURL) > 0 && !selfSigned(leaf) {
		x.warning(Finding{
			What: p.files.CertFile + " has no intermediate certificate, and its issuer is one", Where: where,
			Why: "browsers may find it, and other clients fail with: unknown authority", Mend: "append the intermediate: curl " + leaf.IssuingCertificateURL[0] + " | openssl x509 -inform der >> " + p.files.CertFile,
		})
	}
	if len(leaf.DNSNames)+len(leaf.IPAddresses)+len(leaf.URIs) == 0 {
		x.fault(Finding{
			What: fmt.Sprintf("the certificate in %s has no names (subjectAltName)", p.files.CertFile), Where: where,
			Why: "clients refuse it: they no longer look at the common name", Mend: "issue it again with -addext subjectAltName=DNS:HOST",
		})
	} else if p.host != "" && leaf.VerifyHostname(p.host) != nil {
		x.warning(Finding{
			What: fmt.Sprintf("the certificate in %s is not for %s, which the listener has in its address", p.files.CertFile, p.host), Where: where,
			Why: "clients that connect to this address refuse it", Mend: fmt.Sprintf("issue it again with that name; it has %q", append(leaf.DNSNames, addresses(leaf)...)),
		})
	}
	if info, err := os.Stat(p.files.KeyFile); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o007 != 0 {
		x.fault(Finding{
			What: fmt.Sprintf("every user of this machine may read the key %s (mode %#o)", p.files.KeyFile, info.Mode().Perm()), Where: where,
			Why: "with the key, every user can pretend to be this node", Mend: "chmod 640 " + absolute(p.files.KeyFile),
		})
	}
}

func addresses(c *x509.Certificate) []string {
	var all []string
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	return all
}

func selfSigned(c *x509.Certificate) bool { return c.CheckSignatureFrom(c) == nil }

// hostOf returns the host in an address, which may have a scheme; empty for one that stands for all addresses and for a path.
func hostOf(address string) string {
	t := targetOf(address)
	host, _, err := net.SplitHostPort(t.address)
	if err != nil || t.network == "unix" {
		return ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return ""
	}
	return host
}
