package config

import (
	"strings"
	"testing"
)

func TestForwardErrors(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]string{
		`forward: [{name: a, address: "tcp://127.0.0.1:1", tags: [x], token: t}]`:                                 "",
		`forward: [{name: a, address: "quic://hub:4190", tags: [x, "y/#"], spool: {size: 1GiB, full: block}}]`:    "",
		`forward: [{name: a, address: "hub:4190", tags: [x]}]`:                                                    "has no scheme",
		`forward: [{name: a, address: "tcp://hub:4190", tags: [x]}]`:                                              "is plain TCP beyond this machine",
		`forward: [{name: a, address: "tcp://hub:4190", tags: [x], insecure: true}]`:                              "",
		`forward: [{name: a, address: "quic://hub:4190", tags: [x], insecure: true}]`:                             "has no effect on a quic address",
		`forward: [{name: a, address: "quic://hub:0", tags: [x]}]`:                                                "cannot be dialled",
		`forward: [{name: a, address: "quic://:4190", tags: [x]}]`:                                                "cannot be dialled",
		`forward: [{name: a/b, address: "quic://hub:4190", tags: [x]}]`:                                           "is no name",
		`forward: [{name: a, address: "quic://hub:4190", tags: [x+]}]`:                                            "forward[0].tags[0]",
		`forward: [{name: a, address: "quic://hub:4190", tags: []}]`:                                              "forward[0].tags: none",
		`forward: [{name: a, address: "tcp://127.0.0.1:1", tags: [x], ca_file: ca.pem}]`:                          "an address of tcp has no TLS",
		`forward: [{name: a, address: "quic://hub:4190", tags: [x], spool: {size: 1KiB}}]`:                        "spool.size",
		`forward: [{name: a, address: "quic://hub:1", tags: [x]}, {name: a, address: "quic://hub:1", tags: [x]}]`: "is the name of forward[0] already",
		`identities: [{name: e, token: 0123456789abcdef, verbs: [forward]}]`:                                      "forward without publish",
		`identities: [{name: e, token: 0123456789abcdef, verbs: [publish, trust_validation]}]`:                    "trust_validation without forward",
		`identities: [{name: e, token: 0123456789abcdef, verbs: [publish, forward, trust_validation]}]`:           "",
	} {
		_, err := Parse("node.yaml", []byte("data_dir: d\nlisteners: [{address: \"tcp://127.0.0.1:4190\"}]\n"+yaml+"\n"), Program{})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", yaml, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", yaml, err, want)
		}
	}
}
