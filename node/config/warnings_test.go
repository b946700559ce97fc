package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
)

// TestWarnings: every certificate file of a configuration is looked at, in all sections.
func TestWarnings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := certstest.NewCA(t, "ca")
	ca.Write(t, dir, "ca")
	good := ca.Issue(t, certstest.Leaf{CommonName: "good"})
	good.Write(t, dir, "good")
	ca.Issue(t, certstest.Leaf{CommonName: "old", Expired: true}).Write(t, dir, "old")
	text := strings.ReplaceAll(`listeners:
  - {address: 'tls://127.0.0.1:0', cert_file: DIR/good.pem, key_file: DIR/good.key, client_ca_file: DIR/ca.pem}
admin:
  cert_file: DIR/old.pem
  key_file: DIR/old.key
proxy:
  listeners:
    - address: 127.0.0.1:0
      protocol: http1
      tls:
        certificates:
          - {cert_file: DIR/good.pem, key_file: DIR/good.key}
          - {cert_file: DIR/old.pem, key_file: DIR/old.key}
  clusters:
    - {name: c, endpoints: [], tls: {ca_file: DIR/missing.pem, cert_file: DIR/old.pem}}
`, "DIR", dir)
	old := filepath.Join(dir, "old.pem") + `: certificate "CN=old" has expired on `
	for _, c := range []struct {
		name string
		at   time.Time
		want []string // line, field and the begin of the reason
	}{
		{"now", time.Now(), []string{
			"2 listeners[0].cert_file " + filepath.Join(dir, "good.pem") + `: certificate "CN=good" expires in 23 h, on `,
			"2 listeners[0].client_ca_file " + filepath.Join(dir, "ca.pem") + `: certificate "CN=ca" expires in 23 h, on `,
			"4 admin.cert_file " + old,
			"12 proxy.listeners[0].tls.certificates[0].cert_file ",
			"13 proxy.listeners[0].tls.certificates[1].cert_file " + old, "15 proxy.clusters[0].tls.cert_file " + old,
		}},
		{"before they are valid", good.Cert.NotBefore.Add(-time.Hour), []string{
			"2 listeners[0].cert_file " + filepath.Join(dir, "good.pem") + `: certificate "CN=good" is not valid before `, "2 listeners[0].client_ca_file ",
			"4 admin.cert_file ", "12 proxy.listeners[0].tls.certificates[0].cert_file ", "13 proxy", "15 proxy",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSource("node.yaml", []byte(text), nil)
			cfg, errs := s.decoded()
			if errs != nil {
				t.Fatal(errs)
			}
			got := s.CertificateWarnings(cfg, c.at, ExpirySoon)
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %q", got, c.want)
			}
			for i, w := range got {
				if is := fmt.Sprintf("%d %s %s", w.Line, w.Field, w.Reason); w.File != "node.yaml" || !strings.HasPrefix(is, c.want[i]) {
					t.Errorf("got %q of %s, want %q", is, w.File, c.want[i])
				}
			}
		})
	}
}

func warningsOf(t *testing.T, text string) []*Error {
	t.Helper()
	s := newSource("node.yaml", []byte(text), nil)
	cfg, err := s.Config(Program{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Warnings(cfg)
}

// TestWarningsOfStreams: a stream that keeps all until it is acknowledged needs a bound.
func TestWarningsOfStreams(t *testing.T) {
	t.Parallel()
	got := warningsOf(t, `
streams:
  - {tags: a, delivery: at-least-once, retention: {age: 1h}}
  - {tags: b, retention: {per_tag: 1}}
  - tags: c
    delivery: at-least-once
    retention: {per_tag: 1}
  - {tags: d, delivery: at-least-once}
`)
	var at []string
	for _, w := range got {
		at = append(at, fmt.Sprintf("%d %s", w.Line, w.Field))
	}
	if want := "[5 streams[2] 8 streams[3]]"; fmt.Sprint(at) != want {
		t.Errorf("got %v, want %s", at, want)
	}
}

// TestWarningsOfCycles: deployed functions may publish what they observe only with a warning, if both grants are listed.
func TestWarningsOfCycles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ deploy, want string }{
		{"{publish: [alerts/#], subscribe: [sensors/#]}", ""},
		{"{publish: [alerts/#]}", ""},
		{"{publish: [a/b, out/#], subscribe: [in, out/+]}", `node.yaml:1:25: deploy.publish[1]: "out/#" has tags of deploy.subscribe, "out/+": deployed functions may feed each other`},
	} {
		got := warningsOf(t, "deploy: "+c.deploy+"\n")
		text := ""
		if len(got) > 0 {
			text = got[0].Error()
		}
		if len(got) > 1 || (c.want == "") != (len(got) == 0) || !strings.HasPrefix(text, c.want) {
			t.Errorf("%s: got %v, want %q", c.deploy, got, c.want)
		}
	}
}
