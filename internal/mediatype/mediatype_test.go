package mediatype_test

import (
	"testing"

	"example.com/ferry"
	"example.com/ferry/internal/mediatype"
)

func TestType(t *testing.T) {
	for _, row := range []struct {
		field string
		want  ferry.Type
		known bool
	}{
		{"application/json", ferry.JSON, true},
		{"Application/JSON ; charset=utf-8", ferry.JSON, true},
		{"application/cbor", ferry.CBOR, true},
		{"text/plain", ferry.Raw, true},
		{"text/html", 0, false},
		{"", 0, false},
	} {
		if got, known := mediatype.Type(row.field); got != row.want || known != row.known {
			t.Errorf("Type(%q): got %v, %v, want %v, %v", row.field, got, known, row.want, row.known)
		}
	}
}
