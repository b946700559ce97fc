package config

import (
	"strings"
	"testing"
)

func TestBridgeErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`bridges: [{name: a, address: "mqtt://127.0.0.1:1883", in: ["c/#"], out: [x], in_prefix: cloud/, out_prefix: site/}]`:        "",
		`bridges: [{name: a, address: "mqtts://broker:8883", out: [x], user: u, password: p, keep_alive: 20s, session_expiry: 24h}]`: "",
		`bridges: [{name: a, address: "mqtts://broker:8883", in: ["$share/g/x/#"], spool: {size: 1GiB, sync: true, full: block}}]`:   "",
		`bridges: [{name: a, address: "broker:1883", out: [x]}]`:                                                                     "has no scheme",
		`bridges: [{name: a, address: "tcp://broker:1883", out: [x]}]`:                                                               "unknown scheme",
		`bridges: [{name: a, address: "mqtt://broker:1883", out: [x]}]`:                                                              "is plain MQTT beyond this machine",
		`bridges: [{name: a, address: "mqtt://broker:1883", out: [x], insecure: true}]`:                                              "",
		`bridges: [{name: a, address: "mqtts://broker:8883", out: [x], insecure: true}]`:                                             "has no effect",
		`bridges: [{name: a, address: "mqtts://broker:0", out: [x]}]`:                                                                "cannot be dialled",
		`bridges: [{name: a/b, address: "mqtts://broker:8883", out: [x]}]`:                                                           "is no name",
		`bridges: [{name: a, address: "mqtts://broker:8883"}]`:                                                                       "bridges[0].in: missing, as is out",
		`bridges: [{name: a, address: "mqtts://broker:8883", in: ["a#"]}]`:                                                           "bridges[0].in[0]",
		`bridges: [{name: a, address: "mqtts://broker:8883", out: ["a#"]}]`:                                                          "bridges[0].out[0]",
		`bridges: [{name: a, address: "mqtts://broker:8883", out: [x], out_prefix: "a/+/"}]`:                                         "bridges[0].out_prefix",
		`bridges: [{name: a, address: "mqtts://broker:8883", out: [x], password: p}]`:                                                "bridges[0].user: missing",
		`bridges: [{name: a, address: "mqtts://broker:8883", out: [x], user: u, password: p, password_file: f}]`:                     "beside password",
		`bridges: [{name: a, address: "mqtt://127.0.0.1:1883", out: [x], ca_file: ca.pem}]`:                                          "an address of mqtt has no TLS",
		`bridges: [{name: a, address: "mqtts://broker:8883", out: [x], keep_alive: 1ms}]`:                                            "keep_alive",
		`bridges: [{name: a, address: "mqtts://broker:8883", out: [x], session_expiry: 1ms}]`:                                        "session_expiry",
		`bridges: [{name: a, address: "mqtts://broker:8883", out: [x], spool: {size: 1KiB}}]`:                                        "spool.size",
		`bridges: [{name: a, address: "mqtts://b:1", out: [x]}, {name: a, address: "mqtts://b:1", out: [x]}]`:                        "is the name of bridges[0] already",
	} {
		_, err := Parse("node.yaml", []byte("data_dir: d\nlisteners: [{address: \"tcp://127.0.0.1:4190\"}]\n"+text+"\n"), Program{})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
