package edgex_test

import (
	"fmt"
	"testing"

	"example.com/ferry/edgex"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
)

// BenchmarkHop reads the device of a message and changes the ID, as a forwarding service does.
func BenchmarkHop(b *testing.B) {
	for form, data := range large(b) {
		if form == edgex.Base64JSON {
			continue // Open decodes this form, so the benchmark does not apply
		}
		b.Run(form.String(), func(b *testing.B) {
			b.ReportAllocs()
			var v edgex.View
			for b.Loop() {
				err := v.Open(data, 0)
				if name, e := v.DeviceName(); e != nil || string(name) != "D" {
					err = e
				}
				if err == nil {
					err = v.SetID(newID)
				}
				if err == nil && form != edgex.CBOR && form != edgex.JSON {
					err = v.SetCorrelationID(newID)
				}
				if done, e := v.InPlace(); !done || e != nil || err != nil {
					b.Fatal(done, e, err)
				}
			}
		})
	}
}

func BenchmarkValidateLarge(b *testing.B) {
	for form, data := range large(b) {
		b.Run(form.String(), func(b *testing.B) { benchmarkValidate(b, data) })
	}
}

func BenchmarkValidateOneReading(b *testing.B) {
	for _, f := range forms {
		data := f.wrap(b, vectors(b)[0].cbor(b), []byte(vectors(b)[0].JSON))
		b.Run(f.form.String(), func(b *testing.B) { benchmarkValidate(b, data) })
	}
}

func benchmarkValidate(b *testing.B, data []byte) {
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	var v edgex.View
	for b.Loop() {
		err := v.Open(data, 0)
		if err == nil {
			err = v.Validate()
		}
		if err != nil { // no call of Helper, which would cost as much as reading a field
			b.Fatal(err)
		}
	}
}

func BenchmarkSetID(b *testing.B) {
	data := large(b)[edgex.CBOR]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := edgex.SetID(cbor.Format{}, data, newID); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendTo sets an ID of another length, which moves all bytes after the ID.
func BenchmarkAppendTo(b *testing.B) {
	for form, data := range large(b) {
		b.Run(form.String(), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			var v edgex.View
			dst := make([]byte, 0, len(data)+100)
			for b.Loop() {
				check(b, v.Open(data, 0))
				check(b, v.SetID(newID+"x"))
				if _, err := v.AppendTo(dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFold validates one reading, including the search for keys that differ only in case.
func BenchmarkFold(b *testing.B) {
	data := vectors(b)[0].cbor(b)
	for _, fold := range []bool{false, true} {
		b.Run(fmt.Sprint(fold), func(b *testing.B) {
			for b.Loop() {
				if err := (cbor.Format{}).Validate(data, format.Options{FoldKeys: fold}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
