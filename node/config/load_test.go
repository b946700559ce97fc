package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/ferry/format/all"
)

func TestParse(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Parse("node.yaml", []byte(`
listeners:
  - address: tls://0.0.0.0:4190
    validate: bounds
  - address: unix:///run/ferry.sock
admin: {address: off}
data_dir: /var/lib/ferry
identities:
  - name: pump
    token_file: `+secret+`
    publish: [plant/+/pump]
    verbs: [publish]
limits: {max_frame: 64KiB, max_connections: 20, heartbeat: 1m30s}
mqtt: {session_expiry: 1d12h}
names: [edge-1.plant, 192.0.2.7]
log: {level: debug, format: json}
`), Program{})
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Engine.Address = MemoryEngine
	want.Listeners = []Listener{{Address: "tls://0.0.0.0:4190", Validate: ValidateBounds}, {Address: "unix:///run/ferry.sock", Validate: ValidateFull}}
	want.Admin.Address = ""
	want.DataDir = "/var/lib/ferry"
	want.Identities = []Identity{{Name: "pump", TokenFile: secret, Publish: []string{"plant/+/pump"}, Verbs: []Verb{VerbPublish}}}
	want.Limits.MaxFrame, want.Limits.MaxConnections, want.Limits.Heartbeat = 64<<10, 20, 90*time.Second
	want.Names = []string{"edge-1.plant", "192.0.2.7"}
	want.MQTT.SessionExpiry = 36 * time.Hour
	want.Log = Log{Level: "debug", Format: "json"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestEmptyFileIsTheDefaultWithoutLiveInput(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "{}"} {
		got, err := Parse("node.yaml", []byte(text), Program{})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		want := defaults()
		want.Engine.Address = MemoryEngine
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
	if d := Default(); !d.Live.Sensors || !d.Live.Functions || d.Check(Program{}) != nil {
		t.Errorf("default: %+v: %v", d.Live, d.Check(Program{}))
	}
}

func TestRefused(t *testing.T) {
	const f = "functions:\n  - name: a\n"
	const g = f + "    wasm: ../../stream/wasm/testdata/guest.wasm\n    observe: [a]\n"
	const proxied = "proxy:\n  clusters: [{name: c, endpoints: [{address: '127.0.0.1:1'}]}]\n  listeners:\n  - address: 127.0.0.1:0\n    protocol: http1\n    cluster: c\n"
	const l = "listeners: [{address: quic://127.0.0.1:1}]\n"
	for _, tc := range []struct{ name, text, want string }{
		{"bad YAML", "listeners: [\n", "node.yaml:1:12: "},
		{
			"wrong indentation", "listeners:\n  - address: tcp://127.0.0.1:1\n   validate: off\n",
			"node.yaml:3:4: value is not allowed in this context: indent the line like its neighbors",
		},
		{"key twice", "data_dir: a\ndata_dir: b\n", "node.yaml:2:1: "},
		{"no time to drain", "drain: {timeout: 1ms}\n", "node.yaml:1:18: drain.timeout: 1ms is too short"},
		{"second document", "data_dir: a\n---\ndata_dir: b\n", "node.yaml:3:9: a second document"},
		{"not a mapping", "- a\n", "node.yaml:1:1: array where object is expected"},
		{"unknown field", "limits:\n  max_frames: 1MiB\n", "node.yaml:2:3: limits.max_frames: unknown field: did you mean \"max_frame\"?\n" +
			"    2 |   max_frames: 1MiB\n          ^"},
		{"dash for underscore", "data-dir: x\n", `node.yaml:1:1: data-dir: unknown field: did you mean "data_dir"?`},
		{"nothing like it", "zebra: 1\n", "node.yaml:1:1: zebra: unknown field: want one of admin, bridges, cpu, data_dir, deploy,"},
		{
			"misspelt value", "listeners:\n  - address: quic://127.0.0.1:1\n    validate: fulll\n",
			`node.yaml:3:15: listeners[0].validate: "fulll" is not one of full, bounds, off: did you mean "full"?`,
		},
		{
			"a value like no other", "streams: [{tags: a, delivery: once}]\n",
			"streams[0].delivery: \"once\" is not one of at-most-once, at-least-once\n    1 |",
		},
		{"bare duration", "limits: {heartbeat: 10}\n", `node.yaml:1:21: limits.heartbeat: number where string is expected: put it in quotes, and give a duration its unit ("10s")`},
		{"bad duration", "limits: {heartbeat: 10 seconds}\n", `limits.heartbeat: "10 seconds" is not a duration: write 100ms, 10s, 1m30s or 7d`},
		{"bad size", "limits: {queue: 1 mebibyte}\n", `limits.queue: "1 mebibyte" is not a size: write 512, 64KiB or 1MiB`},
		{"huge number", "proxy: {listeners: [{address: 127.0.0.1:0, protocol: http1, cluster: a}], clusters: [{name: a, endpoints: [{address: 127.0.0.1:1}], connections: 99999999999999999999}]}\n", "proxy.clusters[0].connections: "},
		{"huge duration", "drain: {timeout: 99999999999h}\n", `drain.timeout: "99999999999h" is not a duration, or is longer than 292 years`},
		{"huge size", "limits: {queue: 99999999999GiB}\n", "is not a size"},
		{"null", "data_dir:\n", "data_dir: null where string is expected: write a value or leave the line out"},
		{"no address", "listeners:\n  - validate: off\n", "listeners[0]: missing field address"},
		{"no listeners", "listeners: []\n", "listeners: none: a node needs"},
		{"no scheme", "listeners: [{address: '127.0.0.1:4190'}]\n", `listeners[0].address: "127.0.0.1:4190" has no scheme`},
		{"unknown scheme", "listeners: [{address: 'ftp://127.0.0.1:4190'}]\n", `unknown scheme "ftp"`},
		{"open http", "listeners: [{address: 'http://:8080'}]\n", "plain HTTP beyond this machine"},
		{"open MQTT", "listeners: [{address: 'mqtt://:1883'}]\n", "use mqtts://, or say insecure: true"},
		{"origins of tcp", "listeners: [{address: 'tcp://127.0.0.1:1', http: {origins: ['*']}}]\n", "listeners[0].http: a tcp listener has none"},
		{"no origin", "listeners: [{address: 'http://127.0.0.1:1', http: {origins: [app.example.com]}}]\n", `"app.example.com" is no origin`},
		{"all origins with certificates", "listeners: [{address: 'https://127.0.0.1:1', http: {origins: ['*']}}]\n", "could use the certificate"},
		{"all origins without credentials", "listeners: [{address: 'http://127.0.0.1:1', anonymous: a, http: {origins: ['*']}}]\nidentities: [{name: a}]\n", "could publish and subscribe as"},
		{"anonymous tcp", "listeners: [{address: 'tcp://127.0.0.1:1', anonymous: a}]\nidentities: [{name: a}]\n", "listeners[0].anonymous: a tcp listener has none"},
		{"unknown anonymous", "listeners: [{address: 'http://127.0.0.1:1', anonymous: a}]\n", `no identity is named "a"`},
		{"anonymous with a token", "listeners: [{address: 'http://127.0.0.1:1', anonymous: a}]\nidentities: [{name: a, token: 0123456789abcdef}]\n", "is the anonymous identity of a listener"},
		{"no port", "listeners: [{address: 'tcp://127.0.0.1'}]\n", "has no port"},
		{"large port", "listeners: [{address: 'tcp://127.0.0.1:70000'}]\n", "0 to 65535"},
		{"address twice", "listeners: [{address: 'tcp://[::1]:1'}, {address: 'tcp://[::1]:1'}]\n", "stands in listeners[0] already"},
		{"open tcp", "listeners: [{address: 'tcp://:4190'}]\n", "plain TCP beyond this machine"},
		{"certificate for tcp", "listeners: [{address: 'tcp://127.0.0.1:1', cert_file: a.pem}]\n", "a tcp listener has no TLS"},
		{"certificate missing", "listeners: [{address: 'tls://127.0.0.1:1', cert_file: absent.pem, key_file: absent.pem}]\n", "absent.pem: no such file"},
		{"key missing", "listeners:\n  - address: tls://127.0.0.1:1\n    cert_file: testdata/example.pem\n    key_file: absent.key\n", "node.yaml:4:15: listeners[0].key_file: absent.key: no such file"},
		{"no key", "listeners: [{address: 'quic://127.0.0.1:1', cert_file: a.pem}]\n", "listeners[0].key_file: missing beside cert_file"},
		{"no CA", "listeners: [{address: 'quic://127.0.0.1:1', client_ca_file: load.go}]\n", "listeners[0].client_ca_file: load.go: holds no certificate in PEM"},
		{"admin without port", "admin: {address: localhost}\n", `admin.address: "localhost" has no port`},
		{"name taken", l + "identities: [{name: local, token: 0123456789abcdef}]\n", `identities[0].name: "local" is taken`},
		{"no secret", l + "identities: [{name: a}]\n", "has nothing to prove itself by"},
		{"short secret", l + "identities: [{name: a, token: hunter2}]\n", "identities[0].token: too short"},
		{"bad digest", l + "identities: [{name: a, token: 'sha256:12'}]\n", "64 hex digits"},
		{"bad filter", l + "identities: [{name: a, token: 0123456789abcdef, publish: ['a/#/b']}]\n", `identities[0].publish[0]: filter "a/#/b" goes on behind #`},
		{"bad service", l + "identities: [{name: a, token: 0123456789abcdef, call: [greeter/*]}]\n", `identities[0].call[0]: not a service`},
		{"bad served service", l + "identities: [{name: a, token: 0123456789abcdef, serve: [a, '*.b']}]\n", `identities[0].serve[1]: not a service`},
		{"bad verb", l + "identities: [{name: a, token: 0123456789abcdef, verbs: [pub]}]\n", "not one of publish, subscribe, call, serve"},
		{"admin for all", "admin: {address: '0.0.0.0:4195'}\n", `node.yaml:1:18: admin.address: "0.0.0.0:4195" is reachable from other machines`},
		{"admin for all, without a host", "admin: {address: ':4195'}\n", `admin.address: ":4195" is reachable from other machines`},
		{"admin without a token file", "admin: {address: '127.0.0.1:1', token_file: absent}\n", "admin.token_file: stat absent: no such file"},
		{"admin with a short token", "admin: {address: '0.0.0.0:1', token_file: doc.go}\n", "admin.token_file: doc.go holds no token: want one line of at least 16 characters"},
		{"admin with half a certificate", "admin: {address: '127.0.0.1:1', cert_file: testdata/example.pem}\n", "admin.key_file: missing beside cert_file"},
		{"admin without a key", "admin: {address: '127.0.0.1:1', cert_file: testdata/example.pem, key_file: absent}\n", "admin.key_file: absent: no such file"},
		{"metrics without port", "admin: {address: '127.0.0.1:1', metrics_address: ':'}\n", `admin.metrics_address: ":" has a port that is not`},
		{"metrics at the admin address", "admin: {address: '127.0.0.1:1', metrics_address: '127.0.0.1:1'}\n", `admin.metrics_address: "127.0.0.1:1" is admin.address`},
		{"admin of a name", "admin: {address: 'edge-1:4195'}\n", `admin.address: "edge-1:4195" is reachable from other machines`},
		{"admin of an address", "admin: {address: '192.0.2.7:4195'}\n", `write 127.0.0.1:PORT, and reach it through an SSH tunnel`},
		{"name with a port", "names: [edge-1:4190]\n", `node.yaml:1:9: names[0]: "edge-1:4190" is no host name and no IP address`},
		{"name with a wildcard", "names: [edge-1, '*.plant']\n", `node.yaml:1:17: names[1]: "*.plant" is no host name and no IP address`},
		{"names without streams", "names: [edge-1]\n" + proxied, "names: for streams, of which this node has none"},
		{"no room for calls", "limits: {call_queue: 12}\n", "limits.call_queue: 12 is out of range: 1KiB to 1GiB"},
		{"too many calls", "limits: {max_calls: 2000000}\n", "limits.max_calls: 2000000 is out of range: 1 to 1048576"},
		{"no room", "limits: {queue: 12}\n", "limits.queue: 12 is out of range: 1KiB to 1GiB"},
		{"no time", "limits: {heartbeat: 1ms}\n", "limits.heartbeat: 1ms is too short"},
		{"two years", "limits: {heartbeat: 17520h}\n", "node.yaml:1:21: limits.heartbeat: 17520h0m0s is too long: at most 8760h0m0s"},
		{"a function's two years", f + "    run: checksum\n    observe: [a]\n    timeout: 17520h\n", "node.yaml:5:14: functions[0].timeout: 17520h0m0s is too long: at most 8760h0m0s"},
		{"a listener's two years", proxied + "    http1: {idle_timeout: 17520h}\n", "node.yaml:7:27: proxy.listeners[0].http1.idle_timeout: 17520h0m0s is too long: at most"},
		{"less than the shortest time", proxied + "    http1: {idle_timeout: 0.01ms}\n", "proxy.listeners[0].http1.idle_timeout: 10µs is too short: at least 1ms"},
		{"two years below zero", proxied + "    http1: {idle_timeout: -17520h}\n", "proxy.listeners[0].http1.idle_timeout: -17520h0m0s: give at least -8760h0m0s"},
		{"window of tcp", "listeners: [{address: tcp://127.0.0.1:4, receive_window: 1MiB}]\n", "node.yaml:1:58: listeners[0].receive_window: a tcp listener has none"},
		{"window too small", "listeners: [{address: quic://127.0.0.1:4, receive_window: 1KiB}]\n", "listeners[0].receive_window: 1KiB is out of range: 64KiB to 1GiB"},
		{"alias", "x: &a 1\n", "x: unknown field"},
		{"unknown function", f + "    run: checksun\n    observe: [a]\n", `node.yaml:3:10: functions[0].run: unknown function "checksun": want one of averages, checksum`},
		{"nothing to run", f + "    observe: [a]\n", `node.yaml:2:11: functions[0].name: "a" has nothing to run: give it a run, a command, a wasm or a pipeline`},
		{"a wasm beside a run", f + "    run: checksum\n    wasm: a.wasm\n    observe: [a]\n", "functions[0].wasm: beside run or command"},
		{"no such guest", f + "    wasm: no-such-file.wasm\n    observe: [a]\n", "node.yaml:3:11: functions[0].wasm: open no-such-file.wasm"},
		{"no guest", f + "    wasm: load_test.go\n    observe: [a]\n", "functions[0].wasm: load_test.go is not a WebAssembly module"},
		{"guest in a process", g + "    cpu: worker\n", `functions[0].cpu: "worker" is for processes`},
		{"guest without memory", g + "    memory: 1KiB\n", "functions[0].memory: 1KiB is out of range: 64KiB to 4GiB"},
		{"less than no time", f + "    command: [cat]\n    observe: [a]\n    timeout: -5s\n", "node.yaml:5:14: functions[0].timeout: -5s is too short: at least 1ms"},
		{"guest that may take long", g + "    timeout: 2m\n", "functions[0].timeout: 2m0s exceeds limits.wasm_timeout, 1m0s"},
		{"guests with much memory", g + "    concurrency: 65\n", "limits.wasm_memory: 1GiB, but the code and the instances of the wasm guests, and the compiler, may have 1042MiB together"},
		{"mount of no directory", g + "    mounts: [{host: load_test.go, guest: data}]\n", `functions[0].mounts[0].host: load_test.go is no directory`},
		{"mount without a root", g + "    mounts: [{host: ., guest: data}]\n", `functions[0].mounts[0].guest: "data" is not absolute`},
		{"memory of a command", f + "    command: [sh]\n    observe: [a]\n    memory: 1MiB\n", "functions[0].memory: means nothing without wasm"},
		{"two things to run", f + "    run: checksum\n    command: [sh]\n    observe: [a]\n", "node.yaml:4:14: functions[0].command: beside run"},
		{"no such command", f + "    command: [./no-such-program, -x]\n    observe: [a]\n", "node.yaml:3:15: functions[0].command[0]: "},
		{"command that is heavy", f + "    command: [sh]\n    observe: [a]\n    cpu: heavy\n", `node.yaml:5:10: functions[0].cpu: "heavy" is for functions that ferry brings`},
		{"processes of a heavy one", f + "    run: checksum\n    observe: [a]\n    cpu: heavy\n    processes: 2\n", "node.yaml:6:16: functions[0].processes: means nothing for a heavy function"},
		{"concurrency of a worker", f + "    run: checksum\n    observe: [a]\n    cpu: worker\n    concurrency: 2\n", "node.yaml:6:18: functions[0].concurrency: means nothing for a worker"},
		{"a durable of no stream", f + "    run: checksum\n    observe: [a]\n    durable: d\n", `node.yaml:4:15: functions[0].observe[0]: "a" is not within the tags of one stream: with durable the function reads one of streams`},
		{"a durable at most once", f + "    run: checksum\n    observe: [a]\n    durable: d\nstreams: [{tags: a}]\n", "node.yaml:5:14: functions[0].durable: streams[0] has delivery at-most-once"},
		{"a durable that is no name", f + "    run: checksum\n    observe: [a]\n    durable: a b\n", `node.yaml:5:14: functions[0].durable: "a b" is no name`},
		{"a durable with a group", f + "    run: checksum\n    observe: [a]\n    durable: d\n    group: g\nstreams: [{tags: a, delivery: at-least-once}]\n", "functions[0].group: beside durable"},
		{"a durable of two filters", f + "    run: checksum\n    observe: [a, b]\n    durable: d\nstreams: [{tags: [a, b], delivery: at-least-once}]\n", "functions[0].observe: 2 filters: a function with a durable has one"},
		{"from nowhere", f + "    run: checksum\n    observe: [a]\n    from: yesterday\nstreams: [{tags: a}]\n", `node.yaml:5:11: functions[0].from: "yesterday" is no place in a stream: want first`},
		{"a name twice", f + "    run: checksum\n    observe: [a]\n  - name: a\n    run: checksum\n    observe: [a]\n", `node.yaml:5:11: functions[1].name: "a" is taken by functions[0]`},
		{"a name of live's", "live: {functions: true}\nfunctions: [{name: alerts, run: checksum, observe: [a]}]\n", `functions[0].name: "alerts" is taken by live.functions`},
		{"no name", "functions: [{name: a/b, run: checksum, observe: [a]}]\n", `functions[0].name: "a/b" is no name`},
		{"nothing to observe", f + "    run: checksum\n", "functions[0]: missing field observe"},
		{"an empty list to observe", f + "    run: checksum\n    observe: []\n", "node.yaml:4:14: functions[0].observe: none: name the tags"},
		{"bad tag filter", f + "    run: checksum\n    observe: [b, 'a/#/b']\n", `node.yaml:4:18: functions[0].observe[1]: filter "a/#/b" goes on behind #`},
		{"bad predicate", f + "    run: checksum\n    observe: [a]\n    where: 'bytes >'\n", "node.yaml:5:12: functions[0].where: field: predicate ends at offset 7"},
		{"unknown class", f + "    run: checksum\n    observe: [a]\n    cpu: hevy\n", `did you mean "heavy"?`},
		{"no timeout", f + "    run: checksum\n    observe: [a]\n    timeout: 0.1ms\n", "node.yaml:5:14: functions[0].timeout: 100µs is too short"},
		{"a queue too short", f + "    run: checksum\n    observe: [a]\n    cpu: heavy\ncpu:\n  queue: 63\n", "node.yaml:7:10: cpu.queue: 63 calls may wait, but the heavy functions have 64 at once: write 64 or more"},
		{"negative tokens", "cpu: {tokens: -1}\n", "cpu.tokens: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg, err := Parse("node.yaml", []byte(tc.text), Program{Functions: []string{"averages", "checksum"}, Formats: all.Formats()})
			if err == nil {
				t.Fatalf("accepted as %+v", cfg)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got  %s\nwant %s", err, tc.want)
			}
			if one := (*Error)(nil); !errors.As(err, &one) || one.File != "node.yaml" {
				t.Errorf("%T does not name the file", err)
			}
		})
	}
}

func TestFunctions(t *testing.T) {
	got, err := Parse("node.yaml", []byte(`
functions:
  - {name: a, run: checksum, observe: [a]}
  - {name: b, run: checksum, observe: [a, b/#], where: bytes < 10, group: g, policy: drop-newest, cpu: heavy, timeout: 2s}
  - {name: c, run: checksum, observe: [a], cpu: worker, processes: 3}
  - {name: d, command: [sh, -c, x], observe: [a]}
  - {name: e, run: checksum, observe: [a], cpu: heavy, concurrency: 7}
cpu: {tokens: 3, kernel_slices: false, queue: 71}
`), Program{Functions: []string{"checksum"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Function{
		{Name: "a", Run: "checksum", Observe: []string{"a"}, Policy: Block, CPU: Light},
		{Name: "b", Run: "checksum", Observe: []string{"a", "b/#"}, Where: "bytes < 10", Group: "g", Policy: DropNewest, CPU: Heavy, Timeout: 2 * time.Second, Concurrency: 64},
		{Name: "c", Run: "checksum", Observe: []string{"a"}, Policy: Block, CPU: Worker, Processes: 3},
		{Name: "d", Command: []string{"sh", "-c", "x"}, Observe: []string{"a"}, Policy: Block, CPU: Worker, Processes: 1},
		{Name: "e", Run: "checksum", Observe: []string{"a"}, Policy: Block, CPU: Heavy, Concurrency: 7},
	}
	if !reflect.DeepEqual(got.Functions, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got.Functions, want)
	}
	if want := (CPU{Tokens: 3, Queue: 71}); got.CPU != want || !got.Heavy() || defaults().Heavy() || !defaults().CPU.KernelSlices {
		t.Errorf("got %+v, want %+v", got.CPU, want)
	}
	if _, err := Parse("node.yaml", []byte("functions: [{name: a, run: b, observe: [a]}]\n"), Program{}); err == nil || !strings.Contains(err.Error(), "this program brings none") {
		t.Errorf("a function where there are none: got %v", err)
	}
}

func TestSecretsAreNotQuoted(t *testing.T) {
	_, err := Parse("node.yaml", []byte("identities:\n- name: a\n  token: hunter2\n"), Program{})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows the token: %v", err)
	}
}

func TestLoadFile(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{dir: "is a directory", filepath.Join(dir, "none.yaml"): "no such file"} {
		if _, err := Load(name, Program{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, make([]byte, MaxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(big, Program{}); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a file above MaxFile: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("listeners:\n  - address: quic://127.0.0.1:4190\n    validate: off\n"))
	f.Add([]byte("limits: {max_frame: 64KiB, heartbeat: 1m30s}\nx: &a [*a]\n"))
	f.Add([]byte("functions: [{name: a, command: [sh], observe: [a/#], where: b > 1, cpu: worker, processes: 2}]\ncpu: {queue: 7}\n"))
	f.Add([]byte(proxyYAML))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		s := newSource("node.yaml", data, nil)
		cfg, err := s.Config(Program{Formats: all.Formats()})
		if err != nil {
			return
		}
		_ = append(s.CertificateWarnings(cfg, time.Now(), ExpirySoon), s.Warnings(cfg)...)
		if err := cfg.Check(Program{Formats: all.Formats()}); err != nil {
			t.Errorf("accepted, then refused: %v", err)
		}
	})
}
