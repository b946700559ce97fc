package node

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/node/config"
)

// bundle writes the files and returns their text.
func bundle(t *testing.T, files map[string]string) config.Bundle {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		writeSecret(t, filepath.Join(dir, name), text)
	}
	s, err := config.Read(filepath.Join(dir, "node.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return s.Bundle()
}

// TestPlan: what a reload would do, without doing it, with the values of the node.
func TestPlan(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "pump")
	writeSecret(t, token, "the first token of the pump")
	text := "listeners: [{address: 'tcp://127.0.0.1:0'}]\nadmin: {address: '127.0.0.1:0'}\ndata_dir: " + filepath.ToSlash(dir) + "/data\n" +
		"identities: [{name: pump, token_file: '" + filepath.ToSlash(token) + "', publish: ['#']}]\nlimits: {queue: 1MiB}\n"
	cfg, err := config.Parse("node.yaml", []byte(text), config.Program{})
	if err != nil {
		t.Fatal(err)
	}
	n := build(t, cfg)
	run(t, n)
	t.Setenv("FERRY_TEST_OF_THE_NODE", "MARKED-value")
	expect := func(name string, b config.Bundle, differences, refused, invalid string) {
		t.Helper()
		p, err := n.Plan(b)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range p.Differences {
			got = append(got, d.At+" "+d.Was+">"+d.Is)
		}
		var wrong []string
		for _, e := range p.Invalid {
			wrong = append(wrong, e.Error())
		}
		if all, err := json.Marshal(p); err != nil || bytes.Contains(all, []byte("MARKED")) {
			t.Errorf("%s: %v: a value of the node is shown in %s", name, err, all)
		}
		if g := strings.Join(got, "; "); g != differences {
			t.Errorf("%s: got the differences %q, want %q", name, g, differences)
		}
		if g := strings.Join(p.Refused, "; "); !strings.Contains(g, refused) || (refused == "") != (g == "") {
			t.Errorf("%s: refused: %q, want %q", name, g, refused)
		}
		if g := strings.Join(wrong, "; "); !strings.Contains(g, invalid) || (invalid == "") != (g == "") || strings.Contains(g, "MARKED") {
			t.Errorf("%s: invalid: %q, want %q", name, g, invalid)
		}
	}
	expect("the same", bundle(t, map[string]string{"node.yaml": text}), "", "", "")
	expect("an included file", bundle(t, map[string]string{
		"node.yaml": "include: more.yaml\n" + strings.Replace(text, "limits: {queue: 1MiB}\n", "", 1),
		"more.yaml": "limits: {queue: 2MiB, max_frame: 2MiB}\n",
	}), "limits.max_frame 1MiB>2MiB; limits.queue 1MiB>2MiB", "limits.max_frame: this change needs a restart", "")
	expect("a value of the node", bundle(t, map[string]string{"node.yaml": text + "names: ['${FERRY_TEST_OF_THE_NODE}.example.com']\n"}), "names []>[[redacted]]", "", "")
	expect("a wrong value of the node", bundle(t, map[string]string{"node.yaml": text + "log: {level: '${FERRY_TEST_OF_THE_NODE}'}\n"}), "", "", "log.level: this value is not valid")
	expect("names of the node's values", bundle(t, map[string]string{"node.yaml": strings.Replace(text, "identities: [", "identities: [{name: '${FERRY_TEST_OF_THE_NODE}', token: of-another-client}, ", 1)}), "identities[0] >", "", "")
	expect("a token file that is missing", bundle(t, map[string]string{"node.yaml": strings.Replace(text, "identities: [", "identities: [{name: a, token_file: '/${FERRY_TEST_OF_THE_NODE}'}, ", 1)}), "", "", "identities[0].token_file: this value is not valid")
	expect("a token file without an end", bundle(t, map[string]string{"node.yaml": strings.Replace(text, "identities: [", "identities: [{name: a, token_file: '"+os.DevNull+"'}, ", 1)}), "", "", "not a regular file")
	expect("a mistake in an included file", bundle(t, map[string]string{"node.yaml": "include: more.yaml\n" + text, "more.yaml": "log:\n  colour: debug\n"}), "", "", "more.yaml:2:3: log.colour: unknown field")
	if err := os.WriteFile(token, []byte("another token of the pump"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("the content of a token file", bundle(t, map[string]string{"node.yaml": text}), "identities[0].token_file >", "", "")
	if n.config() != cfg {
		t.Error("a plan changed the configuration")
	}
}
