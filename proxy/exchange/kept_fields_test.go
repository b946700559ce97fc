package exchange

import "testing"

// TestKeptNames: the case of letters in a name does not matter. Servers write Grpc-Status, and grpc-status is searched.
func TestKeptNames(t *testing.T) {
	t.Parallel()
	kept := &KeptFields{}
	kept.Add([]byte("Grpc-Message"), nil)
	kept.Add([]byte("Grpc-Status"), []byte("0"))
	if got := kept.Get("grpc-status"); string(got) != "0" {
		t.Errorf("grpc-status is %q, want 0", got)
	}
	if got := kept.Get("grpc"); got != nil {
		t.Errorf("grpc is %q, want none", got)
	}
	var none *KeptFields
	if none.Fields() != nil || KeepFields(nil) != nil {
		t.Error("no fields are fields")
	}
}
