package cbor

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// edgexEvents returns the events of testdata/edgex-vectors.json, which go-mod-core-contracts v4.0.3 encoded.
func edgexEvents(t testing.TB) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/edgex-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ Name, Hex string }
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, v := range vectors {
		if all[v.Name], err = hex.DecodeString(v.Hex); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
