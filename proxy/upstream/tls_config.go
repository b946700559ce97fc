package upstream

import (
	"crypto/tls"
	"net/netip"
	"strings"

	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/discovery"
)

// TLS configures the TLS connections to the endpoints of a cluster. The server's certificate is verified.
type TLS struct {
	// ServerName is the name that the servers' certificates must have, and that is sent to the servers. Empty means the host
	// name of the endpoint's address, or the domain of its SRV records, or its IP address if it has no name.
	ServerName string `yaml:"server_name,omitempty"`

	// CAFile is the PEM file of the CAs that sign the servers' certificates. Empty means the system's CAs. A changed file is
	// used within a few seconds, if it is valid.
	CAFile string `yaml:"ca_file,omitempty"`

	// CertFile is the PEM certificate that is presented to servers that ask for one. Empty means none. A changed file is used
	// within a few seconds, if it is valid together with key_file.
	CertFile string `yaml:"cert_file,omitempty"`

	// KeyFile is the PEM key of cert_file.
	KeyFile string `yaml:"key_file,omitempty"`

	// InsecureSkipVerify accepts any certificate of a server. Then a machine between the proxy and the server can read
	// and change the traffic.
	InsecureSkipVerify bool `yaml:"insecure_skip_verify,omitempty"`

	// MinVersion is the lowest version of TLS. Empty means 1.2.
	MinVersion TLSVersion `yaml:"min_version,omitempty"`
}

// TLSVersion is a version of TLS.
type TLSVersion string

// The values of TLSVersion.
const (
	TLS12 TLSVersion = "1.2"
	TLS13 TLSVersion = "1.3"
)

// Number returns the version as crypto/tls numbers it.
func (v TLSVersion) Number() uint16 {
	if v == TLS13 {
		return tls.VersionTLS13
	}
	return tls.VersionTLS12
}

// clientCertificate returns the files of the certificate for servers that ask for one.
func (t *TLS) clientCertificate() certs.Files {
	return certs.Files{CertFile: t.CertFile, KeyFile: t.KeyFile}
}

// tls checks the TLS settings of a cluster. It reads the files.
func (k *checker) tls(t *TLS, endpoints []EndpointConfig) {
	if t.ServerName != "" && !validServerName(t.ServerName) {
		k.add("tls.server_name", "%q is neither a host name nor an IP address: write it without scheme, port and zone", t.ServerName)
	}
	if t.ServerName == "" && !t.InsecureSkipVerify {
		for _, e := range endpoints {
			if strings.HasPrefix(e.Address, "unix:") {
				k.add("tls.server_name", "empty: the endpoint %s has no name to verify the server's certificate by", e.Address)
				break
			}
		}
	}
	if t.MinVersion != "" && t.MinVersion != TLS12 && t.MinVersion != TLS13 {
		k.add("tls.min_version", "%q: write %s or %s", t.MinVersion, TLS12, TLS13)
	}
	t.clientCertificate().AddErrors(&k.errs, "upstream", "tls.")
	if t.InsecureSkipVerify && t.CAFile != "" {
		k.add("tls.ca_file", "has no effect beside insecure_skip_verify: leave one of them out")
	} else {
		certs.AddErrorsOfCA(&k.errs, "upstream", "tls.ca_file", t.CAFile)
	}
}

func validServerName(name string) bool {
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Zone() == "" || discovery.ValidName(name) // a certificate has no address with a zone
}
