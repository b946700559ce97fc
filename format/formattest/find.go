package formattest

import (
	"errors"
	"testing"

	"example.com/ferry/field"
)

// FindLikeLookup checks that Find returns for the paths in texts what Lookup returns for each, and leaves nothing of the spans that it is given. name
// says in failures what data is.
func FindLikeLookup(t *testing.T, f interface {
	Find(msg []byte, set *field.Set, spans []field.Span) error
	Lookup(msg []byte, path field.Path) (field.Span, error)
}, name string, data []byte, texts []string,
) {
	t.Helper()
	var paths []field.Path
	for _, text := range texts {
		paths = append(paths, field.MustParse(text))
	}
	set, err := field.NewSet(paths...)
	if err != nil {
		t.Fatal(err)
	}
	spans := make([]field.Span, len(paths))
	for i := range spans {
		spans[i] = field.Span{Head: -1}
	}
	err = f.Find(data, set, spans)
	for i, p := range paths {
		want, lookupErr := f.Lookup(data, p)
		if lookupErr != nil && !errors.Is(lookupErr, field.ErrNotFound) && err == nil {
			t.Errorf("%s, %v: Find gives no error, Lookup of %s gives %v", name, texts, p, lookupErr)
		}
		if spans[i] != want && (err == nil || spans[i] != field.Span{}) {
			t.Errorf("%s, %v: %s: got %+v, want %+v", name, texts, p, spans[i], want)
		}
	}
}
