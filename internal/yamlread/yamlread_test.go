package yamlread

import (
	"errors"
	"strings"
	"testing"
)

func TestDo(t *testing.T) {
	t.Parallel()
	plain := errors.New("plain")
	if err := Do(func() error { return plain }); err != plain { //nolint:errorlint // it is passed on unchanged
		t.Errorf("got %v, want the error of read", err)
	}
	err := Do(func() error { panic("no node") })
	if err == nil || !strings.Contains(err.Error(), "the YAML could not be read") || !strings.Contains(err.Error(), "no node") {
		t.Errorf("got %v, want an error with the panic", err)
	}
}
