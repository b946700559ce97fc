package cbor

import (
	"bytes"
	"encoding/hex"
	"testing"

	"example.com/ferry/field"
)

// PatchInPlace overwrites a text only if Patch would write the same bytes around it. Apart from tags, the head must be
// the shortest head for the new length.
func TestPatchInPlaceOfTexts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, data, text string
		want             string // empty if PatchInPlace must return false
	}{
		{"same length", "a162696463616263", "xyz", "a16269646378797a"},
		{"empty", "a162696460", "", "a162696460"},
		{"another length", "a162696463616263", "xy", ""},
		{"not ASCII", "a162696462c3a4", "ö", "a162696462c3b6"},
		{"tagged", "a1626964c163616263", "xyz", "a1626964c16378797a"},
		{"a head of two bytes", "a16269647803616263", "xyz", ""},
		{"the head's byte is content", "a16269647803616263", "wxyz", "a162696464" + "7778797a"},
		{"in chunks", "a16269647f6161ff", "xyz", "a16269646378797a"},
		{"in chunks, as long as what stands in them", "a16269647f60ff", "xy", "a1626964627879"},
		{"bytes", "a162696443616263", "xyz", "a16269644378797a"},
		{"null", "a1626964f6", "", "a162696460"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			data, err := hex.DecodeString(row.data)
			if err != nil {
				t.Fatal(err)
			}
			v := field.Value{Kind: field.Text, Bytes: []byte(row.text)}
			patched, err := Format{}.Patch(nil, data, field.MustParse("id"), v)
			if err != nil {
				t.Fatal(err)
			}
			done, err := Format{}.PatchInPlace(data, field.MustParse("id"), v)
			if err != nil {
				t.Fatal(err)
			}
			want := row.want
			if want == "" {
				want = row.data
			}
			if got := hex.EncodeToString(data); done != (row.want != "") || got != want {
				t.Errorf("got %s, done %v; want %s", got, done, want)
			}
			if done && !bytes.Equal(data, patched) {
				t.Errorf("in place % x, Patch gives % x", data, patched)
			}
		})
	}
}

func TestPatchInPlaceRefusesOtherThanUTF8(t *testing.T) {
	t.Parallel()
	data := []byte("\xa1\x62id\x62ab")
	done, err := Format{}.PatchInPlace(data, field.MustParse("id"), field.Value{Kind: field.Text, Bytes: []byte("\xffx")})
	if done || err == nil || string(data) != "\xa1\x62id\x62ab" {
		t.Errorf("done %v, %v, % x", done, err, data)
	}
}
