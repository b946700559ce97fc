package edgex_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"example.com/ferry/edgex"
)

func TestConvert(t *testing.T) {
	for _, v := range vectors(t) {
		for _, from := range forms {
			data := from.wrap(t, v.cbor(t), []byte(v.JSON))
			want, _ := decode(t, from.form, data)
			for _, to := range forms {
				t.Run(v.Name+"/"+from.form.String()+" to "+to.form.String(), func(t *testing.T) {
					got, err := valid(t, data).Convert([]byte("x"), to.form)
					bare := from.form == edgex.CBOR || from.form == edgex.JSON
					if bare && to.form != edgex.CBOR && to.form != edgex.JSON {
						if err == nil || string(got) != "x" || !strings.Contains(err.Error(), "has no envelope") {
							t.Errorf("an envelope was made up: %q, %v", got, err)
						}
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					if f := valid(t, got[1:]).Form(); f != to.form {
						t.Errorf("form = %v", f)
					}
					if event, _ := decode(t, to.form, got[1:]); !reflect.DeepEqual(event, want) {
						t.Errorf("got  %+v\nwant %+v\n%q", event, want, got)
					}
					expect := to.wrap(t, v.cbor(t), []byte(v.JSON))
					if !strings.Contains(v.Name, "object") && !bytes.Equal(got[1:], expect) { // Convert writes 1.0 for a number in an object where EdgeX writes 1
						t.Errorf("got  %q\nwant %q", got[1:], expect)
					}
				})
			}
		}
	}
}

func TestConvertRefuses(t *testing.T) {
	rows := []struct {
		name, data string
		to         edgex.Form
		want       string
	}{
		{"no such form", `{"id":"a"}`, 99, "no such form"},
		{"no base64", `{"id":"a","readings":[{"resourceName":"r","binaryValue":"?"}]}`, edgex.CBOR, "binaryValue"},
		{"rounded", `{"id":"a","tags":{"n":1.00000000000000000001}}`, edgex.CBOR, "would be lost"},
		{"tag", "\xa2\x62id\x61a\x64tags\xa1\x61t\xc1\x01", edgex.JSON, "would be lost"},
		{"not a number", "\xa2\x62id\x61a\x64tags\xa1\x61t\xf9\x7e\x00", edgex.JSON, "NaN"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := valid(t, []byte(r.data)).Convert(nil, r.to)
			if err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("Convert = %v, want an error with %q", err, r.want)
			}
		})
	}
}
