package http1

import "testing"

// TestTrailerNames: the case of letters in a name does not matter. Servers write Grpc-Status, and grpc-status is searched.
func TestTrailerNames(t *testing.T) {
	t.Parallel()
	trailers := &trailerFields{names: []string{"Grpc-Message", "Grpc-Status"}, values: []string{"", "0"}}
	if got := trailers.Get("grpc-status"); string(got) != "0" {
		t.Errorf("grpc-status is %q, want 0", got)
	}
	if got := trailers.Get("grpc"); got != nil {
		t.Errorf("grpc is %q, want none", got)
	}
}
