package admin

import (
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/certs"
)

func TestCertificateMetrics(t *testing.T) {
	_, url := start(t, Config{Certificates: func() []certs.Stats {
		return []certs.Stats{
			{File: "/etc/a.pem", Role: certs.Certificate, Expiry: time.Unix(1800000000, 0), Reloads: 2, Failures: 3},
			{File: "/etc/\xffca.pem", Role: certs.CA, Expiry: time.Unix(1900000000, 0)},
		}
	}})
	status, body := do(t, "GET", url+"/metrics")
	if status != 200 {
		t.Fatalf("got %d %s", status, body)
	}
	for _, want := range []string{
		`ferry_certificate_reloads_total{file="/etc/a.pem",kind="certificate",result="success"} 2`,
		`ferry_certificate_reloads_total{file="/etc/a.pem",kind="certificate",result="error"} 3`,
		`ferry_certificate_expiry_timestamp_seconds{file="/etc/a.pem",kind="certificate"} 1.8e+09`,
		`ferry_certificate_expiry_timestamp_seconds{file="/etc/?ca.pem",kind="ca"} 1.9e+09`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("missing %s", want)
		}
	}
}
